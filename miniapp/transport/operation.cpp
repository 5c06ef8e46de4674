#include "miniapp/transport/operation.hpp"

#include <utility>

namespace minigift {

Operation::Operation(const Channel& channel, const OperationLabel& label, Traffic traffic, int tag)
    : channel_(channel), label_(label), traffic_(traffic), tag_(tag) {
  if constexpr (!memory_is_on_host) stream_ = current_stream();
}

bool Operation::advance() {
  if (finished_) return true;
  if constexpr (memory_is_on_host) {
    finished_ = step();
  } else {
    const ScopedStream scope(stream_);
    finished_ = step();
    if (finished_ && !stream_ordered()) mark_result();
  }
  if (finished_) device_memory_ = DeviceMemoryUse();
  return finished_;
}

void Operation::use_device_memory(DeviceMemoryUser user) {
  device_memory_ = DeviceMemoryGuard::of_process().begin(user, label_.name);
}

MPI_Request Operation::send(const std::uint8_t* data, std::int64_t bytes, int to) const {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag_, channel_.communicator, &request),
        "MPI_Isend");
  TrafficCounters& count = counters().of(traffic_);
  count.bytes_sent += bytes;
  ++count.messages;
  return request;
}

MPI_Request Operation::receive(std::uint8_t* data, std::int64_t bytes, int from) const {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag_, channel_.communicator, &request),
        "MPI_Irecv");
  return request;
}

bool PostedOperation::step() {
  int done = 1;
  if (!requests_.empty()) {
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE),
          "MPI_Testall");
  }
  if (done == 0) return false;
  requests_.clear();
  if (finish_) std::exchange(finish_, nullptr)();
  return true;
}

}  // namespace minigift
