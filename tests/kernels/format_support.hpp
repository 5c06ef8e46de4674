#pragma once
// Helpers of the format tests.

#include "kernels/format/philox.hpp"
#include "kernels/view.hpp"

#include <Kokkos_Core.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace minigift::test {

/// A device vector with the contents of a host one, and back.
template <class T>
Vector<T> to_device(const std::vector<T>& values) {
  const Vector<T> device(Kokkos::view_alloc(Kokkos::WithoutInitializing, "test"), values.size());
  Kokkos::deep_copy(device, HostVector<const T>(values.data(), values.size()));
  return device;
}
template <class T>
std::vector<std::remove_const_t<T>> to_host(const Vector<T>& device) {
  std::vector<std::remove_const_t<T>> values(device.size());
  Kokkos::deep_copy(HostVector<std::remove_const_t<T>>(values.data(), values.size()), device);
  return values;
}

/// Normal values of standard deviation `deviation`.
inline std::vector<float> normal_values(std::int64_t count, float deviation, std::uint64_t seed) {
  const PhiloxKey key = philox_key(seed, 0, 0, 0);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = deviation * philox_normal(key, i);
  }
  return values;
}

inline float next_up(float value) {
  return std::nextafter(value, std::numeric_limits<float>::infinity());
}
inline float next_down(float value) {
  return std::nextafter(value, -std::numeric_limits<float>::infinity());
}
inline std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
inline float float_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

/// ||a - b|| / ||b|| in double.
inline double relative_l2(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = double{a[i]} - double{b[i]};
    difference += d * d;
    norm += double{b[i]} * double{b[i]};
  }
  return std::sqrt(difference / norm);
}

}  // namespace minigift::test
