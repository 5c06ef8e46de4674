#pragma once
// Does this MPI library take pointers to device memory? Asked of the library itself.

#include <optional>

namespace minigift {

/// What the library says of CUDA memory in this process. Empty: it has no call that tells, which many do not
/// (Staging::direct may be asked for all the same).
std::optional<bool> mpi_takes_device_memory();

}  // namespace minigift
