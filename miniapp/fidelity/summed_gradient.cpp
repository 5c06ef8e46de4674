#include "miniapp/fidelity/summed_gradient.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/format/philox.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/slice.hpp"
#include "miniapp/fidelity/sum_emulation.hpp"

#include <algorithm>
#include <cmath>

namespace minigift {
namespace {

/// FP64 mean of the rows of x (N, count).
Vector<double> exact_mean(const Matrix<const float>& x) {
  const std::int64_t ranks = extent(x, 0), count = extent(x, 1);
  const Vector<double> mean("minigift::exact_mean", static_cast<std::size_t>(count));
  const double share = 1.0 / static_cast<double>(ranks);
  Kokkos::parallel_for(
      "minigift::exact_mean", range(count), KOKKOS_LAMBDA(const std::int64_t i) {
        double sum = 0.0;
        for (std::int64_t r = 0; r < ranks; ++r)
          sum += static_cast<double>(x(r, i));
        mean(i) = share * sum;
      });
  return mean;
}

}  // namespace

const std::vector<SumScheme>& sum_schemes() {
  static const std::vector<SumScheme> schemes = {SumScheme::ring_synced,      SumScheme::ring_no_headroom,
                                                 SumScheme::tree_synced,      SumScheme::ring_local,
                                                 SumScheme::ring_local_exact, SumScheme::ring_local_synced,
                                                 SumScheme::all_to_all,       SumScheme::all_to_all_bf16};
  return schemes;
}

std::string name(SumScheme scheme) {
  switch (scheme) {
    case SumScheme::ring_synced:
      return "ring synced";
    case SumScheme::ring_no_headroom:
      return "ring synced, no headroom";
    case SumScheme::tree_synced:
      return "tree synced";
    case SumScheme::ring_local:
      return "ring local";
    case SumScheme::ring_local_exact:
      return "ring local, exact scales";
    case SumScheme::ring_local_synced:
      return "ring local, sync step";
    case SumScheme::all_to_all:
      return "a2a carried";
    case SumScheme::all_to_all_bf16:
      break;
  }
  return "a2a carried, bf16 gather";
}

std::string meaning(SumScheme scheme) {
  switch (scheme) {
    case SumScheme::ring_synced:
      return "one scale, codes added hop by hop, headroom N";
    case SumScheme::ring_no_headroom:
      return "the same with headroom 1: sums may saturate";
    case SumScheme::tree_synced:
      return "one scale, codes added in pairs, headroom N";
    case SumScheme::ring_local:
      return "Algorithm 1 as printed: own scale for cast and decode (rank 0's result)";
    case SumScheme::ring_local_exact:
      return "the same with scales amax N / max instead of powers of two";
    case SumScheme::ring_local_synced:
      return "its synchronisation step: own scale for the cast, the largest to decode";
    case SumScheme::all_to_all:
      return "scales sent along, FP32 sum at the owner, cast again";
    case SumScheme::all_to_all_bf16:
      break;
  }
  return "the same, sum gathered in BF16";
}

Matrix<float> resampled_gradients(const Matrix<const float>& recorded, std::int64_t ranks,
                                  std::uint64_t seed) {
  const std::int64_t R = extent(recorded, 0);
  require(R >= 2, "gradients cannot be drawn from {} recorded rank: record at least 2", R);
  const HostMatrix<float> mix("minigift::mix", static_cast<std::size_t>(ranks), static_cast<std::size_t>(R));
  const double spread = 1.0 / std::sqrt(static_cast<double>(R - 1));
  for (std::int64_t i = 0; i < ranks; ++i) {
    const PhiloxKey key = philox_key(seed, static_cast<std::uint64_t>(i), 0, 0);
    double mean = 0;
    for (std::int64_t j = 0; j < R; ++j)
      mean += static_cast<double>(philox_normal(key, j)) / static_cast<double>(R);
    for (std::int64_t j = 0; j < R; ++j) {
      const double z = static_cast<double>(philox_normal(key, j)) - mean;
      mix(i, j) = static_cast<float>(1.0 / static_cast<double>(R) + spread * z);
    }
  }
  const Matrix<float> weights("minigift::mix", mix.extent(0), mix.extent(1));
  copy(weights, mix);
  const Matrix<float> drawn("minigift::resampled", static_cast<std::size_t>(ranks), recorded.extent(1));
  gemm<float, float>(Transpose::no, Transpose::no, 1.0f, weights, recorded, 0.0f, drawn);
  return drawn;
}

std::vector<SumRow> SummedGradientStudy::run(const LayerLabel& label, const Matrix<const float>& gradients,
                                             std::int64_t m, std::int64_t d, bool resampled,
                                             const LayerGeometry& geometry) {
  const auto ranks = static_cast<int>(extent(gradients, 0));
  const Vector<const double> exact = exact_mean(gradients);
  const Matrix<float> coordinates("minigift::coordinates", gradients.extent(0), gradients.extent(1));
  const Vector<float> mean("minigift::mean", exact.extent(0));
  const Matrix<float> as_matrix = slice(mean, 0, m, d);
  std::vector<SumRow> rows;
  for (const TransformSpecification& specification : options_.transforms) {
    if (!missing_moment(specification, geometry).empty()) continue;
    const LayerTransform transform(specification, geometry);
    for (int r = 0; r < ranks; ++r) {
      const Matrix<const float> w = slice(flatten(row_slice(gradients, r, 1)), 0, m, d);
      const Matrix<float> u = slice(flatten(row_slice(coordinates, r, 1)), 0, m, d);
      transform.forward(TransformInput(w, geometry, workspace_), u, workspace_);
    }
    const auto add_row = [&](Format format, const std::string& scheme, double divergence) {
      rows.push_back({.label = label,
                      .ranks = ranks,
                      .resampled = resampled,
                      .transform = specification.name,
                      .format = std::string(name(format)),
                      .scheme = scheme,
                      .sums = compare<double>(mean, exact),
                      .divergence = divergence});
    };
    for (const Format format : options_.formats) {
      SumEmulation emulation(format, coordinates);
      if (format == Format::fp32 || format == Format::bf16) {
        emulation.unscaled_mean(mean);
        transform.inverse(as_matrix, workspace_);
        add_row(format, "ring", 0.0);
        continue;
      }
      for (const SumScheme scheme : sum_schemes()) {
        emulation.mean(scheme, 0, mean);
        const bool own = scheme == SumScheme::ring_local || scheme == SumScheme::ring_local_exact;
        transform.inverse(as_matrix, workspace_);
        add_row(format, name(scheme), own ? emulation.divergence() : 0.0);
      }
    }
  }
  return rows;
}

}  // namespace minigift
