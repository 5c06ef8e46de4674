#pragma once
// What the tests over ranks share: deterministic data per rank, and views from it.

#include "kernels/format/format.hpp"
#include "kernels/view.hpp"

#include <cstdint>
#include <random>
#include <vector>

namespace minigift::test {

template <class T>
Vector<T> to_vector(const std::vector<T>& values) {
  Vector<T> vector("test", values.size());
  Kokkos::deep_copy(vector, HostVector<const T>(values.data(), values.size()));
  return vector;
}

template <class T>
std::vector<T> to_host(const Vector<T>& vector) {
  std::vector<T> values(vector.extent(0));
  Kokkos::deep_copy(HostVector<T>(values.data(), values.size()), vector);
  return values;
}

inline std::mt19937_64 generator(int rank, std::int64_t seed) {
  return std::mt19937_64(static_cast<std::uint64_t>(seed) * 1000003ULL + static_cast<std::uint64_t>(rank));
}

inline std::vector<std::uint8_t> random_bytes(int rank, std::int64_t seed, std::int64_t count) {
  auto engine = generator(rank, seed);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  for (auto& byte : bytes)
    byte = static_cast<std::uint8_t>(engine());
  return bytes;
}

/// Random codes of a format: for FP8 all 256 codes with equal probability, so that NaN, saturation and
/// subnormals all occur; for bf16 and fp32 values that differ by many binades, so that nearly every addition
/// rounds.
std::vector<std::uint8_t> random_codes(Format format, int rank, std::int64_t seed, std::int64_t count);

}  // namespace minigift::test
