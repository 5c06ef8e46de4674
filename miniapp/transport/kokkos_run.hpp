#pragma once
// Kokkos for the lifetime of an object, on the GPU that this rank shall use.

#include "miniapp/transport/gpu.hpp"

#include <Kokkos_Core.hpp>
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace minigift {

class KokkosRun {
 public:
  /// `arguments`: the program's name and Kokkos' own options. Unless they choose a GPU, each rank takes one
  /// of its own, in the order of the ranks on a node. Collective over MPI_COMM_WORLD. Throws RuntimeError if
  /// this rank sees no GPU and the build needs one.
  explicit KokkosRun(std::vector<char*> arguments) : arguments_(std::move(arguments)) {
    const int device = choose_device(MPI_COMM_WORLD);
    const bool chosen = std::any_of(arguments_.begin(), arguments_.end(), [](const char* word) {
      return std::string_view(word).starts_with("--kokkos-device-id");
    });
    if (device >= 0 && !chosen) {
      device_ = fmt::format("--kokkos-device-id={}", device);
      arguments_.push_back(device_.data());
    }
    count_ = static_cast<int>(arguments_.size());
    static_cast<void>(kokkos_.emplace(count_, arguments_.data()));  // nvcc takes the guard for a result
  }
  KokkosRun(const KokkosRun&) = delete;
  KokkosRun& operator=(const KokkosRun&) = delete;

 private:
  std::vector<char*> arguments_;
  std::string device_;
  int count_ = 0;
  std::optional<Kokkos::ScopeGuard> kokkos_;
};

}  // namespace minigift
