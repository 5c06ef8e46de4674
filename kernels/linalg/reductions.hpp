#pragma once
// Sums of squares, accumulated in double: no overflow, and results that do not depend on the caller's
// scaling. Instantiated for float, double and bfloat16. Deterministic for a given number of threads.

#include "kernels/format/bfloat16.hpp"
#include "kernels/view.hpp"

namespace minigift {

/// sum_i x_i^2.
template <class T>
double sum_of_squares(const Vector<const T>& x);

/// sum(0) = sum_i x_i^2, left where kernels find it: the host does not wait.
template <class T>
void sum_of_squares_into(const Vector<const T>& x, const Vector<double>& sum);

/// sums(j) = sum_i a(i, j)^2, a (m, n), sums (n).
template <class T>
void column_sums_of_squares(const Matrix<const T>& a, const Vector<double>& sums);

/// sums(i) = sum_j a(i, j)^2, a (m, n), sums (m).
template <class T>
void row_sums_of_squares(const Matrix<const T>& a, const Vector<double>& sums);

/// sum_i x_i y_i; extents must be equal.
double dot(const Vector<const double>& x, const Vector<const double>& y);

}  // namespace minigift
