#include "miniapp/comm/plain_mpi.hpp"

#include "miniapp/transport/mpi_check.hpp"
#include "miniapp/transport/mpi_handle.hpp"

#include <exception>

namespace minigift {
namespace {

int count_of(const Vector<std::uint8_t>& bytes, std::int64_t element_bytes) {
  return static_cast<int>(size(bytes) / element_bytes);
}

}  // namespace

PlainMpi::PlainMpi(const Communicator& communicator)
    : ranks_(communicator.size()), exceptions_(std::uncaught_exceptions()) {
  check_mpi(MPI_Comm_dup(mpi_communicator(communicator), &communicator_), "MPI_Comm_dup");
}

PlainMpi::~PlainMpi() {
  if (std::uncaught_exceptions() == exceptions_) MPI_Comm_free(&communicator_);
}

void PlainMpi::all_reduce(const Vector<std::uint8_t>& values) const {
  check_mpi(
      MPI_Allreduce(MPI_IN_PLACE, values.data(), count_of(values, 4), MPI_FLOAT, MPI_SUM, communicator_),
      "MPI_Allreduce");
}

void PlainMpi::reduce_scatter(const Vector<std::uint8_t>& values, const Vector<std::uint8_t>& part) const {
  check_mpi(MPI_Reduce_scatter_block(values.data(), part.data(), count_of(part, 4), MPI_FLOAT, MPI_SUM,
                                     communicator_),
            "MPI_Reduce_scatter_block");
}

void PlainMpi::all_gather(const Vector<std::uint8_t>& send, const Vector<std::uint8_t>& receive) const {
  check_mpi(MPI_Allgather(send.data(), count_of(send, 1), MPI_BYTE, receive.data(), count_of(send, 1),
                          MPI_BYTE, communicator_),
            "MPI_Allgather");
}

void PlainMpi::all_to_all(const Vector<std::uint8_t>& send, const Vector<std::uint8_t>& receive) const {
  const int part = count_of(send, 1) / ranks_;
  check_mpi(MPI_Alltoall(send.data(), part, MPI_BYTE, receive.data(), part, MPI_BYTE, communicator_),
            "MPI_Alltoall");
}

}  // namespace minigift
