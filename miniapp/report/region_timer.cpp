#include "miniapp/report/region_timer.hpp"

#include "kernels/error.hpp"
#include "miniapp/report/wait.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace minigift {
namespace {

bool is_phase(std::string_view name) {
  return std::find(phase_names.begin(), phase_names.end(), name) != phase_names.end();
}

std::size_t phase_index(std::string_view name) {
  return static_cast<std::size_t>(std::find(phase_names.begin(), phase_names.end(), name) -
                                  phase_names.begin());
}

}  // namespace

/// One passage through a region.
struct RegionTimer::Visit {
  Stream stream;
  Event opened, closed;
  bool within_parent = false;  // on the stream of the region around it
};

/// One region at one place of the nesting. The root stands for the whole time since the reset; it is always
/// open.
struct RegionTimer::Node {
  std::string name;
  Node* parent = nullptr;
  std::vector<std::unique_ptr<Node>> children;
  double seconds = 0;  // of the settled visits
  double nested = 0;   // of these, spent in children on the same stream
  std::int64_t count = 0;
  bool open = false;
  Visit current;              // while open
  std::vector<Visit> closed;  // not yet settled: the device may still be at work on them

  double exclusive() const { return seconds - nested; }
  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor(self);
    for (const auto& child : self.children)
      visit(*child, visitor);
  }
};

RegionTimer* RegionTimer::active_ = nullptr;

RegionTimer::RegionTimer() : root_(std::make_unique<Node>()), current_(root_.get()) {
  require(active_ == nullptr, "a RegionTimer is active already");
  require_usage(
      !Kokkos::Profiling::profileLibraryLoaded(),
      "a Kokkos Tool is loaded (KOKKOS_TOOLS_LIBS or KOKKOS_PROFILE_LIBRARY) and takes the hooks that time "
      "the phases; unset it, or run without phase times");
  active_ = this;
  open(*root_);
  Kokkos::Tools::Experimental::set_push_region_callback(&RegionTimer::push);
  Kokkos::Tools::Experimental::set_pop_region_callback(&RegionTimer::pop);
}

RegionTimer::~RegionTimer() {
  Kokkos::Tools::Experimental::set_push_region_callback(nullptr);
  Kokkos::Tools::Experimental::set_pop_region_callback(nullptr);
  active_ = nullptr;
}

void RegionTimer::open(Node& node) {
  const Stream stream = current_stream();
  const bool within = node.parent != nullptr && node.parent->current.stream.id() == stream.id();
  node.current = Visit{stream, {}, {}, within};
  node.current.opened.record();
  node.open = true;
}

void RegionTimer::push(const char* name) {
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
  active_->open(*node);
}

void RegionTimer::pop() {
  Node* node = active_->current_;
  if (node->parent == nullptr) return;  // opened before this timer was made
  {
    const ScopedStream stream(node->current.stream);
    if (active_->slow_fraction_ > 0 && node->name == active_->slow_name_) active_->lengthen(*node);
    node->current.closed.record();
  }
  node->closed.push_back(std::move(node->current));
  node->open = false;
  ++node->count;
  active_->current_ = node->parent;
}

void RegionTimer::slow_down(const std::string& name, double fraction) {
  slow_name_ = name;
  slow_fraction_ = fraction;
}

void RegionTimer::lengthen(const Node& node) const {
  Event now;
  now.record();
  now.synchronize();
  wait_for(slow_fraction_ * Event::seconds(node.current.opened, now));
}

void RegionTimer::settle() const {
  Node::visit(*root_, [](Node& node) {
    for (const Visit& visit : node.closed) {
      visit.closed.synchronize();
      const double seconds = Event::seconds(visit.opened, visit.closed);
      node.seconds += seconds;
      if (visit.within_parent) node.parent->nested += seconds;
    }
    node.closed.clear();
  });
}

const RegionTimer::Node& RegionTimer::settled_tree() const {
  std::map<int, Event> now;  // one mark per stream, so that nested regions end together
  Node::visit(*root_, [&now](Node& node) {
    if (!node.open) return;
    const ScopedStream stream(node.current.stream);
    Event& mark = now[node.current.stream.id()];
    if (!mark.recorded()) mark.record();
    Visit visit = node.current;
    node.current.opened = visit.closed = mark;  // nothing is lost between
    node.closed.push_back(std::move(visit));
  });
  settle();
  return *root_;
}

std::vector<RegionTime> RegionTimer::times() const {
  std::vector<RegionTime> result;
  Node::visit(settled_tree(), [&](const Node& node) {
    if (node.parent == nullptr) return;
    std::string path = node.name;
    for (const Node* outer = node.parent; outer->parent != nullptr; outer = outer->parent) {
      path.insert(0, outer->name + "/");
    }
    result.push_back({path, node.name, node.seconds, node.exclusive(), node.count});
  });
  return result;
}

double RegionTimer::inclusive_seconds(std::string_view name) const {
  double sum = 0;
  Node::visit(settled_tree(), [&](const Node& node) {
    if (node.parent == nullptr || node.name != name) return;
    for (const Node* outer = node.parent; outer->parent != nullptr; outer = outer->parent) {
      if (outer->name == name) return;  // counted in the outer one
    }
    sum += node.seconds;
  });
  return sum;
}

double RegionTimer::exclusive_seconds(std::string_view name) const {
  double sum = 0;
  Node::visit(settled_tree(), [&](const Node& node) {
    if (node.parent != nullptr && node.name == name) sum += node.exclusive();
  });
  return sum;
}

PhaseSeconds RegionTimer::phase_seconds() const {
  PhaseSeconds phases{};
  Node::visit(settled_tree(), [&](const Node& node) {
    std::string_view phase;  // the innermost one
    for (const Node* region = &node; region->parent != nullptr; region = region->parent) {
      if (region->name == untimed_region) return;
      if (phase.empty() && is_phase(region->name)) phase = region->name;
    }
    if (phase.empty()) phase = "other";
    phases[phase_index(phase)] += node.exclusive();
  });
  return phases;
}

double RegionTimer::step_seconds() const {
  const Node& root = settled_tree();
  double seconds = root.seconds;
  Node::visit(root, [&](const Node& node) {
    if (node.name == untimed_region && node.parent != nullptr) seconds -= node.seconds;
  });
  return seconds;
}

double RegionTimer::elapsed_seconds() const {
  return settled_tree().seconds;
}

void RegionTimer::reset() {
  settle();
  std::map<int, Event> now;
  Node::visit(*root_, [&now](Node& node) {
    node.seconds = node.nested = 0;
    node.count = 0;
    if (!node.open) return;
    const ScopedStream stream(node.current.stream);
    Event& mark = now[node.current.stream.id()];
    if (!mark.recorded()) mark.record();
    node.current.opened = mark;
  });
}

ScopedRegion::ScopedRegion(const std::string& name) {
  Kokkos::Profiling::pushRegion(name);
}
ScopedRegion::~ScopedRegion() {
  Kokkos::Profiling::popRegion();
}

}  // namespace minigift
