// What does not depend on the backend: which stream is the current one.

#include "kernels/device/stream.hpp"

namespace minigift {
namespace {

const Stream* current = nullptr;  // null: the default stream

}  // namespace

Stream current_stream() {
  return current != nullptr ? *current : Stream();
}

ExecutionSpace current_space() {
  return current != nullptr ? current->space() : ExecutionSpace();
}

ScopedStream::ScopedStream(const Stream& stream) : stream_(stream), previous_(current) {
  current = &stream_;
}

ScopedStream::~ScopedStream() {
  current = previous_;
}

}  // namespace minigift
