#pragma once
// Gradients with a set spectrum, tail weight and correlation between ranks.
//
// Every linear layer's input has the second moment
//
//     A = I + V diag(s) V^T,     s_i = spike_strength / i, i = 1 ... spikes,     V (d, spikes) orthonormal
//
// and a layer's gradient, the mean over t tokens of signal and noise, is drawn as
//
//     W = 0.3 M A + sqrt(mean(lambda) / t) Z A^(1/2)        M normal / sqrt(d), Z normal (rows, d)
//
// which has the distribution of delta^T a / t for inputs a of second moment A and output gradients delta =
// 0.3 a M^T + noise (the generator that reproduces the structure of GIFT, arXiv:2607.07494, Table II) without
// forming the t tokens: 4 rows d spikes flop instead of 2 t rows d. Over ranks,
//
//     W_r = sqrt(rho) W_common + sqrt(1 - rho) W_own,r       correlation rho between any two ranks.
//
// Each element is multiplied by exp(tail_weight n - tail_weight^2), n normal: mean square 1, kurtosis 3
// exp(4 tail_weight^2). The factor belongs to the element, the same in W_common and on all ranks, so that it
// does not lower the correlation. Tensors without a known input (embedding, norms) are normal with the
// noise's size.
//
// A function of (seed, tensor, element, rank). The same gradient in every iteration: samples are then of one
// distribution. Memory: one copy of the gradient, V of every site, and R rows of the widest input.

#include "miniapp/step/gradient_source.hpp"

#include <cstdint>
#include <vector>

namespace minigift {

struct SyntheticGradientOptions {
  std::int64_t spikes = 12;
  double spike_strength = 300;
  double tail_weight = 0;
  double rank_correlation = 0.5;
  std::int64_t tokens = 4096;      ///< t, tokens per rank and step
  std::int64_t input_rows = 1024;  ///< R of input()
  std::uint64_t seed = 1;
};

class SyntheticGradients final : public GradientSource {
 public:
  SyntheticGradients(const ParameterRegistry& registry, const SyntheticGradientOptions& options, int rank);

  const ParameterRegistry& registry() const override { return registry_; }
  void load(std::int64_t iteration, const Vector<float>& gradients) override;
  Matrix<const float> input(std::int64_t iteration, int site) override;
  std::string description() const override;
  std::string identity() const override { return "synthetic"; }

 private:
  /// V (d, spikes) of a site, fewer columns where d is smaller.
  Matrix<float> make_basis(int site) const;
  const Matrix<float>& basis(int site) const { return bases_[static_cast<std::size_t>(site)]; }
  /// x (rows, d) <- x (I + V diag(f(s)) V^T)
  void colour(const Matrix<float>& x, const Matrix<const float>& v, double power) const;
  /// values <- values + weight * this tensor's W, drawn with stream `owner` (0 common, 1 + r of rank r).
  void add_gradient(const Parameter& parameter, int index, std::uint32_t owner, double weight,
                    const Matrix<float>& values);
  double spike(std::int64_t i) const { return options_.spike_strength / static_cast<double>(i + 1); }

  ParameterRegistry registry_;
  SyntheticGradientOptions options_;
  int rank_;
  std::vector<Matrix<float>> bases_;  // of the input sites
  Vector<float> gradient_;            // of this rank
  Vector<float> normal_;              // R rows of the widest input, and what is made of them
  Vector<float> input_;
};

}  // namespace minigift
