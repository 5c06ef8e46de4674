#include "kernels/linalg/comparison.hpp"

#include "kernels/device/stream.hpp"
#include "kernels/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace minigift {
ComparisonSums& ComparisonSums::operator+=(const ComparisonSums& other) {
  elements += other.elements;
  difference += other.difference;
  reference += other.reference;
  values += other.values;
  product += other.product;
  maximum = std::max(maximum, other.maximum);
  return *this;
}

double ComparisonSums::relative_l2() const {
  if (reference > 0.0) return std::sqrt(difference / reference);
  return difference > 0.0 ? std::numeric_limits<double>::infinity() : std::sqrt(difference);
}

double ComparisonSums::cosine() const {
  if (reference > 0.0 && values > 0.0) return product / std::sqrt(reference * values);
  return reference == values ? 1.0 : 0.0;
}

double ComparisonSums::mean_square() const {
  return elements > 0 ? difference / static_cast<double>(elements) : 0.0;
}

double ComparisonSums::norm_ratio() const {
  if (reference > 0.0) return std::sqrt(values / reference);
  return values > 0.0 ? std::numeric_limits<double>::infinity() : 1.0;
}

template <class Reference>
ComparisonSums compare(const Vector<const float>& values, const Vector<const Reference>& reference) {
  require(size(values) == size(reference), "{} values cannot be compared with {}", size(values),
          size(reference));
  ComparisonSums sums;
  sums.elements = size(values);
  Kokkos::parallel_reduce(
      "minigift::compare_sums", range(size(values)),
      KOKKOS_LAMBDA(const std::int64_t i, double& d, double& r, double& v, double& p) {
        const double value = static_cast<double>(values(i));
        const double exact = static_cast<double>(reference(i));
        const double difference = value - exact;
        d += difference * difference;
        r += exact * exact;
        v += value * value;
        p += value * exact;
      },
      sums.difference, sums.reference, sums.values, sums.product);
  Kokkos::parallel_reduce(
      "minigift::compare_maximum", range(size(values)),
      KOKKOS_LAMBDA(const std::int64_t i, double& largest) {
        const double difference = static_cast<double>(values(i)) - static_cast<double>(reference(i));
        const double magnitude = difference < 0.0 ? -difference : difference;
        if (magnitude > largest) largest = magnitude;
      },
      Kokkos::Max<double>(sums.maximum));
  return sums;
}

template ComparisonSums compare(const Vector<const float>&, const Vector<const float>&);
template ComparisonSums compare(const Vector<const float>&, const Vector<const double>&);

}  // namespace minigift
