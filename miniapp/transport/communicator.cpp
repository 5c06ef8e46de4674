#include "miniapp/transport/communicator.hpp"

#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"
#include "miniapp/transport/communicator_state.hpp"
#include "miniapp/transport/device_operation.hpp"
#include "miniapp/transport/self_test.hpp"

#include <limits>
#include <utility>

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
struct TypeOf;
template <>
struct TypeOf<float> {
  static constexpr const char* name = "float";
  static constexpr Element element = Element::float32;
  static MPI_Datatype mpi() { return MPI_FLOAT; }
};
template <>
struct TypeOf<double> {
  static constexpr const char* name = "double";
  static constexpr Element element = Element::float64;
  static MPI_Datatype mpi() { return MPI_DOUBLE; }
};

template <class T>
Request all_reduce_on_device(CommunicatorState& state, const Signature& signature, const Vector<T>& values,
                             ElementReduction reduction, Traffic traffic) {
  const std::int64_t count = size(values);
  const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
  return start(state, {signature, bytes, traffic, all_reduce_wire_bytes(state.size(), bytes), 1, values,
                       [values, count, reduction](DeviceChannel& device) {
                         device.all_reduce(values.data(), count, TypeOf<T>::element, reduction);
                       }});
}

template <class T>
Request all_reduce(CommunicatorState& state, const char* name, const Vector<T>& values,
                   ElementReduction reduction, Traffic traffic) {
  const std::int64_t count = size(values);
  const Signature signature{name, TypeOf<T>::name, count};
  if (state.device() != nullptr) return all_reduce_on_device(state, signature, values, reduction, traffic);
  const auto element_bytes = static_cast<std::int64_t>(sizeof(T));
  const auto make = [&](const Channel& channel, const OperationLabel& label, int tag) {
    const StagedBuffer<T> buffer(values, state.host_mirrors());
    buffer.to_mpi(0, count, state.counters());
    auto operation = std::make_shared<LibraryOperation>(channel, label, traffic, tag);
    operation->all_reduce(buffer.mpi_data(), count, element_bytes, TypeOf<T>::mpi(),
                          reduction == ElementReduction::sum ? MPI_SUM : MPI_MAX);
    operation->on_finish([&state, buffer, count] { buffer.from_mpi(0, count, state.counters()); });
    return operation;
  };
  return Request(state.start(signature, count * element_bytes, traffic, make), &state);
}

/// Codes that can be added, in `chunks` equal parts of whole codes.
void require_chunks(const char* operation, Format format, const Vector<std::uint8_t>& codes, int chunks) {
  require(format != Format::int8, "{}: codes of format {} cannot be added", operation, name(format));
  require(size(codes) % (chunks * bytes_per_code(format)) == 0,
          "{}: {} bytes of {} codes do not divide into {} equal chunks", operation, size(codes), name(format),
          chunks);
}

Request add_on_device(CommunicatorState& state, const char* operation, RingPhases phases, Format format,
                      const Vector<std::uint8_t>& codes, Traffic traffic) {
  const auto refusal = state.device()->refuses(format);
  require_usage(!refusal, "{}: {}; use transport \"host\" or an all-to-all reduction", operation,
                refusal.value_or(""));
  const std::int64_t bytes = size(codes);
  const std::int64_t count = bytes / bytes_per_code(format);
  const Signature signature{operation, name(format), bytes};
  if (phases == RingPhases::all_reduce) {
    return start(state, {signature, bytes, traffic, all_reduce_wire_bytes(state.size(), bytes), 1, codes,
                         [codes, format, count](DeviceChannel& device) {
                           device.all_reduce(codes.data(), count, element_of(format), ElementReduction::sum);
                         }});
  }
  return start(state, {signature, bytes, traffic, reduce_scatter_wire_bytes(state.size(), bytes), 1, codes,
                       [codes, format, part = count / state.size()](DeviceChannel& device) {
                         device.reduce_scatter_sum(codes.data(), part, element_of(format));
                       }});
}

Request add_on_ring(CommunicatorState& state, const char* name_of_operation, RingPhases phases, Format format,
                    const Vector<std::uint8_t>& codes, Traffic traffic) {
  const auto make = [&](const Channel& channel, const OperationLabel& label, int tag) {
    auto operation = std::make_shared<RingAllReduce>(
        channel, label, traffic, tag, phases, format, StagedBuffer<std::uint8_t>(codes, state.mirrors()),
        state.options.pipeline_bytes, state.scratch_pool(), state.mirrors());
    if (state.takes_device_memory()) operation->use_device_memory(DeviceMemoryUser::mpi);
    return operation;
  };
  return Request(state.start({name_of_operation, name(format), size(codes)}, size(codes), traffic, make),
                 &state);
}

