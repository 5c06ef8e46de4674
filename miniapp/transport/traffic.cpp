#include "miniapp/transport/traffic.hpp"

namespace minigift {
namespace {

TrafficCounters difference(const TrafficCounters& after, const TrafficCounters& before) {
  return {after.bytes_sent - before.bytes_sent, after.messages - before.messages,
          after.collectives - before.collectives};
}

}  // namespace

TrafficCounters& TransportCounters::of(Traffic traffic) {
  switch (traffic) {
    case Traffic::payload:
      return payload;
    case Traffic::metadata:
      return metadata;
    case Traffic::control:
      break;
  }
  return control;
}

std::int64_t all_reduce_wire_bytes(std::int64_t ranks, std::int64_t bytes) {
  return 2 * (ranks - 1) * bytes / ranks;
}

std::int64_t reduce_scatter_wire_bytes(std::int64_t ranks, std::int64_t bytes) {
  return (ranks - 1) * bytes / ranks;
}

std::int64_t block_exchange_wire_bytes(std::int64_t ranks, std::int64_t bytes) {
  return (ranks - 1) * bytes;
}

std::int64_t broadcast_wire_bytes(std::int64_t ranks, std::int64_t bytes) {
  return (ranks - 1) * bytes / ranks;
}

TransportCounters operator-(const TransportCounters& after, const TransportCounters& before) {
  TransportCounters change;
  change.payload = difference(after.payload, before.payload);
  change.metadata = difference(after.metadata, before.metadata);
  change.control = difference(after.control, before.control);
  change.device_to_host_bytes = after.device_to_host_bytes - before.device_to_host_bytes;
  change.host_to_device_bytes = after.host_to_device_bytes - before.host_to_device_bytes;
  return change;
}

}  // namespace minigift
