#include "miniapp/transport/communicator_state.hpp"

#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"
#include "miniapp/transport/launcher.hpp"
#include "miniapp/transport/mpi_device_memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <thread>

namespace minigift {
namespace {

CommunicatorOptions checked(const CommunicatorOptions& options) {
  require_usage(options.max_message_bytes >= 8 && options.max_message_bytes < (std::int64_t{1} << 31),
                "max_message_bytes = {} must be at least 8 and below 2^31", options.max_message_bytes);
  require_usage(options.pipeline_bytes >= 8, "pipeline_bytes = {} must be at least 8",
                options.pipeline_bytes);
  require_usage(std::isfinite(options.watchdog_seconds) && options.watchdog_seconds > 0.0,
                "watchdog_seconds = {} must be positive and finite", options.watchdog_seconds);
  return options;
}

std::int64_t find_tag_range(MPI_Comm communicator) {
  void* value = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(communicator, MPI_TAG_UB, &value, &found), "MPI_Comm_get_attr");
  // 32767 is what the standard guarantees; it separates far more operations than are ever in flight.
  const std::int64_t upper_bound = found != 0 ? *static_cast<int*>(value) : 32767;
  return std::min(upper_bound, std::int64_t{32767}) + 1;
}

}  // namespace

OwnedCommunicator::OwnedCommunicator() : exceptions_(std::uncaught_exceptions()) {
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

OwnedCommunicator::~OwnedCommunicator() {
  if (std::uncaught_exceptions() == exceptions_) MPI_Comm_free(&communicator_);
}

CommunicatorState::CommunicatorState(const CommunicatorOptions& wanted) : options(checked(wanted)) {
  node = find_node_topology(data_.get());
  channel_.communicator = data_.get();
  check_mpi(MPI_Comm_rank(channel_.communicator, &channel_.rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(channel_.communicator, &channel_.size), "MPI_Comm_size");
  check_world_size(channel_.size);
  channel_.max_message_bytes = options.max_message_bytes;
  channel_.counters = &counters_;
  check_channel_ = channel_;
  check_channel_.communicator = checks_.get();
  tag_range_ = find_tag_range(channel_.communicator);
  looks_per_yield_ = node.ranks_on_node > node.cores_on_node ? 1 : 1000;
  checking_ = options.check_signatures;
  if (channel_.size > 1) watchdog_.emplace(channel_.communicator, options.watchdog_seconds);
  choose_transport();
}

CommunicatorState::~CommunicatorState() {
  if (!device_) return;
  const Watched watched(*this, {"closing NCCL", sequence_, 0, rank()});
  device_.reset();
}

void CommunicatorState::choose_transport() {
  staging_facts.memory_is_on_host = memory_is_on_host;
  if (!memory_is_on_host) {
    devices = gather_devices(channel_.communicator, current_device());
    check_sharing(devices, options.share_gpu || sharing_allowed_by_environment());
    staging_facts.shared_gpus = !ranks_sharing_devices(devices).empty();
    staging_facts.nccl = nccl_version();
    // The least that any rank says: 0 it says nothing, 1 no, 2 yes.
    const std::optional<bool> mine = mpi_takes_device_memory();
    int least = mine ? 1 + static_cast<int>(*mine) : 0;
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, channel_.communicator),
              "MPI_Allreduce");
    if (least > 0) staging_facts.mpi_takes_device_memory = least == 2;
  }
  staging = choose_staging(options.staging, staging_facts);
  if (staging.staging != Staging::nccl) return;
  const Watched watched(*this, {"opening NCCL", 0, 0, rank()});
  replace_device(open_nccl(channel_.communicator, devices, [this] { poll(); }));
}

void CommunicatorState::replace_device(std::unique_ptr<DeviceChannel> device) {
  device_ = std::move(device);
  if (watchdog_)
    watchdog_->before_abort([this] {
      if (device_) device_->abort();
    });
}

CommunicatorState::Watched::Watched(CommunicatorState& state, const OperationLabel& label) : state_(state) {
  if (state_.watchdog_) state_.device_wait_.emplace(*state_.watchdog_, label);
}

CommunicatorState::Watched::~Watched() {
  state_.device_wait_.reset();
}

void CommunicatorState::poll() {
  if (device_wait_) device_wait_->poll();
  std::this_thread::yield();
}

