#include "miniapp/transport/communicator.hpp"

#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"
#include "miniapp/transport/communicator_state.hpp"
#include "miniapp/transport/self_test.hpp"

#include <limits>

namespace minigift {
namespace {

/// MPI_MAX may drop a NaN on one rank and keep it on another.
void nan_to_infinity(const Vector<float>& values) {
  const float infinity = std::numeric_limits<float>::infinity();
  Kokkos::parallel_for(
      "minigift::nan_to_infinity", range(size(values)), KOKKOS_LAMBDA(const std::int64_t i) {
        if (values(i) != values(i)) values(i) = infinity;
      });
}

template <class T>
MPI_Datatype mpi_type();
template <>
MPI_Datatype mpi_type<float>() {
  return MPI_FLOAT;
}
template <>
MPI_Datatype mpi_type<double>() {
  return MPI_DOUBLE;
}

template <class T>
Request all_reduce(CommunicatorState& state, const Signature& signature, const Vector<T>& values,
                   MPI_Op reduction, Traffic traffic) {
  const std::int64_t count = size(values);
  const auto element_bytes = static_cast<std::int64_t>(sizeof(T));
  const auto make = [&](const Channel& channel, const OperationLabel& label, int tag) {
    const StagedBuffer<T> buffer(values);
    buffer.to_host(0, count, state.counters());
    auto operation = std::make_shared<LibraryOperation>(channel, label, traffic, tag);
    operation->all_reduce(buffer.host_data(), count, element_bytes, mpi_type<T>(), reduction);
    operation->on_finish([&state, buffer, count] { buffer.to_device(0, count, state.counters()); });
    return operation;
  };
  return Request(state.start(signature, count * element_bytes, traffic, make), &state);
}

}  // namespace

Communicator::Communicator(const CommunicatorOptions& options)
    : state_(std::make_unique<CommunicatorState>(options)) {
  if (!options.self_test) return;
  state_->check_signatures(false);
  self_test(*this);
  state_->check_signatures(options.check_signatures);
  state_->counters() = TransportCounters{};
}

Communicator::~Communicator() {
  // Requests that outlive this object find their operation finished.
  if (std::uncaught_exceptions() == 0) state_->wait_all();
}

int Communicator::rank() const {
  return state_->rank();
}
int Communicator::size() const {
  return state_->size();
}
int Communicator::node_rank() const {
  return state_->node.node_rank;
}
int Communicator::ranks_on_node() const {
  return state_->node.ranks_on_node;
}
int Communicator::node_count() const {
  return state_->node.node_count;
}
const TransportCounters& Communicator::counters() const {
  return state_->counters();
}
void Communicator::progress() {
  state_->progress();
}

Request Communicator::all_reduce_max(const Vector<float>& values, Traffic traffic) {
  nan_to_infinity(values);
  return all_reduce(*state_, {"all_reduce_max", "float", minigift::size(values)}, values, MPI_MAX, traffic);
}

Request Communicator::all_reduce_sum(const Vector<float>& values, Traffic traffic) {
  return all_reduce(*state_, {"all_reduce_sum", "float", minigift::size(values)}, values, MPI_SUM, traffic);
}

Request Communicator::all_reduce_sum(const Vector<double>& values, Traffic traffic) {
  return all_reduce(*state_, {"all_reduce_sum", "double", minigift::size(values)}, values, MPI_SUM, traffic);
}

Request Communicator::native_all_reduce(Format format, const Vector<std::uint8_t>& codes, Traffic traffic) {
  const std::int64_t bytes = minigift::size(codes);
  require(format != Format::int8, "native_all_reduce: codes of format {} cannot be added", name(format));
  require(bytes % (size() * bytes_per_code(format)) == 0,
          "native_all_reduce: {} bytes of {} codes do not divide into {} equal chunks", bytes, name(format),
          size());
  CommunicatorState& state = *state_;
  const auto make = [&](const Channel& channel, const OperationLabel& label, int tag) {
    return std::make_shared<RingAllReduce>(channel, label, traffic, tag, format,
                                           StagedBuffer<std::uint8_t>(codes), state.options.pipeline_bytes,
                                           state.scratch_pool());
  };
  return Request(state.start({"native_all_reduce", name(format), bytes}, bytes, traffic, make), &state);
}

Request Communicator::all_to_all(const Vector<const std::uint8_t>& send, const Vector<std::uint8_t>& receive,
                                 std::int64_t bytes_per_peer, Traffic traffic) {
  const std::int64_t bytes = size() * bytes_per_peer;
  require(bytes_per_peer >= 0 && minigift::size(send) == bytes && minigift::size(receive) == bytes,
          "all_to_all: buffers of {} and {} bytes, expected {} ranks * {} bytes", minigift::size(send),
          minigift::size(receive), size(), bytes_per_peer);
  require(bytes == 0 || send.data() + bytes <= receive.data() || receive.data() + bytes <= send.data(),
          "all_to_all: the buffers overlap");
  CommunicatorState& state = *state_;
  const auto make = [&](const Channel& channel, const OperationLabel& label, int tag) {
    const StagedBuffer<const std::uint8_t> from(send);
    const StagedBuffer<std::uint8_t> to(receive);
    from.to_host(0, bytes, state.counters());
    auto operation = std::make_shared<BlockExchange>(channel, label, traffic, tag, from.host_data(),
                                                     bytes_per_peer, to.host_data(), bytes_per_peer);
    operation->on_finish([&state, from, to, bytes] { to.to_device(0, bytes, state.counters()); });
    return operation;
  };
  return Request(state.start({"all_to_all", "bytes", bytes_per_peer}, bytes, traffic, make), &state);
}

Request Communicator::all_gather(const Vector<const std::uint8_t>& send, const Vector<std::uint8_t>& receive,
                                 std::int64_t bytes, Traffic traffic) {
  const std::int64_t total = size() * bytes;
  require(bytes >= 0 && minigift::size(send) == bytes && minigift::size(receive) == total,
          "all_gather: buffers of {} and {} bytes, expected {} and {} ranks * {}", minigift::size(send),
          minigift::size(receive), bytes, size(), bytes);
  CommunicatorState& state = *state_;
  const auto make = [&](const Channel& channel, const OperationLabel& label, int tag) {
    const StagedBuffer<const std::uint8_t> from(send);
    const StagedBuffer<std::uint8_t> to(receive);
    from.to_host(0, bytes, state.counters());
    auto operation = std::make_shared<BlockExchange>(channel, label, traffic, tag, from.host_data(), 0,
                                                     to.host_data(), bytes);
    operation->on_finish([&state, from, to, total] { to.to_device(0, total, state.counters()); });
    return operation;
  };
  return Request(state.start({"all_gather", "bytes", bytes}, total, traffic, make), &state);
}

void Communicator::barrier() {
  const auto make = [](const Channel& channel, const OperationLabel& label, int tag) {
    auto operation = std::make_shared<LibraryOperation>(channel, label, Traffic::control, tag);
    operation->barrier();
    return operation;
  };
  state_->wait(*state_->start({"barrier", "bytes", 0}, 0, Traffic::control, make));
}

void Communicator::broadcast(const Vector<std::uint8_t>& bytes, int root, Traffic traffic) {
  require(root >= 0 && root < size(), "broadcast: no rank {} among {}", root, size());
  const std::int64_t count = minigift::size(bytes);
  const StagedBuffer<std::uint8_t> buffer(bytes);
  const auto make = [&](const Channel& channel, const OperationLabel& label, int tag) {
    if (rank() == root) buffer.to_host(0, count, state_->counters());
    auto operation = std::make_shared<LibraryOperation>(channel, label, traffic, tag);
    operation->broadcast(buffer.host_data(), count, root);
    return operation;
  };
  state_->wait(*state_->start({"broadcast", "bytes", count, root}, count, traffic, make));
  if (rank() != root) buffer.to_device(0, count, state_->counters());
}

std::string Communicator::mpi_library() const {
  return mpi_library_string();
}

std::string Communicator::description() const {
  // Libraries add build details after the version, which belong into records, not into a heading.
  const std::string library = mpi_library();
  return fmt::format(
      "{}: {} rank{} on {} node{}, {}, messages up to {} bytes, watchdog {:g} s, signature checks {}",
      library.substr(0, library.find(',')), size(), size() == 1 ? "" : "s", node_count(),
      node_count() == 1 ? "" : "s",
      memory_is_on_host ? "host memory" : "device memory staged through the host",
      state_->options.max_message_bytes, state_->options.watchdog_seconds,
      state_->options.check_signatures ? "on" : "off");
}

}  // namespace minigift
