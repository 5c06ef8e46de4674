#pragma once
// The scalars by which a factorization on a device is judged: each is one reduction on the current stream,
// and the host waits for its result. Only factorizations that leave their matrices on the device need them;
// they run on every backend, so that a host can test them.

#include "kernels/device/memory.hpp"
#include "kernels/linalg/pieces.hpp"
#include "kernels/math.hpp"
#include "kernels/slice.hpp"
#include "kernels/view.hpp"

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace minigift::linalg {

/// The elements of a contiguous matrix, to be read.
template <class S>
Vector<const std::remove_const_t<S>> all_of(const Matrix<S>& a) {
  return Vector<const std::remove_const_t<S>>(a.data(), a.size());
}

/// One element on the host.
template <class S>
S element(const Vector<const S>& x, std::int64_t i) {
  return on_host(slice(x, i, 1))(0);
}

namespace detail {

template <class S>
KOKKOS_FORCEINLINE_FUNCTION S magnitude(S value) {
  return value < S(0) ? -value : value;
}
constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
inline std::int64_t index_or_minus_one(std::int64_t found) {
  return found == none ? -1 : found;
}

}  // namespace detail

/// Lowest index of an element that is infinite or not a number; -1 if there is none.
template <class S>
std::int64_t first_not_finite(const Vector<const S>& x) {
  std::int64_t found = detail::none;
  Kokkos::parallel_reduce(
      "minigift::first_not_finite", range(size(x)),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& first) {
        const S difference = x(i) - x(i);  // not a number for what we look for
        if (!(difference == S(0)) && i < first) first = i;
      },
      Kokkos::Min<std::int64_t>(found));
  return detail::index_or_minus_one(found);
}

/// Lowest i with a(i, i) = 0; -1 if there is none. a is square.
template <class S>
std::int64_t first_zero_on_diagonal(const Matrix<const S>& a) {
  std::int64_t found = detail::none;
  Kokkos::parallel_reduce(
      "minigift::first_zero_on_diagonal", range(extent(a, 0)),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& first) {
        if (a(i, i) == S(0) && i < first) first = i;
      },
      Kokkos::Min<std::int64_t>(found));
  return detail::index_or_minus_one(found);
}

/// max|x_i|, infinity if an element is not a number.
template <class S>
S largest_magnitude(const Vector<const S>& x) {
  const S infinity = std::numeric_limits<S>::infinity();
  S found = 0;
  Kokkos::parallel_reduce(
      "minigift::largest_magnitude", range(size(x)),
      KOKKOS_LAMBDA(const std::int64_t i, S& largest) {
        const S value = x(i) == x(i) ? detail::magnitude(x(i)) : infinity;
        if (value > largest) largest = value;
      },
      Kokkos::Max<S>(found));
  return found > S(0) ? found : S(0);  // nothing to look at leaves the smallest number
}

/// max(0, a(i, i)). a is square.
template <class S>
S largest_diagonal(const Matrix<const S>& a) {
  S found = 0;
  Kokkos::parallel_reduce(
      "minigift::largest_diagonal", range(extent(a, 0)),
      KOKKOS_LAMBDA(const std::int64_t i, S& largest) {
        if (a(i, i) > largest) largest = a(i, i);
      },
      Kokkos::Max<S>(found));
  return found > S(0) ? found : S(0);
}

/// Scaled by the largest element, so that squares neither overflow nor vanish.
template <class S>
S frobenius_norm(const Vector<const S>& x) {
  const S scale = largest_magnitude(x);
  if (!(scale > S(0))) return 0;
  double total = 0;
  Kokkos::parallel_reduce(
      "minigift::frobenius_norm", range(size(x)),
      KOKKOS_LAMBDA(const std::int64_t i, double& sum) {
        const double value = static_cast<double>(x(i)) / static_cast<double>(scale);
        sum += value * value;
      },
      total);
  return scale * static_cast<S>(std::sqrt(total));
}

/// norms(i) = ||row i of a||, scaled like frobenius_norm. One team per row.
template <class S>
void row_norms(const Matrix<const S>& a, const Vector<S>& norms) {
  const std::int64_t columns = extent(a, 1);
  Kokkos::parallel_for(
      "minigift::row_norms", row_teams(extent(a, 0), columns), KOKKOS_LAMBDA(const TeamMember& member) {
        const std::int64_t i = member.league_rank();
        S scale = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(member, columns),
            [&](const std::int64_t j, S& largest) {
              const S value = detail::magnitude(a(i, j));
              if (value > largest) largest = value;
            },
            Kokkos::Max<S>(scale));
        double sum = 0;
        if (scale > S(0)) {
          Kokkos::parallel_reduce(
              Kokkos::TeamThreadRange(member, columns),
              [&](const std::int64_t j, double& partial) {
                const double value = static_cast<double>(a(i, j)) / static_cast<double>(scale);
                partial += value * value;
              },
              sum);
        }
        Kokkos::single(Kokkos::PerTeam(member),
                       [&]() { norms(i) = scale * static_cast<S>(math::library::sqrt(sum)); });
      });
}

/// max |a(i, j)| / (row_scales(i) column_scales(j)) over the elements that are not zero; infinity if an
/// element is not a number, or is not zero where its scale is.
template <class S>
S largest_relative(const Matrix<const S>& a, const Vector<S>& row_scales, const Vector<S>& column_scales) {
  const std::int64_t columns = extent(a, 1);
  const S infinity = std::numeric_limits<S>::infinity();
  S found = 0;
  Kokkos::parallel_reduce(
      "minigift::largest_relative", range(size(a)),
      KOKKOS_LAMBDA(const std::int64_t element, S& largest) {
        const std::int64_t i = element / columns, j = element % columns;
        if (a(i, j) == S(0)) return;
        const S ratio = detail::magnitude(a(i, j)) / (row_scales(i) * column_scales(j));
        const S value = ratio == ratio ? ratio : infinity;
        if (value > largest) largest = value;
      },
      Kokkos::Max<S>(found));
  return found > S(0) ? found : S(0);  // nothing to look at leaves the smallest number
}

}  // namespace minigift::linalg
