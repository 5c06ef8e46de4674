#include "miniapp/transport/communicator_state.hpp"

#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"
#include "miniapp/transport/launcher.hpp"
#include "miniapp/transport/mpi_device_memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <thread>

namespace minigift {
namespace {

CommunicatorOptions checked(const CommunicatorOptions& options) {
  require_usage(options.max_message_bytes >= 8 && options.max_message_bytes < (std::int64_t{1} << 31),
                "max_message_bytes = {} must be at least 8 and below 2^31", options.max_message_bytes);
  require_usage(options.pipeline_bytes >= 8, "pipeline_bytes = {} must be at least 8",
                options.pipeline_bytes);
  require_usage(options.ranks_per_node >= 0, "ranks_per_node = {} must not be negative",
                options.ranks_per_node);
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

/// Every `ranks_per_node` ranks that follow one another count as a node.
void pretend_nodes(NodeTopology& node, int ranks, int rank, int ranks_per_node) {
  std::vector<int> nodes;
  for (int r = 0; r < ranks; ++r)
    nodes.push_back(r / ranks_per_node);
  const NodeTopology real = node;
  node = arrange_nodes(nodes, rank);
  node.ranks_on_host = real.ranks_on_host;
  node.cores_on_host = real.cores_on_host;
}

}  // namespace

OwnedCommunicator::OwnedCommunicator(MPI_Comm original) : exceptions_(std::uncaught_exceptions()) {
  check_mpi(MPI_Comm_dup(original, &communicator_), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

OwnedCommunicator::OwnedCommunicator(MPI_Comm whole, int color, int key)
    : exceptions_(std::uncaught_exceptions()) {
  check_mpi(MPI_Comm_split(whole, color, key, &communicator_), "MPI_Comm_split");
  check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

OwnedCommunicator::~OwnedCommunicator() {
  if (std::uncaught_exceptions() == exceptions_) MPI_Comm_free(&communicator_);
}

CommunicatorState::CommunicatorState(const CommunicatorOptions& wanted)
    : options(checked(wanted)), root_(*this), data_(MPI_COMM_WORLD), checks_(MPI_COMM_WORLD) {
  channel_.counters = &counters_;
  open();
  check_world_size(size());
  members_.resize(static_cast<std::size_t>(size()));
  std::iota(members_.begin(), members_.end(), 0);
  node = find_node_topology(mpi());
  if (options.ranks_per_node > 0) {
    require_usage(size() % options.ranks_per_node == 0,
                  "ranks_per_node = {}: {} ranks do not make whole nodes of {}", options.ranks_per_node,
                  size(), options.ranks_per_node);
    pretend_nodes(node, size(), rank(), options.ranks_per_node);
  }
  looks_per_yield_ = node.ranks_on_host > node.cores_on_host ? 1 : 1000;
  if (size() > 1) watchdog_.emplace(mpi(), options.watchdog_seconds);
  choose_transport();
}

CommunicatorState::CommunicatorState(CommunicatorState& parent, int color, int key, std::string group)
    : options(parent.options),
      staging_facts(parent.staging_facts),
      staging(parent.staging),
      parent_(&parent),
      root_(parent.root_),
      group_(std::move(group)),
      data_(parent.mpi(), color, key),
      checks_(mpi()),
      looks_per_yield_(parent.looks_per_yield_) {
  channel_.counters = parent.channel_.counters;
  open();
  const auto parts = static_cast<std::size_t>(size());
  std::vector<int> places(parts);  // of the members in the parent
  const int place = parent.rank();
  check_mpi(MPI_Allgather(&place, 1, MPI_INT, places.data(), 1, MPI_INT, mpi()), "MPI_Allgather");
  std::vector<int> nodes;
  for (const int at : places) {
    const auto index = static_cast<std::size_t>(at);
    members_.push_back(parent.members_[index]);
    nodes.push_back(parent.node.node_of[index]);
    if (!parent.devices.empty()) devices.push_back(parent.devices[index]);
  }
  node = arrange_nodes(nodes, rank());
  node.ranks_on_host = parent.node.ranks_on_host;
  node.cores_on_host = parent.node.cores_on_host;
  // Not all ranks are in this group: who hangs here ends all the same.
  if (size() > 1) watchdog_.emplace(root_.mpi(), options.watchdog_seconds);
  if (staging.staging == Staging::nccl) open_device();
  parent.children_.push_back(this);
}

CommunicatorState::~CommunicatorState() {
  if (parent_ != nullptr) std::erase(parent_->children_, this);
  if (!device_) return;
  const Watched watched(*this, label("closing NCCL", sequence_, 0));
  device_.reset();
}

void CommunicatorState::open() {
  channel_.communicator = mpi();
  check_mpi(MPI_Comm_rank(mpi(), &channel_.rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(mpi(), &channel_.size), "MPI_Comm_size");
  channel_.max_message_bytes = options.max_message_bytes;
  check_channel_ = channel_;
  check_channel_.communicator = checks_.get();
  tag_range_ = find_tag_range(mpi());
  checking_ = options.check_signatures;
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
  if (staging.staging == Staging::nccl) open_device();
}

void CommunicatorState::open_device() {
  const Watched watched(*this, label("opening NCCL", 0, 0));
  replace_device(open_nccl(mpi(), devices, [this] { poll(); }));
}

void CommunicatorState::replace_device(std::unique_ptr<DeviceChannel> device) {
  device_ = std::move(device);
  if (watchdog_) watchdog_->before_abort([this] { root_.abort_devices(); });
}

void CommunicatorState::abort_devices() {
  if (device_) device_->abort();
  for (CommunicatorState* child : children_)
    child->abort_devices();
}

void CommunicatorState::check_devices() {
  if (device_) device_->check();
  for (CommunicatorState* child : children_)
    child->check_devices();
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

void CommunicatorState::advance_all() {
  for (CommunicatorState* child : children_)
    child->advance_all();
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

const Operation* CommunicatorState::oldest_on_device() const {
  for (const auto& operation : active_) {
    if (operation->stream_ordered()) return operation.get();
  }
  for (const CommunicatorState* child : children_) {
    if (const Operation* operation = child->oldest_on_device()) return operation;
  }
  return nullptr;
}

void CommunicatorState::synchronize() {
  if (!device_) {
    current_space().fence();
    return;
  }
  Event mark;
  mark.record();
  std::optional<Watchdog::Wait> wait;
  std::string watched;  // the operation that the watchdog would name
  while (!mark.reached()) {
    progress();
    const Operation* oldest = root_.oldest_on_device();
    const OperationLabel waited_for =
        oldest != nullptr ? oldest->label() : label("synchronize after", sequence_, 0);
    if (watchdog_ && waited_for.text() != watched) {
      wait.emplace(*watchdog_, waited_for);
      watched = waited_for.text();
    }
    if (wait) wait->poll();
    std::this_thread::yield();
  }
  root_.check_devices();
  progress();
}

void CommunicatorState::check_signature(const Signature& signature, const OperationLabel& label) {
  if (!checking_ || size() == 1) return;
  const std::uint64_t hash = signature.hash();
  if (!agreed_signatures_.insert(hash).second) return;
  // The maximum of x and of ~x over the ranks are complements exactly if all x are equal.
  const auto number = static_cast<std::uint64_t>(label.sequence);
  std::array<std::uint64_t, 4> extremes = {hash, ~hash, number, ~number};
  OperationLabel check_label = label;
  check_label.name = "signature check before";
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
  OperationLabel gather_label = label;
  gather_label.name = "signature report of";
  LibraryOperation gather(check_channel_, gather_label, Traffic::control, 0);
  gather.all_gather(mine.data(), all.data(), static_cast<int>(width));
  wait(gather);

  // One entry per distinct signature: "ranks 0,2: ...; rank 1: ...".
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (int rank = 0; rank < size(); ++rank) {
    const std::string text(&all[width * static_cast<std::size_t>(rank)]);
    auto same =
        std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == text; });
    if (same == groups.end()) {
      groups.push_back({text, {}});
      same = groups.end() - 1;
    }
    same->second.push_back(members_[static_cast<std::size_t>(rank)]);
  }
  std::string message = group_.empty() ? "ranks" : fmt::format("ranks of {}", group_);
  message += " started different collective operations: ";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto& [text, ranks] = groups[i];
    message += fmt::format("{}{} {}: {}", i == 0 ? "" : "; ", ranks.size() == 1 ? "rank" : "ranks",
                           fmt::join(ranks, ","), text);
  }
  throw RuntimeError(message);
}

}  // namespace minigift
