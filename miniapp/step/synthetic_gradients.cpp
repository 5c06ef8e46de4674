#include "miniapp/step/synthetic_gradients.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/format/philox.hpp"
#include "kernels/linalg/factorize.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/math.hpp"
#include "kernels/slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace minigift {
namespace {

/// Names of random streams: the step of philox_key.
enum Stream : std::uint64_t { basis_stream = 1, signal_stream, noise_stream, tail_stream, input_stream };

void fill_normal(const Vector<float>& values, const PhiloxKey& key, double factor) {
  const auto scale = static_cast<float>(factor);
  Kokkos::parallel_for(
      "minigift::synthetic_normal", range(size(values)),
      KOKKOS_LAMBDA(std::int64_t i) { values(i) = scale * philox_normal(key, i); });
}

void add(const Vector<float>& sum, float weight, const Vector<const float>& values) {
  Kokkos::parallel_for(
      "minigift::synthetic_add", range(size(sum)),
      KOKKOS_LAMBDA(std::int64_t i) { sum(i) += weight * values(i); });
}

/// values(i) *= exp(weight n_i - weight^2), n normal.
void spread_magnitudes(const Vector<float>& values, const PhiloxKey& key, float weight) {
  Kokkos::parallel_for(
      "minigift::synthetic_tail", range(size(values)), KOKKOS_LAMBDA(std::int64_t i) {
        values(i) *= math::exp(weight * philox_normal(key, i) - weight * weight);
      });
}

/// p (rows, k): column i times factor(i).
void scale_columns(const Matrix<float>& p, const Vector<const float>& factor) {
  const std::int64_t columns = extent(p, 1);
  Kokkos::parallel_for(
      "minigift::synthetic_scale", range(size(p)),
      KOKKOS_LAMBDA(std::int64_t i) { p(i / columns, i % columns) *= factor(i % columns); });
}

}  // namespace

SyntheticGradients::SyntheticGradients(const ParameterRegistry& registry,
                                       const SyntheticGradientOptions& options, int rank)
    : registry_(registry),
      options_(options),
      rank_(rank),
      gradient_("minigift::synthetic_gradient", static_cast<std::size_t>(registry.flat_size())) {
  for (std::size_t site = 0; site < registry_.input_sites().size(); ++site)
    bases_.push_back(make_basis(static_cast<int>(site)));
  const double rho = options.rank_correlation;
  for (int t = 0; t < registry_.size(); ++t) {
    const Parameter& p = registry_[t];
    const Matrix<float> values = slice(gradient_, p.offset, p.rows, p.columns);
    if (rho > 0) add_gradient(p, t, 0, std::sqrt(rho), values);
    if (rho < 1) add_gradient(p, t, static_cast<std::uint32_t>(1 + rank), std::sqrt(1 - rho), values);
    if (options.tail_weight > 0) {
      spread_magnitudes(flatten(values),
                        philox_key(options.seed, tail_stream, static_cast<std::uint32_t>(t), 0),
                        static_cast<float>(options.tail_weight));
    }
  }
}

Matrix<float> SyntheticGradients::make_basis(int site) const {
  const std::int64_t d = registry_.input_sites()[static_cast<std::size_t>(site)].width;
  const std::int64_t k = std::min(d, options_.spikes);
  const Matrix<float> v("minigift::synthetic_basis", static_cast<std::size_t>(d),
                        static_cast<std::size_t>(k));
  if (k == 0) return v;
  fill_normal(flatten(v), philox_key(options_.seed, basis_stream, static_cast<std::uint32_t>(site), 0), 1);
  thin_qr(v, Matrix<float>("minigift::synthetic_r", v.extent(1), v.extent(1)));
  return v;
}

void SyntheticGradients::colour(const Matrix<float>& x, const Matrix<const float>& v, double power) const {
  const std::int64_t k = extent(v, 1);
  if (k == 0) return;
  const Vector<float> factor("minigift::synthetic_factor", v.extent(1));
  const auto host = host_like(factor);
  for (std::int64_t i = 0; i < k; ++i)
    host(i) = static_cast<float>(std::pow(1 + spike(i), power) - 1);
  copy(factor, host);
  const Matrix<float> projection("minigift::synthetic_projection", x.extent(0), v.extent(1));
  gemm<float, float>(Transpose::no, Transpose::no, 1.0f, x, v, 0.0f, projection);
  scale_columns(projection, factor);
  gemm<float, float>(Transpose::no, Transpose::yes, 1.0f, projection, v, 1.0f, x);
}

void SyntheticGradients::add_gradient(const Parameter& parameter, int index, std::uint32_t owner,
                                      double weight, const Matrix<float>& values) {
  const auto key = [&](std::uint64_t stream) {
    return philox_key(options_.seed, stream, static_cast<std::uint32_t>(index), owner);
  };
  const Matrix<float> part("minigift::synthetic_part", values.extent(0), values.extent(1));
  const auto tokens = static_cast<double>(options_.tokens);
  const auto d = static_cast<double>(parameter.columns);
  if (parameter.input_site < 0) {
    fill_normal(flatten(part), key(noise_stream), std::sqrt(1 / tokens));
    add(flatten(values), static_cast<float>(weight), flatten(part));
    return;
  }
  const Matrix<float> v = basis(parameter.input_site);
  double mean_lambda = 1;
  for (std::int64_t i = 0; i < extent(v, 1); ++i)
    mean_lambda += spike(i) / d;
  fill_normal(flatten(part), key(signal_stream), 0.3 / std::sqrt(d));
  colour(part, v, 1.0);
  add(flatten(values), static_cast<float>(weight), flatten(part));
  fill_normal(flatten(part), key(noise_stream), std::sqrt(mean_lambda / tokens));
  colour(part, v, 0.5);
  add(flatten(values), static_cast<float>(weight), flatten(part));
}

void SyntheticGradients::load(std::int64_t /*iteration*/, const Vector<float>& gradients) {
  copy(gradients, gradient_);
}

Matrix<const float> SyntheticGradients::input(std::int64_t /*iteration*/, int site) {
  const std::int64_t d = registry_.input_sites()[static_cast<std::size_t>(site)].width;
  const std::int64_t elements = options_.input_rows * d;
  if (size(normal_) < elements) {
    normal_ = Vector<float>("minigift::synthetic_rows", static_cast<std::size_t>(elements));
    input_ = Vector<float>("minigift::synthetic_input", static_cast<std::size_t>(elements));
    fill_normal(normal_, philox_key(options_.seed, input_stream, 0, static_cast<std::uint32_t>(1 + rank_)),
                1);
  }
  const Matrix<float> x = slice(input_, 0, options_.input_rows, d);
  copy(flatten(x), slice(normal_, 0, elements));
  colour(x, basis(site), 0.5);
  return x;
}

std::string SyntheticGradients::description() const {
  return fmt::format(
      "synthetic, second moments with {} eigenvalues 1 + {:g}/i, tail weight {:g}, correlation of ranks {:g}",
      options_.spikes, options_.spike_strength, options_.tail_weight, options_.rank_correlation);
}

}  // namespace minigift
