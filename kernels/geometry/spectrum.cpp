#include "kernels/geometry/spectrum.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/geometry/damped_power.hpp"
#include "kernels/geometry/entries.hpp"
#include "kernels/geometry/moment.hpp"
#include "kernels/geometry/scale.hpp"
#include "kernels/linalg/factorize.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/workspace.hpp"

#include <algorithm>
#include <cmath>

namespace minigift {
namespace {

const Vector<float>& gains_of(const SpectralWhitening& whitening, Direction direction) {
  return direction == Direction::forward ? whitening.forward : whitening.inverse;
}

void narrow_to(const Matrix<const double>& from, const Matrix<float>& to) {
  geometry::for_each_entry(
      "minigift::narrow_eigenvectors", extent(to, 0), extent(to, 1),
      KOKKOS_LAMBDA(const std::int64_t i, const std::int64_t j) {
        to(i, j) = static_cast<float>(from(i, j));
      });
}

/// Eigenvalues, ascending; the matrix becomes the eigenvectors.
template <class S>
std::vector<double> eigenvalues_of(const Matrix<S>& matrix) {
  const Vector<S> values("minigift::eigenvalues", matrix.extent(0));
  symmetric_eigen(matrix, values);
  const auto host = on_host(values);
  return std::vector<double>(host.data(), host.data() + host.size());
}

/// norms(j) = sum_i (v(j, i) gains(i))^2, one row per iteration.
void weighted_row_norms_on_host(const Matrix<const float>& v, const Vector<const float>& gains,
                                const Vector<double>& norms) {
  const std::int64_t d = extent(v, 1);
  Kokkos::parallel_for(
      "minigift::spectral_row_norms", range(extent(v, 0)), KOKKOS_LAMBDA(const std::int64_t j) {
        const float* const row = &v(j, 0);
        const float* const gain = gains.data();
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t i = 0; i < d; ++i) {
          const double value = static_cast<double>(row[i]) * static_cast<double>(gain[i]);
          sum += value * value;
        }
        norms(j) = sum;
      });
}

/// The same, one team per row.
void weighted_row_norms_on_device(const Matrix<const float>& v, const Vector<const float>& gains,
                                  const Vector<double>& norms) {
  const std::int64_t d = extent(v, 1);
  Kokkos::parallel_for(
      "minigift::spectral_row_norms", linalg::row_teams(extent(v, 0), d),
      KOKKOS_LAMBDA(const TeamMember& team) {
        const std::int64_t j = team.league_rank();
        double total = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, d),
            [&](const std::int64_t i, double& sum) {
              const double value = static_cast<double>(v(j, i)) * static_cast<double>(gains(i));
              sum += value * value;
            },
            total);
        Kokkos::single(Kokkos::PerTeam(team), [&]() { norms(j) = total; });
      });
}

}  // namespace

Spectrum spectrum_of(const Matrix<const double>& a, EigenPrecision precision) {
  const auto moment = on_host(a);
  const std::int64_t d = extent(a, 0);
  Spectrum spectrum;
  spectrum.trace = geometry::check_moment(moment);
  spectrum.vectors = Matrix<float>("minigift::eigenvectors", a.extent(0), a.extent(1));
  const Matrix<float> narrow = spectrum.vectors;
  const bool zero = std::all_of(moment.data(), moment.data() + moment.size(),
                                [](const double value) { return value == 0; });
  if (zero) {
    spectrum.values.assign(a.extent(0), 0.0);
    Kokkos::parallel_for(
        "minigift::set_identity", range(d), KOKKOS_LAMBDA(const std::int64_t i) { narrow(i, i) = 1; });
    return spectrum;
  }
  const Matrix<double> symmetric = geometry::diagonal_block(moment, 0, d);
  if (precision == EigenPrecision::fp32) {
    narrow_to(symmetric, spectrum.vectors);
    spectrum.values = eigenvalues_of(spectrum.vectors);
  } else {
    spectrum.values = eigenvalues_of(symmetric);
    narrow_to(symmetric, spectrum.vectors);
  }
  return spectrum;
}

