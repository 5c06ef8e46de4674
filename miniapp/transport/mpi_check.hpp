#pragma once
// Every return code of MPI is looked at.

#include <cstdint>
#include <string>

namespace minigift {

/// Names one collective operation of one rank in messages.
struct OperationLabel {
  const char* name = "set-up";
  std::int64_t sequence = 0;
  std::int64_t bytes = 0;
  int rank = -1;           ///< in the world; -1: not known yet
  std::string group = "";  ///< the ranks that take part, where these are not all

  /// "all_gather #57", "all_gather #57 of node 1"
  std::string text() const;
};

/// Throws RuntimeError "rank 3: MPI_Isend in all_gather #57: <MPI's words>" unless code is MPI_SUCCESS.
void check_mpi(int code, const char* call, const OperationLabel& label = {});

/// MPI library and version in one line.
std::string mpi_library_string();

}  // namespace minigift
