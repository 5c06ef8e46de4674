#include "miniapp/report/region_timer.hpp"

#include "kernels/error.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>

namespace minigift {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

bool is_phase(std::string_view name) {
  return std::find(phase_names.begin(), phase_names.end(), name) != phase_names.end();
}

std::size_t phase_index(std::string_view name) {
  return static_cast<std::size_t>(std::find(phase_names.begin(), phase_names.end(), name) -
                                  phase_names.begin());
}

}  // namespace

/// One region at one place of the nesting. The root stands for the time outside of any region.
struct RegionTimer::Node {
  std::string name;
  Node* parent = nullptr;
  std::vector<std::unique_ptr<Node>> children;
  double seconds = 0;  // of the closed visits
  std::int64_t count = 0;
  bool open = false;
  Clock::time_point opened;

  double inclusive(Clock::time_point now) const {
    return seconds + (open ? seconds_between(opened, now) : 0.0);
  }
  double exclusive(Clock::time_point now) const {
    double rest = inclusive(now);
    for (const auto& child : children)
      rest -= child->inclusive(now);
    return rest;
  }
  template <class Visitor>
  void visit(Visitor&& visitor) const {
    visitor(*this);
    for (const auto& child : children)
      child->visit(visitor);
  }
};

RegionTimer* RegionTimer::active_ = nullptr;

RegionTimer::RegionTimer() : root_(std::make_unique<Node>()), current_(root_.get()), start_(Clock::now()) {
  require(active_ == nullptr, "a RegionTimer is active already");
  require_usage(
      !Kokkos::Profiling::profileLibraryLoaded(),
      "a Kokkos Tool is loaded (KOKKOS_TOOLS_LIBS or KOKKOS_PROFILE_LIBRARY) and takes the hooks that time "
      "the phases; unset it, or run without phase times");
  active_ = this;
  Kokkos::Tools::Experimental::set_push_region_callback(&RegionTimer::push);
  Kokkos::Tools::Experimental::set_pop_region_callback(&RegionTimer::pop);
}

RegionTimer::~RegionTimer() {
  Kokkos::Tools::Experimental::set_push_region_callback(nullptr);
  Kokkos::Tools::Experimental::set_pop_region_callback(nullptr);
  active_ = nullptr;
}

void RegionTimer::push(const char* name) {
  Kokkos::fence();  // work launched before the region is not counted in it
  Node* parent = active_->current_;
  Node* node = nullptr;
  for (const auto& child : parent->children) {
    if (child->name == name) node = child.get();
  }
  if (node == nullptr) {
    node = parent->children.emplace_back(std::make_unique<Node>()).get();
    node->name = name;
    node->parent = parent;
  }
  active_->current_ = node;
  node->open = true;
  node->opened = Clock::now();
}

void RegionTimer::pop() {
  Kokkos::fence();
  const Clock::time_point now = Clock::now();
  Node* node = active_->current_;
  if (node->parent == nullptr) return;  // opened before this timer was made
  node->seconds += seconds_between(node->opened, now);
  node->open = false;
  ++node->count;
  active_->current_ = node->parent;
}

std::vector<RegionTime> RegionTimer::times() const {
  const Clock::time_point now = Clock::now();
  std::vector<RegionTime> result;
  root_->visit([&](const Node& node) {
    if (node.parent == nullptr) return;
    std::string path = node.name;
    for (const Node* outer = node.parent; outer->parent != nullptr; outer = outer->parent) {
      path.insert(0, outer->name + "/");
    }
    result.push_back({path, node.name, node.inclusive(now), node.exclusive(now), node.count});
  });
  return result;
}

double RegionTimer::inclusive_seconds(std::string_view name) const {
  const Clock::time_point now = Clock::now();
  double sum = 0;
  root_->visit([&](const Node& node) {
    if (node.parent == nullptr || node.name != name) return;
    for (const Node* outer = node.parent; outer->parent != nullptr; outer = outer->parent) {
      if (outer->name == name) return;  // counted in the outer one
    }
    sum += node.inclusive(now);
  });
  return sum;
}

double RegionTimer::exclusive_seconds(std::string_view name) const {
  const Clock::time_point now = Clock::now();
  double sum = 0;
  root_->visit([&](const Node& node) {
    if (node.parent != nullptr && node.name == name) sum += node.exclusive(now);
  });
  return sum;
}

PhaseSeconds RegionTimer::phase_seconds() const {
  const Clock::time_point now = Clock::now();
  PhaseSeconds phases{};
  root_->visit([&](const Node& node) {
    std::string_view phase;  // the innermost one
    for (const Node* region = &node; region->parent != nullptr; region = region->parent) {
      if (region->name == untimed_region) return;
      if (phase.empty() && is_phase(region->name)) phase = region->name;
    }
    if (phase.empty()) phase = "other";
    double own = node.exclusive(now);
    if (node.parent == nullptr) own += seconds_between(start_, now);  // the root has no visits of its own
    phases[phase_index(phase)] += own;
  });
  return phases;
}

double RegionTimer::elapsed_seconds() const {
  return seconds_between(start_, Clock::now());
}

void RegionTimer::reset() {
  Kokkos::fence();
  start_ = Clock::now();
  const auto clear = [this](auto&& self, Node& node) -> void {
    node.seconds = 0;
    node.count = 0;
    node.opened = start_;
    for (const auto& child : node.children)
      self(self, *child);
  };
  clear(clear, *root_);
}

ScopedRegion::ScopedRegion(const std::string& name) {
  Kokkos::Profiling::pushRegion(name);
}
ScopedRegion::~ScopedRegion() {
  Kokkos::Profiling::popRegion();
}

}  // namespace minigift
