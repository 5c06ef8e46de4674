#include "kernels/format/hadamard.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/format/philox.hpp"
#include "kernels/format/tile_loop.hpp"

#include <cmath>
#include <limits>

namespace minigift {
namespace {

using ScratchRow = Kokkos::View<float*, ExecutionSpace::scratch_memory_space, Kokkos::MemoryUnmanaged>;

// --- Host: one row by one thread, in vector registers ---

/// The stages of strides 1, 2, 4: eight neighbours at a time, eight neighbouring such groups in the lanes.
KOKKOS_FORCEINLINE_FUNCTION void transform_eights(float* x, int n) {
  for_lanes(n / 8, [=](int group) {
    float* const e = x + 8 * group;
    const float a0 = e[0] + e[1], a1 = e[0] - e[1], a2 = e[2] + e[3], a3 = e[2] - e[3];
    const float a4 = e[4] + e[5], a5 = e[4] - e[5], a6 = e[6] + e[7], a7 = e[6] - e[7];
    const float b0 = a0 + a2, b1 = a1 + a3, b2 = a0 - a2, b3 = a1 - a3;
    const float b4 = a4 + a6, b5 = a5 + a7, b6 = a4 - a6, b7 = a5 - a7;
    e[0] = b0 + b4;
    e[1] = b1 + b5;
    e[2] = b2 + b6;
    e[3] = b3 + b7;
    e[4] = b0 - b4;
    e[5] = b1 - b5;
    e[6] = b2 - b6;
    e[7] = b3 - b7;
  });
}

/// One stage: pairs that are `stride` apart.
KOKKOS_FORCEINLINE_FUNCTION void transform_pairs(float* x, int n, int stride) {
  for (int first = 0; first < n; first += 2 * stride) {
    float* const low = x + first;
    float* const high = low + stride;
    for_lanes(stride, [=](int i) {
      const float sum = low[i] + high[i], difference = low[i] - high[i];
      low[i] = sum;
      high[i] = difference;
    });
  }
}

/// Two stages, of strides `stride` and 2 stride, in one pass over memory.
KOKKOS_FORCEINLINE_FUNCTION void transform_fours(float* x, int n, int stride) {
  for (int first = 0; first < n; first += 4 * stride) {
    float* const e0 = x + first;
    float* const e1 = e0 + stride;
    float* const e2 = e1 + stride;
    float* const e3 = e2 + stride;
    for_lanes(stride, [=](int i) {
      const float a0 = e0[i] + e1[i], a1 = e0[i] - e1[i], a2 = e2[i] + e3[i], a3 = e2[i] - e3[i];
      e0[i] = a0 + a2;
      e1[i] = a1 + a3;
      e2[i] = a0 - a2;
      e3[i] = a1 - a3;
    });
  }
}

/// The Walsh-Hadamard transform of n = 2^k neighbours, without the factor.
KOKKOS_FORCEINLINE_FUNCTION void transform_block(float* x, int n) {
  int stride = 1;
  if (n >= 8) {
    transform_eights(x, n);
    stride = 8;
  }
  for (; 4 * stride <= n; stride *= 4)
    transform_fours(x, n, stride);
  if (stride < n) transform_pairs(x, n, stride);
}

KOKKOS_FORCEINLINE_FUNCTION void multiply(float* x, const float* by, int count) {
  for_lanes(count, [=](int i) { x[i] *= by[i]; });
}

/// One row of d = q n elements. The second pass works in `room` for a row, in the order of P.
struct HostRow {
  float* x;
  float* room;
  int q, n;

  KOKKOS_FORCEINLINE_FUNCTION void transform(float* in) const {
    for (int block = 0; block < q; ++block)
      transform_block(in + block * n, n);
  }
  KOKKOS_FORCEINLINE_FUNCTION void permute() const {
    for (int r = 0; r < q; ++r)
      for (int c = 0; c < n; ++c)
        room[c * q + r] = x[r * n + c];
  }
  KOKKOS_FORCEINLINE_FUNCTION void restore() const {
    for (int r = 0; r < q; ++r)
      for (int c = 0; c < n; ++c)
        x[r * n + c] = room[c * q + r];
  }
  KOKKOS_FORCEINLINE_FUNCTION void pass(int index, const float* signs, bool inverse) const {
    if (!inverse) multiply(x, signs + index * q * n, q * n);
    if (index == 0 || q == 1) {
      transform(x);
    } else {
      permute();
      transform(room);
      restore();
    }
    if (inverse) multiply(x, signs + index * q * n, q * n);
  }
};

// --- GPU: one row by a team, in its fast memory ---

/// One row in `x`; place i of the second pass is element (i % q) n + i / q.
struct DeviceRow {
  float* x;
  int q, n;

