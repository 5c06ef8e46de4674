// A program that fails at run time: on all ranks alike, or on rank 1 alone while the others wait for it.

#include "kernels/error.hpp"
#include "miniapp/transport/mpi_main.hpp"

#include <mpi.h>

#include <string_view>

int main(int argc, char** argv) {
  const bool all = argc > 1 && std::string_view(argv[1]) == "all";
  return minigift::mpi_main("minigift", argc, argv, [all](int rank) {
    if (all || rank == 1) throw minigift::RuntimeError("made to fail");
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
  });
}
