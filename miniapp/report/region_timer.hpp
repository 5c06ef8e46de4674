#pragma once
// Times the named Kokkos::Profiling regions. Library code opens regions and holds no clock; a program that
// wants times makes one RegionTimer, which installs the push and pop hooks, fences the device at both ends,
// and reads the steady clock. Kokkos Tools loaded by the user need the same hooks, so the two exclude each
// other.

#include "miniapp/report/phases.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace minigift {

struct RegionTime {
  std::string path;              ///< names from the outermost region inward, joined by '/'
  std::string name;              ///< the last of them
  double inclusive_seconds = 0;  ///< with the regions opened inside
  double exclusive_seconds = 0;  ///< without them
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
  std::vector<RegionTime> times() const;
  /// Sum over all regions of this name, wherever they are nested; a region inside one of the same name counts
  /// once.
  double inclusive_seconds(std::string_view name) const;
  double exclusive_seconds(std::string_view name) const;
  /// Exclusive time per phase. Regions that are no phase count for the phase they are nested in; time since
  /// the last reset outside of any phase counts as "other", so the sum is the time since the reset, less that
  /// of untimed_region.
  PhaseSeconds phase_seconds() const;
  /// Seconds since the last reset.
  double elapsed_seconds() const;
  /// Starts again from zero. Regions that are open count from now.
  void reset();

 private:
  struct Node;
  static void push(const char* name);
  static void pop();
  static RegionTimer* active_;

  std::unique_ptr<Node> root_;
  Node* current_;
  std::chrono::steady_clock::time_point start_;
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
