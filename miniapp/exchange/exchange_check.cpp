#include "miniapp/exchange/exchange_check.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/format/hash.hpp"
#include "kernels/slice.hpp"
#include "miniapp/report/region_timer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace minigift {
namespace {

/// Elements of an FP64 sum that exist at one time: 32 MiB.
constexpr std::int64_t piece_elements = std::int64_t{1} << 22;

struct Sums {
  double difference = 0.0;  // sum (v - m)^2
  double reference = 0.0;   // sum m^2
  double values = 0.0;      // sum v^2
  double product = 0.0;     // sum v m
  double maximum = 0.0;     // max |v - m|

  Sums& operator+=(const Sums& other) {
    difference += other.difference;
    reference += other.reference;
    values += other.values;
    product += other.product;
    maximum = std::max(maximum, other.maximum);
    return *this;
  }
};

/// mean(i) = factor * values(i), in FP64.
void widen(const Vector<const float>& values, double factor, const Vector<double>& mean) {
  Kokkos::parallel_for(
      "minigift::widen", range(size(values)),
      KOKKOS_LAMBDA(std::int64_t i) { mean(i) = factor * static_cast<double>(values(i)); });
}

Sums compare_piece(const Vector<const float>& values, const Vector<const double>& mean) {
  Sums sums;
  Kokkos::parallel_reduce(
      "minigift::compare_sums", range(size(values)),
      KOKKOS_LAMBDA(std::int64_t i, double& d, double& r, double& v, double& p) {
        const double value = static_cast<double>(values(i));
        const double difference = value - mean(i);
        d += difference * difference;
        r += mean(i) * mean(i);
        v += value * value;
        p += value * mean(i);
      },
      sums.difference, sums.reference, sums.values, sums.product);
  Kokkos::parallel_reduce(
      "minigift::compare_maximum", range(size(values)),
      KOKKOS_LAMBDA(std::int64_t i, double& largest) {
        const double difference = static_cast<double>(values(i)) - mean(i);
        const double magnitude = difference < 0.0 ? -difference : difference;
        if (magnitude > largest) largest = magnitude;
      },
      Kokkos::Max<double>(sums.maximum));
  return sums;
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
  Sums sums;
  const Vector<const float> result = gradients_;
  for_each_mean(local_, communicator_, [&](std::int64_t offset, const Vector<double>& mean) {
    sums += compare_piece(slice(result, offset, size(mean)), mean);
  });
  ExchangeError mine;
  mine.relative_l2 = sums.reference > 0.0 ? std::sqrt(sums.difference / sums.reference) : 0.0;
  mine.cosine = sums.reference > 0.0 && sums.values > 0.0
                    ? sums.product / std::sqrt(sums.reference * sums.values)
                    : 1.0;
  mine.maximum = sums.maximum;
  return {communicator_.max_over_ranks(mine.relative_l2), communicator_.min_over_ranks(mine.cosine),
          communicator_.max_over_ranks(mine.maximum)};
}

ReplicaState compare_replicas(const Vector<const float>& values, Communicator& communicator) {
  const std::uint64_t hash = content_hash(values);
  const auto all = communicator.gather_strings(fmt::format("{:016x}", hash));
  ReplicaState state;
  state.identical =
      std::all_of(all.begin(), all.end(), [&](const std::string& h) { return h == all.front(); });
  state.hash = std::stoull(all.front(), nullptr, 16);
  return state;
}

double replica_divergence(const Vector<const float>& values, Communicator& communicator) {
  Sums sums;
  for_each_mean(values, communicator, [&](std::int64_t offset, const Vector<double>& mean) {
    sums += compare_piece(slice(values, offset, size(mean)), mean);
  });
  return communicator.max_over_ranks(sums.reference > 0.0 ? std::sqrt(sums.difference / sums.reference)
                                                          : 0.0);
}

}  // namespace minigift
