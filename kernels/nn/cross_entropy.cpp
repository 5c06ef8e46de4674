#include "kernels/nn/cross_entropy.hpp"

#include "kernels/nn/indices.hpp"
#include "kernels/nn/row.hpp"

#include <Kokkos_NumericTraits.hpp>

namespace minigift {
namespace {

template <class S>
void require_rows(const char* layer, const ConstMatrix<S>& logits, const Vector<const std::int32_t>& targets,
                  const Vector<S>& loss) {
  require_length(layer, "targets", targets, extent(logits, 0));
  require_length(layer, "loss", loss, extent(logits, 0));
  require_indices("target", targets, extent(logits, 1));
}

/// log(sum exp(logits)) - logits[target], from the row maximum and the sum of exponentials relative to it.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION S row_loss(double sum, S maximum, S target_logit) {
  return static_cast<S>(math::log(sum) + (static_cast<double>(maximum) - static_cast<double>(target_logit)));
}

/// The largest of a row and the sum of exponentials relative to it.
template <class S>
struct Softmax {
  S maximum;
  double sum;
};

/// Both in one pass over the row, for a GPU: every thread keeps a running maximum and the sum relative to it.
/// A NaN makes the sum NaN.
template <class S>
KOKKOS_FORCEINLINE_FUNCTION Softmax<S> running_softmax(const TeamMember& team, const S* row, std::int64_t V) {
  constexpr S lowest = -Kokkos::Experimental::finite_max<S>::value;  // not minus infinity: inf - inf is NaN
  S maximum = lowest;
  double sum = 0;
  for (std::int64_t v = team.team_rank(); v < V; v += team.team_size()) {
    const S x = row[v];
    if (x > maximum) {
      sum = sum * static_cast<double>(math::exp(maximum - x)) + 1;
      maximum = x;
    } else {
      sum += static_cast<double>(math::exp(x - maximum));
    }
  }
  S largest = maximum;
  team.team_reduce(Kokkos::Max<S>(largest));
  sum *= static_cast<double>(math::exp(maximum - largest));
  team.team_reduce(Kokkos::Sum<double>(sum));
  return {largest, sum};
}

/// Bytes per logit: on a host 4 + 8 + 8 of which the cache serves most, on a GPU 4 + 8.
template <class S>
struct CrossEntropy {
  Matrix<S> logits;
  Vector<const std::int32_t> targets;
  S gradient_scale;
  Vector<S> loss;

  KOKKOS_FUNCTION void operator()(const TeamMember& team) const {
    const std::int64_t r = team.league_rank(), V = static_cast<std::int64_t>(logits.extent(1));
    S* const row = &logits(r, 0);
    const std::int64_t target = targets(r);
    const S target_logit = row[target];
    Softmax<S> softmax{};
    if constexpr (scalar_lanes) {
      softmax = running_softmax<S>(team, row, V);
      const S maximum = softmax.maximum;
      const S factor = static_cast<S>(static_cast<double>(gradient_scale) / softmax.sum);
      row_for(team, V, [&](std::int64_t v) { row[v] = math::exp(row[v] - maximum) * factor; });
    } else {
      const S maximum = row_max<S>(team, V, [&](std::int64_t v) { return row[v]; });
      const double sum =
          row_sum<S>(team, V, [&](std::int64_t v) { return row[v] = math::exp(row[v] - maximum); });
      const S factor = static_cast<S>(static_cast<double>(gradient_scale) / sum);
      row_for(team, V, [&](std::int64_t v) { row[v] *= factor; });
      softmax = {maximum, sum};
    }
    team.team_barrier();
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      row[target] -= gradient_scale;
      loss(r) = row_loss(softmax.sum, softmax.maximum, target_logit);
    });
  }
};

template <class S>
struct CrossEntropyLoss {
  ConstMatrix<S> logits;
  Vector<const std::int32_t> targets;
  Vector<S> loss;

  KOKKOS_FUNCTION void operator()(const TeamMember& team) const {
    const std::int64_t r = team.league_rank(), V = static_cast<std::int64_t>(logits.extent(1));
    const S* const row = &logits(r, 0);
    Softmax<S> softmax{};
    if constexpr (scalar_lanes) {
      softmax = running_softmax<S>(team, row, V);
    } else {
      const S maximum = row_max<S>(team, V, [&](std::int64_t v) { return row[v]; });
      softmax = {maximum, row_sum<S>(team, V, [&](std::int64_t v) { return math::exp(row[v] - maximum); })};
    }
    Kokkos::single(Kokkos::PerTeam(team),
                   [&]() { loss(r) = row_loss(softmax.sum, softmax.maximum, row[targets(r)]); });
  }
};

}  // namespace

template <class S>
void cross_entropy(const Matrix<S>& logits, const Vector<const std::int32_t>& targets,
                   std::type_identity_t<S> gradient_scale, const Vector<S>& loss) {
  require_rows<S>("cross_entropy", logits, targets, loss);
  Kokkos::parallel_for("minigift::cross_entropy", row_policy(extent(logits, 0), extent(logits, 1)),
                       CrossEntropy<S>{logits, targets, gradient_scale, loss});
}

template <class S>
void cross_entropy_loss(const ConstMatrix<S>& logits, const Vector<const std::int32_t>& targets,
                        const Vector<S>& loss) {
  require_rows<S>("cross_entropy_loss", logits, targets, loss);
  Kokkos::parallel_for("minigift::cross_entropy_loss", row_policy(extent(logits, 0), extent(logits, 1)),
                       CrossEntropyLoss<S>{logits, targets, loss});
}

#define MINIGIFT_INSTANTIATE(S)                                                                             \
  template void cross_entropy<S>(const Matrix<S>&, const Vector<const std::int32_t>&, S, const Vector<S>&); \
  template void cross_entropy_loss<S>(const ConstMatrix<S>&, const Vector<const std::int32_t>&,             \
                                      const Vector<S>&);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)

}  // namespace minigift
