#include "miniapp/trace/compare.hpp"

#include "kernels/error.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace minigift {
namespace {

using namespace trace_layout;

/// Sums over pairs of elements.
struct PairSums {
  double difference2 = 0.0, a2 = 0.0, b2 = 0.0, product = 0.0;
  double largest = 0.0;
  bool not_a_number = false;
  std::int64_t unequal = 0;

  void add(const HostMatrix<float>& a_part, const HostMatrix<float>& b_part) {
    const std::int64_t count = size(a_part);
    const float* a = a_part.data();
    const float* b = b_part.data();
    double sum_difference2 = 0.0, sum_a2 = 0.0, sum_b2 = 0.0, sum_product = 0.0, most = 0.0;
    std::int64_t other_bits = 0;
#pragma omp simd reduction(+ : sum_difference2, sum_a2, sum_b2, sum_product, other_bits) reduction(max : most)
    for (std::int64_t i = 0; i < count; ++i) {
      const double x = a[i];
      const double y = b[i];
      const double difference = y - x;
      sum_difference2 += difference * difference;
      sum_a2 += x * x;
      sum_b2 += y * y;
      sum_product += x * y;
      const double magnitude = std::abs(difference);
      most = magnitude > most ? magnitude : most;
      other_bits += std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]) ? 1 : 0;
    }
    difference2 += sum_difference2;
    a2 += sum_a2;
    b2 += sum_b2;
    product += sum_product;
    largest = std::max(largest, most);
    not_a_number = not_a_number || std::isnan(sum_difference2);  // the maximum has lost it
    unequal += other_bits;
  }
};

void set_measures(const PairSums& sums, ArrayComparison& result) {
  result.equal_bits = sums.unequal == 0;
  result.max_difference = sums.not_a_number ? std::numeric_limits<double>::quiet_NaN() : sums.largest;
  if (sums.difference2 == 0.0 || result.equal_bits) {
    // Also where infinities or NaN of the same bits make the sums useless.
    result.relative_l2 = 0.0;
    result.cosine = 1.0;
    if (result.equal_bits) result.max_difference = 0.0;
    return;
  }
  result.relative_l2 = std::sqrt(sums.difference2 / sums.a2);  // infinite for a = 0
  const double norms = std::sqrt(sums.a2) * std::sqrt(sums.b2);
  result.cosine = norms == 0.0 ? 0.0 : sums.product / norms;
}

/// An array of a trace, by what both traces call it.
using ArrayKey = std::tuple<std::int64_t, ArrayKind, std::string>;
struct ArrayPlace {
  std::size_t step_index = 0;
  int owner = 0;
};

std::map<ArrayKey, ArrayPlace> places_of(const TraceReader& trace) {
  std::map<ArrayKey, ArrayPlace> places;
  const std::vector<ArrayPlan> plans = arrays_of_a_step(trace.header());
  for (std::size_t s = 0; s < trace.steps().size(); ++s)
    for (const ArrayPlan& plan : plans)
      places[{trace.steps()[s].step, plan.kind, plan.owner_name}] = {s, plan.owner};
  return places;
}

std::string name_of(const ArrayKey& key) {
  return array_path(std::get<0>(key), std::get<1>(key), std::get<2>(key));
}

void list_missing(const std::map<ArrayKey, ArrayPlace>& here, const std::map<ArrayKey, ArrayPlace>& there,
                  const std::string& only, std::vector<std::string>& unmatched) {
  for (const auto& [key, place] : here)
    if (there.count(key) == 0) unmatched.push_back(fmt::format("{} is only in {}", name_of(key), only));
}

void compare_array(const ArrayKey& key, const TraceReader& a, const ArrayPlace& a_place, const TraceReader& b,
                   const ArrayPlace& b_place, TraceComparison& comparison) {
  const auto& [step, kind, owner] = key;
  const TraceArrayInfo a_info = a.info(a_place.step_index, kind, a_place.owner);
  const TraceArrayInfo b_info = b.info(b_place.step_index, kind, b_place.owner);
  if (a_info.rows != b_info.rows || a_info.columns != b_info.columns) {
    comparison.unmatched.push_back(fmt::format("{} has shape ({}, {}) in {} and ({}, {}) in {}", name_of(key),
                                               a_info.rows, a_info.columns, a.path(), b_info.rows,
                                               b_info.columns, b.path()));
    return;
  }
  ArrayComparison result;
  result.step = step;
  result.kind = kind;
  result.owner = owner;
  result.ranks = std::min(a_info.ranks, b_info.ranks);
  result.elements = result.ranks * a_info.rows * a_info.columns;
  PairSums sums;
  for (int rank = 0; rank < result.ranks; ++rank)
    sums.add(a.array(a_place.step_index, kind, a_place.owner, rank),
             b.array(b_place.step_index, kind, b_place.owner, rank));
  set_measures(sums, result);
  comparison.arrays.push_back(result);
}

}  // namespace

TraceComparison compare_traces(const TraceReader& a, const TraceReader& b) {
  TraceComparison comparison;
  const auto a_places = places_of(a);
  const auto b_places = places_of(b);
  list_missing(a_places, b_places, a.path(), comparison.unmatched);
  list_missing(b_places, a_places, b.path(), comparison.unmatched);
  if (a.header().ranks != b.header().ranks)
    comparison.unmatched.push_back(fmt::format("{} has {} ranks, {} has {}: the first {} are compared",
                                               a.path(), a.header().ranks, b.path(), b.header().ranks,
                                               std::min(a.header().ranks, b.header().ranks)));
  for (std::size_t s = 0; s < a.steps().size(); ++s) {
    for (const ArrayPlan& plan : arrays_of_a_step(a.header())) {
      const ArrayKey key{a.steps()[s].step, plan.kind, plan.owner_name};
      const auto found = b_places.find(key);
      if (found != b_places.end()) compare_array(key, a, {s, plan.owner}, b, found->second, comparison);
    }
  }
  return comparison;
}

bool within(const TraceComparison& comparison, double tolerance) {
  return comparison.unmatched.empty() &&
         std::all_of(comparison.arrays.begin(), comparison.arrays.end(),
                     [&](const ArrayComparison& array) { return array.relative_l2 <= tolerance; });
}

}  // namespace minigift
