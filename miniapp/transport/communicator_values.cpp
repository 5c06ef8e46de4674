// The blocking operations of Communicator on single values, texts and errors.

#include "kernels/error.hpp"
#include "miniapp/transport/communicator.hpp"
#include "miniapp/transport/communicator_state.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <unistd.h>

namespace minigift {
namespace {

/// value <- reduction over the ranks of one number in host memory.
template <class T>
T reduce_value(CommunicatorState& state, const char* operation_name, const char* type_name, MPI_Datatype type,
               MPI_Op reduction, T value) {
  const auto make = [&](const Channel& channel, const OperationLabel& label, int tag) {
    auto operation = std::make_shared<LibraryOperation>(channel, label, Traffic::control, tag);
    operation->all_reduce(&value, 1, sizeof(T), type, reduction);
    return operation;
  };
  state.wait(*state.start({operation_name, type_name, 1}, sizeof(T), Traffic::control, make));
  return value;
}

/// all (N * bytes) <- mine (bytes) of all ranks, host memory, in pieces if need be.
void gather_bytes(CommunicatorState& state, const std::uint8_t* mine, std::uint8_t* all, std::int64_t bytes) {
  const auto make = [&](const Channel& channel, const OperationLabel& label, int tag) {
    return std::make_shared<BlockExchange>(channel, label, Traffic::control, tag, BlockExchange::Memory::host,
                                           mine, 0, all, bytes);
  };
  state.wait(*state.start({"gather", "bytes", bytes}, bytes, Traffic::control, make));
}

}  // namespace

double Communicator::sum_over_ranks(double value) {
  return reduce_value(*state_, "sum_over_ranks", "double", MPI_DOUBLE, MPI_SUM, value);
}
std::int64_t Communicator::sum_over_ranks(std::int64_t value) {
  return reduce_value(*state_, "sum_over_ranks", "int64", MPI_INT64_T, MPI_SUM, value);
}
double Communicator::max_over_ranks(double value) {
  // As in all_reduce_max, a NaN must not get lost.
  if (value != value) value = std::numeric_limits<double>::infinity();
  return reduce_value(*state_, "max_over_ranks", "double", MPI_DOUBLE, MPI_MAX, value);
}
std::int64_t Communicator::max_over_ranks(std::int64_t value) {
  return reduce_value(*state_, "max_over_ranks", "int64", MPI_INT64_T, MPI_MAX, value);
}
double Communicator::min_over_ranks(double value) {
  if (value != value) value = -std::numeric_limits<double>::infinity();
  return reduce_value(*state_, "min_over_ranks", "double", MPI_DOUBLE, MPI_MIN, value);
}
std::int64_t Communicator::min_over_ranks(std::int64_t value) {
  return reduce_value(*state_, "min_over_ranks", "int64", MPI_INT64_T, MPI_MIN, value);
}

std::vector<double> Communicator::gather_values(double value) {
  std::vector<double> all(static_cast<std::size_t>(size()));
  gather_bytes(*state_, reinterpret_cast<const std::uint8_t*>(&value),
               reinterpret_cast<std::uint8_t*>(all.data()), sizeof(double));
  return all;
}

std::vector<std::string> Communicator::gather_strings(const std::string& text) {
  // Step 1: how long is the longest? Step 2: all texts, padded to that, each behind its length.
  const auto length = static_cast<std::int64_t>(text.size());
  const auto width = static_cast<std::size_t>(max_over_ranks(length));
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(size()));
  gather_bytes(*state_, reinterpret_cast<const std::uint8_t*>(&length),
               reinterpret_cast<std::uint8_t*>(lengths.data()), sizeof(length));
  std::vector<std::uint8_t> mine(text.begin(), text.end());
  mine.resize(width);
  std::vector<std::uint8_t> all(width * lengths.size());
  gather_bytes(*state_, mine.data(), all.data(), static_cast<std::int64_t>(width));
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(r * width);
    texts.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(lengths[r]));
  }
  return texts;
}

std::string Communicator::broadcast_string(const std::string& text, int root) {
  require(root >= 0 && root < size(), "broadcast_string: no rank {} among {}", root, size());
  const auto broadcast_bytes = [&](void* data, std::int64_t bytes) {
    const auto make = [&](const Channel& channel, const OperationLabel& label, int tag) {
      auto operation = std::make_shared<LibraryOperation>(channel, label, Traffic::control, tag);
      operation->broadcast(static_cast<std::uint8_t*>(data), bytes, root);
      return operation;
    };
    state_->wait(*state_->start({"broadcast_string", "bytes", bytes, root}, bytes, Traffic::control, make));
  };
  auto length = static_cast<std::int64_t>(text.size());
  broadcast_bytes(&length, sizeof(length));
  std::string result = rank() == root ? text : std::string(static_cast<std::size_t>(length), '\0');
  broadcast_bytes(result.data(), length);
  return result;
}

void Communicator::agree(const std::optional<std::string>& error, ErrorKind kind) {
  // The common case costs one small reduction: does anyone have an error?
  if (max_over_ranks(std::int64_t{error.has_value()}) == 0) return;
  // A text is marked by its kind, so that no error and an error without words differ.
  std::string mine;
  if (error) mine = (kind == ErrorKind::usage ? 'u' : 'r') + *error;
  const std::vector<std::string> all = gather_strings(mine);
  const auto first =
      std::find_if(all.begin(), all.end(), [](const std::string& text) { return !text.empty(); });
  const bool on_all =
      std::all_of(all.begin(), all.end(), [&](const std::string& text) { return text == *first; });
  const std::string words = first->substr(1);
  const std::string message = on_all ? words : fmt::format("rank {}: {}", first - all.begin(), words);
  if (first->front() == 'u') throw UsageError(message);
  throw RuntimeError(message);
}

void Communicator::together(const std::function<void()>& work) {
  std::optional<std::string> error;
  ErrorKind kind = ErrorKind::runtime;
  try {
    work();
  } catch (const UsageError& usage) {
    error = usage.what();
    kind = ErrorKind::usage;
  } catch (const std::exception& other) {
    error = other.what();
  }
  agree(error, kind);
}

std::vector<Placement> Communicator::placement() {
  const std::vector<std::string> lines =
      gather_strings(fmt::format("{}\t{}\t{}", host_name(), getpid(), allowed_cores()));
  std::vector<Placement> placements;
  for (const std::string& line : lines) {
    const std::size_t first = line.find('\t');
    const std::size_t second = line.find('\t', first + 1);
    Placement placement;
    placement.host = line.substr(0, first);
    std::from_chars(line.data() + first + 1, line.data() + second, placement.process);
    placement.cores = line.substr(second + 1);
    if (!state_->devices.empty()) placement.device = state_->devices[placements.size()].device;
    placements.push_back(placement);
  }
  return placements;
}

}  // namespace minigift
