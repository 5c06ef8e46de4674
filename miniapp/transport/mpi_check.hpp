#pragma once
// Every return code of MPI is looked at.

#include <cstdint>
#include <string>

namespace minigift {

/// Names one collective operation of one rank in messages: "all_gather #57".
struct OperationLabel {
  const char* name = "set-up";
  std::int64_t sequence = 0;
  std::int64_t bytes = 0;
  int rank = -1;  ///< -1: not known yet
};

/// Throws RuntimeError "rank 3: MPI_Isend in all_gather #57: <MPI's words>" unless code is MPI_SUCCESS.
void check_mpi(int code, const char* call, const OperationLabel& label = {});

/// MPI library and version in one line.
std::string mpi_library_string();

}  // namespace minigift
