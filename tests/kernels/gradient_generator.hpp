#pragma once
// A synthetic layer gradient with the structure that GIFT (arXiv:2607.07494, Table II) exploits: inputs with
// a few dominant directions, and a gradient that is part signal (linear in the second moment of the inputs),
// part noise.
//
//     a = z diag(sqrt(lambda)) V^T     (T, d_in)   z normal, V random orthogonal,
//                                                  lambda_i = 1 + spike / i for i <= spikes, else 1
//     delta = signal a M^T + sqrt(mean lambda) noise     (T, d_out)   M normal / sqrt(d_in)
//     W = delta^T a / T                (d_out, d_in)
//
// A function of its seeds alone: `layer_seed` fixes V and M, `token_seed` fixes z and the noise, so that
// several ranks or steps can see one layer with tokens of their own.

#include "kernels/format/format.hpp"
#include "kernels/format/philox.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/linalg/factorize.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/reductions.hpp"
#include "kernels/linalg/workspace.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace minigift::test {

struct GradientOptions {
  std::int64_t d_in = 1024, d_out = 256, tokens = 4096;
  int spikes = 12;
  double spike = 300;
  double signal = 0.3;  ///< 0: pure noise, whose second moment is proportional to that of the inputs
  std::uint64_t layer_seed = 1, token_seed = 1;
};

struct GeneratedGradient {
  Matrix<float> gradient;          ///< W (d_out, d_in)
  Matrix<float> inputs;            ///< a (T, d_in)
  Matrix<float> output_gradients;  ///< delta (T, d_out)
};

/// Standard normal times `factor`, a function of (seed, stream).
template <class S>
Matrix<S> normal_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed, std::uint32_t stream,
                        double factor = 1) {
  const Matrix<S> matrix("normal", static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
  const Vector<S> values = flatten(matrix);
  const PhiloxKey key = philox_key(seed, 0, stream, 0);
  Kokkos::parallel_for(
      "minigift::test_normal", Range(0, size(values)), KOKKOS_LAMBDA(const std::int64_t i) {
        values(i) = static_cast<S>(factor * static_cast<double>(philox_normal(key, i)));
      });
  return matrix;
}

/// V^T (d, d) with row i scaled by sqrt(lambda_i), in FP32, and the mean of lambda.
inline Matrix<float> coloured_basis(const GradientOptions& options, double& mean_lambda) {
  const std::int64_t d = options.d_in;
  const Matrix<double> v = normal_matrix<double>(d, d, options.layer_seed, 1);
  thin_qr(v, Matrix<double>("r", v.extent(0), v.extent(1)));
  const Matrix<float> basis("coloured_basis", v.extent(0), v.extent(1));
  const auto lambda = [spikes = options.spikes, spike = options.spike](std::int64_t i) {
    return i < spikes ? 1 + spike / static_cast<double>(i + 1) : 1.0;
  };
  mean_lambda = 0;
  const Vector<double> roots("roots", v.extent(0));
  const auto host = Kokkos::create_mirror_view(roots);
  for (std::int64_t i = 0; i < d; ++i) {
    mean_lambda += lambda(i) / static_cast<double>(d);
    host(i) = std::sqrt(lambda(i));
  }
  Kokkos::deep_copy(roots, host);
  Kokkos::parallel_for(
      "minigift::test_colour", Range(0, d), KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t j = 0; j < d; ++j)
          basis(i, j) = static_cast<float>(roots(i) * v(j, i));
      });
  return basis;
}

inline GeneratedGradient generate_gradient(const GradientOptions& options) {
  double mean_lambda = 0;
  const Matrix<float> basis = coloured_basis(options, mean_lambda);
  const Matrix<float> m = normal_matrix<float>(options.d_out, options.d_in, options.layer_seed, 2,
                                               1 / std::sqrt(static_cast<double>(options.d_in)));
  const Matrix<float> z = normal_matrix<float>(options.tokens, options.d_in, options.token_seed, 3);
  const auto rows = static_cast<std::size_t>(options.tokens),
             columns = static_cast<std::size_t>(options.d_in);
  const Matrix<float> inputs("inputs", rows, columns);
  gemm<float, float>(Transpose::no, Transpose::no, 1.0f, z, basis, 0.0f, inputs);
  const Matrix<float> delta =
      normal_matrix<float>(options.tokens, options.d_out, options.token_seed, 4, std::sqrt(mean_lambda));
  gemm<float, float>(Transpose::no, Transpose::yes, static_cast<float>(options.signal), inputs, m, 1.0f,
                     delta);
  const Matrix<float> gradient("gradient", static_cast<std::size_t>(options.d_out), columns);
  gemm<float, float>(Transpose::yes, Transpose::no, 1.0f / static_cast<float>(options.tokens), delta, inputs,
                     0.0f, gradient);
  return {gradient, inputs, delta};
}

/// What a cast with one scale for the whole matrix leaves of it.
inline Matrix<float> round_trip(Format format, const Matrix<float>& w) {
  const std::int64_t count = static_cast<std::int64_t>(w.size());
  std::vector<Tile> list;
  append_tiles(list, 0, 0, count, 0);
  const Tiles tiles = make_tiles(list, count, count, 1);
  const Vector<float> amax("amax", 1), scale("scale", 1);
  const Vector<std::uint8_t> codes("codes", w.size() * static_cast<std::size_t>(bytes_per_code(format)));
  const Matrix<float> result("round_trip", w.extent(0), w.extent(1));
  group_amax(flatten(w), tiles, amax);
  scales_from_amax(format, 1.0f, amax, scale);
  quantize(format, Rounding::nearest_even, flatten(w), tiles, scale, codes, Vector<float>(), PhiloxKey{},
           nullptr);
  dequantize(format, codes, tiles, scale, 1.0f, flatten(result));
  return result;
}

/// ||approximation - exact||_F / ||exact||_F.
inline double relative_error(const Matrix<float>& approximation, const Matrix<float>& exact) {
  const Matrix<float> difference("difference", exact.extent(0), exact.extent(1));
  const Vector<float> a = flatten(approximation), b = flatten(exact), c = flatten(difference);
  Kokkos::parallel_for(
      "minigift::test_difference", Range(0, size(c)),
      KOKKOS_LAMBDA(const std::int64_t i) { c(i) = a(i) - b(i); });
  return std::sqrt(sum_of_squares<float>(c) / sum_of_squares<float>(b));
}

}  // namespace minigift::test
