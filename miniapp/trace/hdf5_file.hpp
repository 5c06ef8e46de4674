#pragma once
// Opening and creating the HDF5 file of a trace: all property lists of files in one place.

#include "miniapp/trace/hdf5_handle.hpp"

#include <mpi.h>

#include <cstdint>
#include <string>

namespace minigift {

/// Creates (or empties) the file for all ranks of the communicator. Collective, and so is closing it. Objects
/// of at least 64 KiB begin at multiples of `alignment_bytes`.
Hdf5Handle create_parallel_file(const std::string& path, MPI_Comm communicator, std::int64_t alignment_bytes);

/// Opens the file on this rank alone; needs no MPI.
enum class Hdf5Access { read, change };
Hdf5Handle open_serial_file(const std::string& path, Hdf5Access access);

}  // namespace minigift
