#pragma once
// The frame of a program over MPI ranks: how it starts, and how errors end it.

#include <functional>

namespace minigift {

/// Initialises MPI, checks that the launcher and MPI agree on the number of ranks, and returns run(rank).
///
/// Errors become one line on standard error, "PROGRAM: what was wrong", and an exit status:
///   UsageError     2. Agreed upon by all ranks, or the same on all of them: rank 0 prints, nobody waits.
///   anything else  1, and all ranks are aborted, for the others may be waiting for this one. Rank 0 prints
///   its error; another
///                  rank first gives rank 0 a second to do so, because many errors are thrown on all ranks
///                  alike, and then prints its own with its number.
int mpi_main(const char* program, int argc, char** argv, const std::function<int(int rank)>& run);

}  // namespace minigift