void CommunicatorState::progress() {
  if (active_.empty()) return;
  // The device channel works in order: behind one that has not finished none needs to be asked.
  bool device_busy = false;
  for (const auto& operation : active_) {
    if (device_busy && operation->stream_ordered()) continue;
    if (operation->advance()) {
      if (watchdog_) watchdog_->finished(operation->label());
    } else {
      device_busy = device_busy || operation->stream_ordered();
    }
  }
  std::erase_if(active_, [](const auto& operation) { return operation->finished(); });
}

void CommunicatorState::wait(Operation& operation) {
  std::optional<Watchdog::Wait> wait;
  std::int64_t looks = 0;
  while (!operation.advance()) {
    if (watchdog_ && !wait) wait.emplace(*watchdog_, operation.label());
    progress();
    if (wait) wait->poll();
    if (++looks % looks_per_yield_ == 0) std::this_thread::yield();
  }
  progress();
}

void CommunicatorState::wait_all() {
  while (!active_.empty()) {
    const std::shared_ptr<Operation> operation = active_.front();
    wait(*operation);
  }
}

void CommunicatorState::synchronize() {
  if (!device_) {
    current_space().fence();
    return;
  }
  Event mark;
  mark.record();
  std::optional<Watchdog::Wait> wait;
  std::int64_t watched = -1;  // sequence number of the operation that the watchdog would name
  while (!mark.reached()) {
    progress();
    const auto oldest = std::find_if(active_.begin(), active_.end(),
                                     [](const auto& operation) { return operation->stream_ordered(); });
    const OperationLabel label = oldest != active_.end()
                                     ? (*oldest)->label()
                                     : OperationLabel{"synchronize after", sequence_, 0, rank()};
    if (watchdog_ && label.sequence != watched) {
      wait.emplace(*watchdog_, label);
      watched = label.sequence;
    }
    if (wait) wait->poll();
    std::this_thread::yield();
  }
  device_->check();
  progress();
}

void CommunicatorState::check_signature(const Signature& signature, const OperationLabel& label) {
  if (!checking_ || size() == 1) return;
  const std::uint64_t hash = signature.hash();
  if (!agreed_signatures_.insert(hash).second) return;
  // The maximum of x and of ~x over the ranks are complements exactly if all x are equal.
  const auto number = static_cast<std::uint64_t>(label.sequence);
  std::array<std::uint64_t, 4> extremes = {hash, ~hash, number, ~number};
  const OperationLabel check_label{"signature check before", label.sequence, label.bytes, label.rank};
  LibraryOperation compare(check_channel_, check_label, Traffic::control, 0);
  compare.all_reduce(extremes.data(), 4, 8, MPI_UINT64_T, MPI_MAX);
  wait(compare);
  if (extremes[0] == ~extremes[1] && extremes[2] == ~extremes[3]) return;
  agreed_signatures_.erase(hash);
  report_mismatch(signature, label);
}

void CommunicatorState::report_mismatch(const Signature& signature, const OperationLabel& label) {
  constexpr std::size_t width = 128;
  std::string mine = fmt::format("{} (#{})", signature.text(), label.sequence);
  mine.resize(width, '\0');
  std::vector<char> all(width * static_cast<std::size_t>(size()));
  const OperationLabel gather_label{"signature report of", label.sequence, 0, label.rank};
  LibraryOperation gather(check_channel_, gather_label, Traffic::control, 0);
  gather.all_gather(mine.data(), all.data(), static_cast<int>(width));
  wait(gather);

  // One entry per distinct signature: "ranks 0,2: ...; rank 1: ...".
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (int rank = 0; rank < size(); ++rank) {
    const std::string text(&all[width * static_cast<std::size_t>(rank)]);
    const auto same =
        std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == text; });
    if (same == groups.end()) {
      groups.push_back({text, {rank}});
    } else {
      same->second.push_back(rank);
    }
  }
  std::string message = "ranks started different collective operations: ";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto& [text, ranks] = groups[i];
    message += fmt::format("{}{} {}: {}", i == 0 ? "" : "; ", ranks.size() == 1 ? "rank" : "ranks",
                           fmt::join(ranks, ","), text);
  }
  throw RuntimeError(message);
}

}  // namespace minigift
