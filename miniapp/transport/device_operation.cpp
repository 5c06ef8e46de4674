#include "miniapp/transport/device_operation.hpp"

#include "miniapp/transport/communicator_state.hpp"

#include <utility>

namespace minigift {

DeviceOperation::DeviceOperation(const Channel& channel, const OperationLabel& label, Traffic traffic,
                                 int tag, DeviceChannel& device, std::any buffers)
    : Operation(channel, label, traffic, tag), device_(device), buffers_(std::move(buffers)) {
  use_device_memory(DeviceMemoryUser::nccl);
}

void DeviceOperation::enqueue(const std::function<void(DeviceChannel&)>& enqueue, std::int64_t bytes_sent,
                              std::int64_t messages) {
  if (label().bytes > 0) {
    enqueue(device_);
    TrafficCounters& count = counters().of(traffic());
    count.bytes_sent += bytes_sent;
    if (channel().size > 1) count.messages += messages;
  }
  mark_result();
}

bool DeviceOperation::step() {
  if (!result_reached()) {
    device_.check();
    return false;
  }
  buffers_.reset();
  return true;
}

Request start(CommunicatorState& state, const DeviceCall& call) {
  const auto make = [&](const Channel& channel, const OperationLabel& label, int tag) {
    auto operation =
        std::make_shared<DeviceOperation>(channel, label, call.traffic, tag, *state.device(), call.buffers);
    const CommunicatorState::Watched watched(state, label);
    operation->enqueue(call.enqueue, call.bytes_sent, call.messages);
    return operation;
  };
  return Request(state.start(call.signature, call.bytes, call.traffic, make), &state);
}

}  // namespace minigift
