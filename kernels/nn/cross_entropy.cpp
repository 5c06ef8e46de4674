#include "kernels/nn/cross_entropy.hpp"

#include "kernels/nn/indices.hpp"
#include "kernels/nn/row.hpp"

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

}  // namespace

template <class S>
void cross_entropy(const Matrix<S>& logits, const Vector<const std::int32_t>& targets,
                   std::type_identity_t<S> gradient_scale, const Vector<S>& loss) {
  require_rows<S>("cross_entropy", logits, targets, loss);
  const std::int64_t R = extent(logits, 0), V = extent(logits, 1);
  Kokkos::parallel_for(
      "minigift::cross_entropy", row_policy(R), KOKKOS_LAMBDA(const TeamMember& team) {
        const std::int64_t r = team.league_rank();
        S* const row = &logits(r, 0);
        const std::int64_t target = targets(r);
        const S target_logit = row[target];
        const S maximum = row_max<S>(team, V, [&](std::int64_t v) { return row[v]; });
        team.team_barrier();
        const double sum =
            row_sum<S>(team, V, [&](std::int64_t v) { return row[v] = math::exp(row[v] - maximum); });
        const S factor = static_cast<S>(static_cast<double>(gradient_scale) / sum);
        row_for(team, V, [&](std::int64_t v) { row[v] *= factor; });
        team.team_barrier();
        Kokkos::single(Kokkos::PerTeam(team), [&]() {
          row[target] -= gradient_scale;
          loss(r) = row_loss(sum, maximum, target_logit);
        });
      });
}

template <class S>
void cross_entropy_loss(const ConstMatrix<S>& logits, const Vector<const std::int32_t>& targets,
                        const Vector<S>& loss) {
  require_rows<S>("cross_entropy_loss", logits, targets, loss);
  const std::int64_t R = extent(logits, 0), V = extent(logits, 1);
  Kokkos::parallel_for(
      "minigift::cross_entropy_loss", row_policy(R), KOKKOS_LAMBDA(const TeamMember& team) {
        const std::int64_t r = team.league_rank();
        const S* const row = &logits(r, 0);
        const S maximum = row_max<S>(team, V, [&](std::int64_t v) { return row[v]; });
        const double sum = row_sum<S>(team, V, [&](std::int64_t v) { return math::exp(row[v] - maximum); });
        Kokkos::single(Kokkos::PerTeam(team), [&]() { loss(r) = row_loss(sum, maximum, row[targets(r)]); });
      });
}

#define MINIGIFT_INSTANTIATE(S)                                                                             \
  template void cross_entropy<S>(const Matrix<S>&, const Vector<const std::int32_t>&, S, const Vector<S>&); \
  template void cross_entropy_loss<S>(const ConstMatrix<S>&, const Vector<const std::int32_t>&,             \
                                      const Vector<S>&);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)

}  // namespace minigift
