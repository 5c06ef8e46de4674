#pragma once
// The MPI communicator behind a Communicator, for libraries that work on the same ranks: parallel HDF5.

#include "miniapp/transport/communicator.hpp"

#include <mpi.h>

namespace minigift {

/// Stays the Communicator's, which must outlive its use. It returns errors instead of ending the program. To
/// be duplicated by whoever sends messages, as HDF5 does.
MPI_Comm mpi_communicator(const Communicator& communicator);

}  // namespace minigift
