#include "miniapp/transport/mpi_handle.hpp"

#include "miniapp/transport/communicator_state.hpp"

namespace minigift {

MPI_Comm mpi_communicator(const Communicator& communicator) {
  return communicator.state().mpi();
}

}  // namespace minigift