SpectralWhitening make_spectral_whitening(const Spectrum& spectrum, const WhiteningOptions& options) {
  check_whitening_options(options);
  const std::size_t d = spectrum.values.size();
  require(spectrum.vectors.extent(0) == d && spectrum.vectors.extent(1) == d,
          "whitening of dimension {}: {} eigenvalues, eigenvectors ({}, {})", d, d,
          spectrum.vectors.extent(0), spectrum.vectors.extent(1));
  SpectralWhitening whitening{spectrum.vectors, Vector<float>("minigift::forward", d),
                              Vector<float>("minigift::inverse", d), !(spectrum.trace > 0)};
  if (whitening.is_identity) {
    fill(whitening.forward, 1.0f);
    fill(whitening.inverse, 1.0f);
    return whitening;
  }
  const geometry::DampedPower power(spectrum.values, spectrum.trace / static_cast<double>(d), options);
  const auto forward = host_like(whitening.forward);
  const auto inverse = host_like(whitening.inverse);
  for (std::size_t i = 0; i < d; ++i) {
    forward(i) = static_cast<float>(power.forward(spectrum.values[i]));
    inverse(i) = static_cast<float>(1 / static_cast<double>(forward(i)));
  }
  copy(whitening.forward, forward);
  copy(whitening.inverse, inverse);
  return whitening;
}

void project_input(const Matrix<const float>& w, const Matrix<const float>& vectors, const Matrix<float>& z) {
  require(extent(w, 1) == extent(vectors, 0) && extent(z, 0) == extent(w, 0) && extent(z, 1) == extent(w, 1),
          "projection on {} eigenvectors of a matrix of shape ({}, {}), room for ({}, {})",
          extent(vectors, 1), extent(w, 0), extent(w, 1), extent(z, 0), extent(z, 1));
  gemm<float, float>(Transpose::no, Transpose::no, 1.0f, w, vectors, 0.0f, z);
}

void apply_to_projection(const Matrix<const float>& z, const SpectralWhitening& whitening,
                         Direction direction, const Matrix<float>& to, Vector<float>& workspace) {
  const std::int64_t m = extent(z, 0), d = extent(z, 1);
  require(d == whitening.dimension() && extent(to, 0) == m && extent(to, 1) == d,
          "input transform of dimension {} on a projection of shape ({}, {}), room for ({}, {})",
          whitening.dimension(), m, d, extent(to, 0), extent(to, 1));
  if (size(z) == 0) return;
  reserve(workspace, m * d);
  const Matrix<float> scaled = slice(workspace, 0, m, d);
  const Vector<const float> gains = gains_of(whitening, direction);
  geometry::for_each_entry(
      "minigift::scale_projection", m, d,
      KOKKOS_LAMBDA(const std::int64_t i, const std::int64_t j) { scaled(i, j) = z(i, j) * gains(j); });
  gemm<float, float>(Transpose::no, Transpose::yes, 1.0f, scaled, whitening.vectors, 0.0f, to);
}

void apply_input(const Matrix<float>& w, const SpectralWhitening& whitening, Direction direction,
                 Vector<float>& workspace) {
  const std::int64_t m = extent(w, 0), d = extent(w, 1);
  require(d == whitening.dimension(), "input transform of dimension {} on a matrix of shape ({}, {})",
          whitening.dimension(), m, d);
  if (whitening.is_identity || size(w) == 0) return;
  reserve(workspace, m * d);
  const Matrix<float> z = slice(workspace, 0, m, d);
  gemm<float, float>(Transpose::no, Transpose::no, 1.0f, w, whitening.vectors, 0.0f, z);
  geometry::scale_columns<float>(z, gains_of(whitening, direction));
  gemm<float, float>(Transpose::no, Transpose::yes, 1.0f, z, whitening.vectors, 0.0f, w);
}

void apply_output(const Matrix<float>& w, const SpectralWhitening& whitening, Direction direction,
                  Vector<float>& workspace) {
  const std::int64_t d = extent(w, 0), n = extent(w, 1);
  require(d == whitening.dimension(), "output transform of dimension {} on a matrix of shape ({}, {})",
          whitening.dimension(), d, n);
  if (whitening.is_identity || size(w) == 0) return;
  reserve(workspace, d * n);
  const Matrix<float> z = slice(workspace, 0, d, n);
  gemm<float, float>(Transpose::yes, Transpose::no, 1.0f, whitening.vectors, w, 0.0f, z);
  geometry::scale_rows<float>(z, gains_of(whitening, direction));
  gemm<float, float>(Transpose::no, Transpose::no, 1.0f, whitening.vectors, z, 0.0f, w);
}

void inverse_row_norms(const SpectralWhitening& whitening, const Vector<double>& norms) {
  require(size(norms) == whitening.dimension(), "row norms: {} rows but room for {}", whitening.dimension(),
          size(norms));
  if (whitening.is_identity) return fill(norms, 1.0);
  if constexpr (scalar_lanes)
    weighted_row_norms_on_device(whitening.vectors, whitening.inverse, norms);
  else
    weighted_row_norms_on_host(whitening.vectors, whitening.inverse, norms);
}

}  // namespace minigift
