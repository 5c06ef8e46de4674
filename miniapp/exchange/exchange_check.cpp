#include "miniapp/exchange/exchange_check.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/format/hash.hpp"
#include "kernels/linalg/comparison.hpp"
#include "kernels/slice.hpp"
#include "miniapp/report/region_timer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace minigift {
namespace {

/// Elements of an FP64 sum that exist at one time: 32 MiB.
constexpr std::int64_t piece_elements = std::int64_t{1} << 22;

/// mean(i) = factor * values(i), in FP64.
void widen(const Vector<const float>& values, double factor, const Vector<double>& mean) {
  Kokkos::parallel_for(
      "minigift::widen", range(size(values)),
      KOKKOS_LAMBDA(std::int64_t i) { mean(i) = factor * static_cast<double>(values(i)); });
}

/// Calls visit(offset, mean) for consecutive pieces of `values`, `mean` their FP64 mean over the ranks.
template <class Visit>
void for_each_mean(const Vector<const float>& values, Communicator& communicator, Visit&& visit) {
  const std::int64_t total = size(values);
  Vector<double> buffer("minigift::fp64_sum", static_cast<std::size_t>(std::min(total, piece_elements)));
  for (std::int64_t offset = 0; offset < total; offset += piece_elements) {
    const Vector<double> mean = slice(buffer, 0, std::min(piece_elements, total - offset));
    widen(slice(values, offset, size(mean)), 1.0 / communicator.size(), mean);
    communicator.all_reduce_sum(mean).wait();
    communicator.synchronize();  // under the watchdog, before the host reads
    visit(offset, mean);
  }
}

}  // namespace

ExchangeCheck::ExchangeCheck(const ParameterRegistry& registry, const Vector<float>& gradients,
                             Communicator& communicator)
    : registry_(registry), gradients_(gradients), communicator_(communicator) {}

void ExchangeCheck::capture(int tensor) {
  const ScopedRegion region("check");
  if (local_.size() == 0) local_ = Vector<float>("minigift::local_gradient", gradients_.size());
  const Parameter& p = registry_[tensor];
  copy(slice(local_, p.offset, p.size()), slice(gradients_, p.offset, p.size()));
}

ExchangeError ExchangeCheck::compare() {
  const ScopedRegion region("check");
  ComparisonSums sums;
  const Vector<const float> result = gradients_;
  for_each_mean(local_, communicator_, [&](std::int64_t offset, const Vector<double>& mean) {
    sums += minigift::compare<double>(slice(result, offset, size(mean)), mean);
  });
  return {communicator_.max_over_ranks(sums.relative_l2()), communicator_.min_over_ranks(sums.cosine()),
          communicator_.max_over_ranks(sums.maximum)};
}

std::vector<std::string> gather_hashes(const Vector<const float>& values, Communicator& communicator) {
  return communicator.gather_strings(fmt::format("{:016x}", content_hash(values)));
}

ReplicaState compare_replicas(const Vector<const float>& values, Communicator& communicator) {
  const auto all = gather_hashes(values, communicator);
  ReplicaState state;
  state.identical =
      std::all_of(all.begin(), all.end(), [&](const std::string& h) { return h == all.front(); });
  state.hash = std::stoull(all.front(), nullptr, 16);
  return state;
}

double replica_divergence(const Vector<const float>& values, Communicator& communicator) {
  ComparisonSums sums;
  for_each_mean(values, communicator, [&](std::int64_t offset, const Vector<double>& mean) {
    sums += minigift::compare<double>(slice(values, offset, size(mean)), mean);
  });
  return communicator.max_over_ranks(sums.relative_l2());
}

}  // namespace minigift