BlockExchange::Memory exchange_memory(const CommunicatorState& state) {
  return state.takes_device_memory() ? BlockExchange::Memory::device : BlockExchange::Memory::host;
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

Communicator::Communicator(std::unique_ptr<CommunicatorState> state) : state_(std::move(state)) {}

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
int Communicator::node_index() const {
  return state_->node.node_index;
}
int Communicator::node_count() const {
  return state_->node.node_count;
}
const std::vector<int>& Communicator::nodes() const {
  return state_->node.node_of;
}
int Communicator::ranks_on_host() const {
  return state_->node.ranks_on_host;
}

std::unique_ptr<Communicator> Communicator::split(int color, int key, const std::string& group) {
  require(color >= 0, "split: color {} is negative", color);
  // MPI_Comm_split blocks.
  const CommunicatorState::Watched watched(*state_, state_->label("split after", state_->sequence(), 0));
  return std::make_unique<Communicator>(std::make_unique<CommunicatorState>(*state_, color, key, group));
}

const TransportCounters& Communicator::counters() const {
  return state_->counters();
}
void Communicator::progress() {
  state_->progress();
}

void Communicator::synchronize() {
  state_->synchronize();
}

Request Communicator::all_reduce_max(const Vector<float>& values, Traffic traffic) {
  nan_to_infinity(values);
  return all_reduce(*state_, "all_reduce_max", values, ElementReduction::maximum, traffic);
}

Request Communicator::all_reduce_sum(const Vector<float>& values, Traffic traffic) {
  return all_reduce(*state_, "all_reduce_sum", values, ElementReduction::sum, traffic);
}

Request Communicator::all_reduce_sum(const Vector<double>& values, Traffic traffic) {
  return all_reduce(*state_, "all_reduce_sum", values, ElementReduction::sum, traffic);
}

std::optional<std::string> Communicator::native_all_reduce_refuses(Format format) const {
  if (format == Format::int8) return "codes of format int8 cannot be added";
  return state_->device() != nullptr ? state_->device()->refuses(format) : std::nullopt;
}

Request Communicator::native_all_reduce(Format format, const Vector<std::uint8_t>& codes, Traffic traffic) {
  require_chunks("native_all_reduce", format, codes, size());
  if (state_->device() != nullptr)
    return add_on_device(*state_, "native_all_reduce", RingPhases::all_reduce, format, codes, traffic);
  return add_on_ring(*state_, "native_all_reduce", RingPhases::all_reduce, format, codes, traffic);
}

Request Communicator::native_reduce_scatter(Format format, const Vector<std::uint8_t>& codes,
                                            Traffic traffic) {
  require_chunks("native_reduce_scatter", format, codes, size());
  if (state_->device() != nullptr)
    return add_on_device(*state_, "native_reduce_scatter", RingPhases::reduce_scatter, format, codes,
                         traffic);
  return add_on_ring(*state_, "native_reduce_scatter", RingPhases::reduce_scatter, format, codes, traffic);
}

Request Communicator::library_all_reduce(Format format, const Vector<std::uint8_t>& codes, Traffic traffic) {
  require_chunks("library_all_reduce", format, codes, 1);
  CommunicatorState& state = *state_;
  if (state.device() != nullptr)
    return add_on_device(state, "library_all_reduce", RingPhases::all_reduce, format, codes, traffic);
  const std::int64_t bytes = minigift::size(codes);
  const auto make = [&](const Channel& channel, const OperationLabel& label, int tag) {
    const StagedBuffer<std::uint8_t> buffer(codes, state.host_mirrors());
    buffer.to_mpi(0, bytes, state.counters());
    auto operation = std::make_shared<LibraryOperation>(channel, label, traffic, tag);
    operation->all_reduce(buffer.mpi_data(), bytes / bytes_per_code(format), bytes_per_code(format),
                          CodeSum::type(format), state.code_sum().operation(format));
    operation->on_finish([&state, buffer, bytes] { buffer.from_mpi(0, bytes, state.counters()); });
    return operation;
  };
  return Request(state.start({"library_all_reduce", name(format), bytes}, bytes, traffic, make), &state);
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
  const Signature signature{"all_to_all", "bytes", bytes_per_peer};
  if (state.device() != nullptr) {
    return start(state,
                 {signature, bytes, traffic, block_exchange_wire_bytes(size(), bytes_per_peer), size() - 1,
                  std::pair(send, receive), [send, receive, bytes_per_peer](DeviceChannel& device) {
                    device.all_to_all(send.data(), receive.data(), bytes_per_peer);
                  }});
  }
  const auto make = [&](const Channel& channel, const OperationLabel& label, int tag) {
    const StagedBuffer<const std::uint8_t> from(send, state.mirrors());
    const StagedBuffer<std::uint8_t> to(receive, state.mirrors());
    from.to_mpi(0, bytes, state.counters());
    auto operation =
        std::make_shared<BlockExchange>(channel, label, traffic, tag, exchange_memory(state), from.mpi_data(),
                                        bytes_per_peer, to.mpi_data(), bytes_per_peer);
    operation->on_finish([&state, from, to, bytes] { to.from_mpi(0, bytes, state.counters()); });
    return operation;
  };
  return Request(state.start(signature, bytes, traffic, make), &state);
}

Request Communicator::all_gather(const Vector<const std::uint8_t>& send, const Vector<std::uint8_t>& receive,
                                 std::int64_t bytes, Traffic traffic) {
  const std::int64_t total = size() * bytes;
  require(bytes >= 0 && minigift::size(send) == bytes && minigift::size(receive) == total,
          "all_gather: buffers of {} and {} bytes, expected {} and {} ranks * {}", minigift::size(send),
          minigift::size(receive), bytes, size(), bytes);
  CommunicatorState& state = *state_;
  const Signature signature{"all_gather", "bytes", bytes};
  if (state.device() != nullptr) {
    return start(state, {signature, total, traffic, block_exchange_wire_bytes(size(), bytes), 1,
                         std::pair(send, receive), [send, receive, bytes](DeviceChannel& device) {
                           device.all_gather(send.data(), receive.data(), bytes);
                         }});
  }
  const auto make = [&](const Channel& channel, const OperationLabel& label, int tag) {
    const StagedBuffer<const std::uint8_t> from(send, state.mirrors());
    const StagedBuffer<std::uint8_t> to(receive, state.mirrors());
    from.to_mpi(0, bytes, state.counters());
    auto operation = std::make_shared<BlockExchange>(channel, label, traffic, tag, exchange_memory(state),
                                                     from.mpi_data(), 0, to.mpi_data(), bytes);
    operation->on_finish([&state, from, to, total] { to.from_mpi(0, total, state.counters()); });
    return operation;
  };
  return Request(state.start(signature, total, traffic, make), &state);
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
  const StagedBuffer<std::uint8_t> buffer(bytes, state_->host_mirrors());
  const auto make = [&](const Channel& channel, const OperationLabel& label, int tag) {
    if (rank() == root) buffer.to_mpi(0, count, state_->counters());
    auto operation = std::make_shared<LibraryOperation>(channel, label, traffic, tag);
    operation->broadcast(buffer.mpi_data(), count, root);
    return operation;
  };
  state_->wait(*state_->start({"broadcast", "bytes", count, root}, count, traffic, make));
  if (rank() != root) buffer.from_mpi(0, count, state_->counters());
}

std::string Communicator::mpi_library() const {
  return mpi_library_string();
}

std::string Communicator::device_library() const {
  return state_->device() != nullptr ? state_->device()->library() : "";
}

Staging Communicator::staging() const {
  return state_->staging.staging;
}

std::string Communicator::description() const {
  // Libraries add build details after the version, which belong into records, not into a heading.
  const std::string library = mpi_library();
  return fmt::format(
      "{}: {} rank{} on {} node{}{}, {}, messages up to {} bytes, watchdog {:g} s, signature checks {}",
      library.substr(0, library.find(',')), size(), size() == 1 ? "" : "s", node_count(),
      node_count() == 1 ? "" : "s",
      state_->options.ranks_per_node == 0
          ? ""
          : fmt::format(" (told to count {} ranks as a node)", state_->options.ranks_per_node),
      describe(state_->staging, state_->staging_facts), state_->options.max_message_bytes,
      state_->options.watchdog_seconds, state_->options.check_signatures ? "on" : "off");
}

}  // namespace minigift
