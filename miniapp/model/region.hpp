#pragma once
// A named profiling region for the lifetime of an object: Kokkos Tools, Nsight and the program's own timers
// see it.

#include <Kokkos_Core.hpp>

namespace minigift {

class Region {
 public:
  explicit Region(const char* name) { Kokkos::Profiling::pushRegion(name); }
  ~Region() { Kokkos::Profiling::popRegion(); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
};

}  // namespace minigift
