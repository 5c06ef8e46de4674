#include "miniapp/transport/mpi_environment.hpp"

#include "miniapp/transport/mpi_check.hpp"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace minigift {

MpiEnvironment::MpiEnvironment(int& argc, char**& argv) : exceptions_(std::uncaught_exceptions()) {
  int provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  // A library that offers only MPI_THREAD_SINGLE still serves: the watchdog's thread calls MPI only to abort.
}

MpiEnvironment::~MpiEnvironment() {
  int finalized = 0;
  if (MPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0) return;
  if (std::uncaught_exceptions() > exceptions_) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "rank %d: an error ends this rank; aborting all ranks\n", rank);
    std::fflush(stderr);
    abort(1);
  }
  MPI_Finalize();
}

void MpiEnvironment::abort(int status) {
  std::fflush(stdout);
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

}  // namespace minigift
