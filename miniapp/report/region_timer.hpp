#pragma once
// Times the named Kokkos::Profiling regions. Library code opens regions and holds no clock; a program that
// wants times makes one RegionTimer, which installs the push and pop hooks and marks both ends of a region
// with an event on the stream that is current there. On a GPU the marks are the device's: a region's time is
// what its work took on its stream, and the host does not wait. On a host backend the mark is the steady
// clock once the work has been done. Kokkos Tools loaded by the user need the same hooks, so the two exclude
// each other.
//
// A region opened inside another on the same stream is part of it. One on another stream runs beside it: it
// counts for itself, and nothing is taken from the outer region. With two streams the regions may therefore
// add up to more than the step.

#include "kernels/device/stream.hpp"
#include "miniapp/report/phases.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace minigift {

struct RegionTime {
  std::string path;              ///< names from the outermost region inward, joined by '/'
  std::string name;              ///< the last of them
  double inclusive_seconds = 0;  ///< with the regions opened inside
  double exclusive_seconds = 0;  ///< without those of them on the same stream
  std::int64_t count = 0;
};

class RegionTimer {
 public:
  /// Installs the hooks. Kokkos must be initialised. Throws UsageError if a Kokkos Tool is loaded,
  /// RuntimeError if another RegionTimer lives.
  RegionTimer();
  ~RegionTimer();
  RegionTimer(const RegionTimer&) = delete;
  RegionTimer& operator=(const RegionTimer&) = delete;

  /// Times since the last reset, in the order in which regions were first seen. Open regions count up to now.
  /// Like all readings, it waits for the marks it needs.
  std::vector<RegionTime> times() const;
  /// Sum over all regions of this name, wherever they are nested; a region inside one of the same name counts
  /// once.
  double inclusive_seconds(std::string_view name) const;
  double exclusive_seconds(std::string_view name) const;
  /// Exclusive time per phase. Regions that are no phase count for the phase they are nested in; time since
  /// the last reset outside of any phase, on the stream of the reset, counts as "other". On one stream the
  /// sum is step_seconds().
  PhaseSeconds phase_seconds() const;
  /// Seconds since the last reset on its stream, less those of untimed_region.
  double step_seconds() const;
  /// Seconds since the last reset.
  double elapsed_seconds() const;
  /// From now on regions of this name last longer by this fraction of their time (with what is nested in
  /// them): a fault on purpose, to try a gate. The wait lies inside the region and on its stream.
  void slow_down(const std::string& name, double fraction);

  /// Starts again from zero. Regions that are open count from now.
  void reset();

 private:
  struct Node;
  struct Visit;
  static void push(const char* name);
  static void pop();
  static RegionTimer* active_;

  /// Opens a visit on the current stream.
  void open(Node& node);
  /// Waits by the fraction of slow_down() before the region closes.
  void lengthen(const Node& node) const;
  /// Adds the closed visits to their nodes.
  void settle() const;
  /// The regions as they are now, those that are open closed and opened again.
  const Node& settled_tree() const;

  std::unique_ptr<Node> root_;
  Node* current_;
  std::string slow_name_;
  double slow_fraction_ = 0;
};

/// A region for the duration of a scope.
class ScopedRegion {
 public:
  explicit ScopedRegion(const std::string& name);
  ~ScopedRegion();
  ScopedRegion(const ScopedRegion&) = delete;
  ScopedRegion& operator=(const ScopedRegion&) = delete;
};

}  // namespace minigift