  KOKKOS_FORCEINLINE_FUNCTION int element(int place, bool permuted) const {
    return permuted ? place % q * n + place / q : place;
  }
  KOKKOS_FORCEINLINE_FUNCTION void multiply(const TeamMember& team, const float* by) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, q * n), [&](int i) { x[i] *= by[i]; });
    team.team_barrier();
  }
  KOKKOS_FORCEINLINE_FUNCTION void pass(const TeamMember& team, int index, const float* signs,
                                        bool inverse) const {
    const bool permuted = index == 1 && q > 1;
    if (!inverse) multiply(team, signs + index * q * n);
    for (int stride = 1; stride < n; stride *= 2) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, q * n / 2), [&](int pair) {
        const int place = 2 * pair - pair % stride;  // pairs of a block of 2 stride are neighbours
        const int low = element(place, permuted), high = element(place + stride, permuted);
        const float sum = x[low] + x[high], difference = x[low] - x[high];
        x[low] = sum;
        x[high] = difference;
      });
      team.team_barrier();
    }
    if (inverse) multiply(team, signs + index * q * n);
  }
};

struct Rotate {
  Matrix<float> w;
  Vector<const float> signs;
  int q, n, passes, level;
  bool inverse;

  KOKKOS_FUNCTION void operator()(const TeamMember& team) const {
    float* const row = &w(team.league_rank(), 0);
    const int d = q * n;
    const ScratchRow scratch(team.team_scratch(level), static_cast<std::size_t>(d));
    float* const room = scratch.data();
    if constexpr (scalar_lanes) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, d), [&](int i) { room[i] = row[i]; });
      team.team_barrier();
      const DeviceRow line{room, q, n};
      for (int step = 0; step < passes; ++step)
        line.pass(team, inverse ? passes - 1 - step : step, signs.data(), inverse);
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, d), [&](int i) { row[i] = room[i]; });
    } else {
      const HostRow line{row, room, q, n};
      for (int step = 0; step < passes; ++step)
        line.pass(inverse ? passes - 1 - step : step, signs.data(), inverse);
    }
  }
};

void rotate(const Matrix<float>& w, const Hadamard& hadamard, bool inverse) {
  const std::int64_t m = extent(w, 0), d = extent(w, 1);
  require(d == hadamard.dimension, "Hadamard rotation of dimension {} on a matrix of shape ({}, {})",
          hadamard.dimension, m, d);
  if (m == 0) return;
  Team policy = tile_policy(m);
  const std::int64_t bytes = static_cast<std::int64_t>(ScratchRow::shmem_size(static_cast<std::size_t>(d)));
  const int level = bytes <= Team::scratch_size_max(0) ? 0 : 1;
  require(bytes <= Team::scratch_size_max(level),
          "Hadamard rotation of dimension {}: at most {} bytes per row", d, Team::scratch_size_max(level));
  policy.set_scratch_size(level, Kokkos::PerTeam(static_cast<int>(bytes)));
  const auto n = static_cast<int>(hadamard.width), q = static_cast<int>(d / hadamard.width);
  Kokkos::parallel_for("minigift::hadamard", policy,
                       Rotate{w, hadamard.signs, q, n, hadamard.passes, level, inverse});
}

}  // namespace

Hadamard make_hadamard(std::int64_t d, std::uint64_t seed, int passes) {
  require(d > 0 && d % 2 == 0, "Hadamard rotation: the dimension must be even, not {}", d);
  require(d <= std::numeric_limits<int>::max() / 2, "Hadamard rotation: dimension {} exceeds {}", d,
          std::numeric_limits<int>::max() / 2);
  require(passes == 1 || passes == 2, "Hadamard rotation: 1 or 2 passes, not {}", passes);
  Hadamard hadamard{d, d & -d, passes,
                    Vector<float>("minigift::hadamard_signs", static_cast<std::size_t>(passes * d))};
  const auto host = host_like(hadamard.signs);
  const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(hadamard.width)));
  const PhiloxKey key = philox_key(seed, 0, static_cast<std::uint32_t>(d), 0x48444844u);
  for (std::int64_t i = 0; i < size(host); ++i)
    host(i) = philox_bits(key, i / 32) >> (i % 32) & 1u ? -factor : factor;
  copy(hadamard.signs, host);
  return hadamard;
}

void apply_hadamard(const Matrix<float>& w, const Hadamard& hadamard) {
  rotate(w, hadamard, false);
}

void apply_inverse_hadamard(const Matrix<float>& w, const Hadamard& hadamard) {
  rotate(w, hadamard, true);
}

}  // namespace minigift
