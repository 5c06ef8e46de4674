#pragma once
// A collective of the device channel, as an operation in flight: enqueued whole at its start, finished when
// the device has reached its end.

#include "miniapp/transport/device_channel.hpp"
#include "miniapp/transport/operation.hpp"
#include "miniapp/transport/request.hpp"
#include "miniapp/transport/signature.hpp"

#include <any>
#include <functional>

namespace minigift {

class DeviceOperation : public Operation {
 public:
  /// buffers: views to keep alive until the end.
  DeviceOperation(const Channel& channel, const OperationLabel& label, Traffic traffic, int tag,
                  DeviceChannel& device, std::any buffers);

  /// Runs `enqueue`, which puts the collective on the current stream, and charges what it sends.
  void enqueue(const std::function<void(DeviceChannel&)>& enqueue, std::int64_t bytes_sent,
               std::int64_t messages);
  bool stream_ordered() const override { return true; }

 protected:
  bool step() override;

 private:
  DeviceChannel& device_;
  std::any buffers_;
};

/// What Communicator starts on the device.
struct DeviceCall {
  Signature signature;
  std::int64_t bytes = 0;  ///< for the label: the size of the buffer
  Traffic traffic = Traffic::control;
  std::int64_t bytes_sent = 0;  ///< by the closed forms of traffic.hpp
  std::int64_t messages = 0;
  std::any buffers;
  std::function<void(DeviceChannel&)> enqueue;
};

/// On the current stream of the device channel of `state`, under its watchdog.
Request start(CommunicatorState& state, const DeviceCall& call);

}  // namespace minigift
