#include "miniapp/comm/sum_bound.hpp"

#include "kernels/error.hpp"
#include "kernels/format/roundoff.hpp"

#include <cmath>

namespace minigift {
namespace {

constexpr double fp32_roundoff = 0x1p-24;

/// (1+u)^n
double growth(double u, int n) {
  return std::exp(n * std::log1p(u));
}
/// (1+u)^m (1+v)^n - 1, also where it is tiny.
double relative_growth(double u, int m, double v, int n) {
  return std::expm1(m * std::log1p(u) + n * std::log1p(v));
}

/// Codes are added: one cast on each rank, then N-1 additions, each in FP32 and rounded to the format.
SumBound added_codes(Format format, int ranks, double scale) {
  const double u = unit_roundoff(format);
  if (format == Format::fp32) return {relative_growth(u, ranks - 1, 0, 0), 0};
  const double flush = ranks * scale * smallest_step(format) / 2;
  return {relative_growth(u, ranks, fp32_roundoff, ranks - 1),
          flush * growth(u, ranks - 1) * growth(fp32_roundoff, ranks - 1)};
}

/// Codes are decoded and added in FP32 by the owner of a part, which encodes the sum.
SumBound added_by_owner(Format format, int ranks, const SumScales& scales) {
  const double u = unit_roundoff(format);
  if (format == Format::fp32) return {relative_growth(u, ranks - 1, 0, 0), 0};
  // INT8's scales are no powers of two: its quotients and products round too, by less than 2^-15 of a step.
  const double half_step = smallest_step(format) / 2 * (format == Format::int8 ? 1 + 0x1p-15 : 1);
  const int products = format == Format::int8 ? 1 : 0;
  const double sent = ranks * scales.sent * half_step * growth(u, 1) * growth(fp32_roundoff, ranks - 1);
  return {relative_growth(u, 2, fp32_roundoff, ranks - 1 + products), sent + scales.result * half_step};
}

/// The same in two levels: the sum of each node is cast on its way, with a scale that is not seen from
/// outside. L ranks sum up to at most L max_finite times the largest scale they sent, and the smallest power
/// of two that holds that is below 2 L times this scale; over M nodes, 2 L M = 2 N.
SumBound added_in_two_levels(Format format, int ranks, const SumScales& scales) {
  const double u = unit_roundoff(format);
  if (format == Format::fp32) return added_by_owner(format, ranks, scales);
  const SumBound one_level = added_by_owner(format, ranks, scales);
  const double half_step = smallest_step(format) / 2 * (1 + 0x1p-15);  // INT8's, as above
  const double of_nodes = 2.0 * ranks * scales.sent * half_step * growth(u, 1) * growth(fp32_roundoff, ranks);
  return {(1 + one_level.relative) * (1 + u) * (1 + fp32_roundoff) - 1,
          one_level.absolute * (1 + u) + of_nodes};
}

}  // namespace

SumBound sum_bound(CollectiveChoice collective, Format format, int ranks, const SumScales& scales) {
  switch (collective) {
    case CollectiveChoice::native:
    case CollectiveChoice::allreduce:
    case CollectiveChoice::reduce_scatter:
    case CollectiveChoice::mpi_allreduce:
    case CollectiveChoice::mpi_reduce_scatter:
      return added_codes(format, ranks, scales.sent);
    case CollectiveChoice::a2a:
      return added_by_owner(format, ranks, scales);
    case CollectiveChoice::hierarchical:
      return added_in_two_levels(format, ranks, scales);
    default:
      break;
  }
  throw RuntimeError(fmt::format("no bound for the sums of {}", name_of(collective)));
}

double shared_headroom(Format format, int ranks) {
  return ranks == 1 ? 1.0 : (2.0 * ranks - 1) * (1 + unit_roundoff(format));
}

}  // namespace minigift
