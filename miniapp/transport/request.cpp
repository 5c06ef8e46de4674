#include "miniapp/transport/request.hpp"

#include "miniapp/transport/communicator_state.hpp"

#include <exception>
#include <utility>

namespace minigift {

Request::Request(std::shared_ptr<Operation> operation, CommunicatorState* state)
    : operation_(std::move(operation)), state_(state) {}

Request::~Request() {
  if (std::uncaught_exceptions() == 0) wait();
}

Request& Request::operator=(Request&& other) {
  if (this == &other) return *this;
  wait();
  operation_ = std::move(other.operation_);
  state_ = other.state_;
  return *this;
}

bool Request::test() {
  if (!operation_) return true;
  if (!operation_->finished()) state_->progress();
  if (!operation_->finished()) return false;
  operation_->order_current_stream();
  operation_.reset();
  return true;
}

void Request::wait() {
  if (!operation_) return;
  if (!operation_->finished()) {
    if (operation_->stream_ordered()) {
      state_->progress();
    } else {
      state_->wait(*operation_);
    }
  }
  operation_->order_current_stream();
  operation_.reset();
}

}  // namespace minigift
