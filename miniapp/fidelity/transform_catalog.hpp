#pragma once
// Every change of coordinates of GIFT's Tables I and II (arXiv:2607.07494, section V), and those that the
// paper leaves out, by name. T acts on the columns of a gradient W (m, d), S on its rows: U = S W T.

#include "kernels/geometry/dense.hpp"
#include "kernels/geometry/whitening.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace minigift {

enum class Side { none, input, output, both };
enum class Form { identity, diagonal, block, low_rank, full };

struct TransformSpecification {
  std::string name;   ///< "input-lowrank-32": what the paper's tables have; others say how they differ
  std::string group;  ///< "paper", "root", "damping", "exponent", "completion", "rotation"
  Side side = Side::none;
  Form form = Form::identity;
  std::int64_t size = 0;  ///< width of a block or rank
  Root root = Root::symmetric;
  WhiteningOptions options;
  bool hadamard = false;  ///< U is rotated by two signed Hadamard passes over its columns (HDHD)
  std::string meaning;    ///< one line for people
};

/// In the order of the tables. The paper's rows have its exponent 1/2 and symmetric roots; low ranks are
/// completed by the smallest kept eigenvalue, full moments damped by 0.1 and blocks by 0.01 of the mean
/// eigenvalue: with these the tables come out (the paper names none of them).
const std::vector<TransformSpecification>& transform_catalog();
/// Throws UsageError with the nearest name.
const TransformSpecification& find_transform(const std::string& name);

}  // namespace minigift
