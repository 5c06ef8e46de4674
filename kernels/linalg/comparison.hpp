#pragma once
// How far an array is from the one it should be: the four metrics of GIFT (arXiv:2607.07494, section V-A,
// Eq. 21 and following) and the sums they are made of, accumulated in double.

#include "kernels/view.hpp"

#include <cstdint>

namespace minigift {

/// Sums over elements of an approximation v of a reference m. Sums of disjoint ranges add, the maximum takes
/// the larger.
struct ComparisonSums {
  std::int64_t elements = 0;
  double difference = 0.0;  ///< sum (v - m)^2
  double reference = 0.0;   ///< sum m^2
  double values = 0.0;      ///< sum v^2
  double product = 0.0;     ///< sum v m
  double maximum = 0.0;     ///< max |v - m|, MaxErr; NaN elements make the sums NaN

  ComparisonSums& operator+=(const ComparisonSums& other);

  /// ||v - m|| / ||m||, RelL2; 0 where both are zero, infinite where only m is.
  double relative_l2() const;
  /// <v, m> / (||v|| ||m||), Cos; 1 where both are zero, 0 where one is.
  double cosine() const;
  /// ||v - m||^2 / elements, MSE.
  double mean_square() const;
  /// ||v|| / ||m||; 1 where both are zero.
  double norm_ratio() const;
};

/// Extents must be equal (RuntimeError). The host waits for the result. Reference is float or double. Reads
/// both arrays twice.
template <class Reference>
ComparisonSums compare(const Vector<const float>& values, const Vector<const Reference>& reference);

}  // namespace minigift
