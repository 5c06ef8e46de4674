#include "miniapp/exchange/error_bound.hpp"

#include "kernels/format/roundoff.hpp"

#include <cmath>

namespace minigift {
namespace {

double largest_rounding(const Method& method) {
  if (method.format != Format::int8) return unit_roundoff(method.format);
  // Without blocks the energy of a whole tensor may sit in one element: no useful bound but 1.
  return method.granularity == Granularity::block ? std::sqrt(static_cast<double>(method.scale_block)) / 254.0
                                                  : 1.0;
}

}  // namespace

double exchange_error_bound(const Method& method, int ranks) {
  const double roundings = method.reduction == Reduction::native ? 1.0 + 0.5 * static_cast<double>(ranks)
                           : method.reduction == Reduction::all_to_all ? 2.0
                                                                       : 3.0;
  // Stochastic rounding may miss by a whole unit instead of half of one.
  const double step = method.rounding == Rounding::stochastic ? 2.0 : 1.0;
  const double feedback = method.error_feedback == ErrorFeedback::off ? 1.0 : 2.0;
  return largest_rounding(method) * std::sqrt(roundings) * step * feedback;
}

}  // namespace minigift
