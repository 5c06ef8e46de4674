#pragma once
// Sums of codes by the MPI library: what it calls for a pair of codes, as a user-defined MPI_Op.

#include "kernels/format/format.hpp"

#include <mpi.h>

#include <array>

namespace minigift {

/// The types and operations that MPI_Allreduce needs for each format. fp32 is MPI's own MPI_FLOAT and
/// MPI_SUM. bf16, e4m3 and e5m2 are integers of two or one bytes and an operation of ours, which MPI calls
/// with as many codes as it likes:
///
///   y <- round(float(x) + float(y)),    x from the lower ranks
///
/// one addition and one rounding (nearest even; FP8 saturating), as native_add of
/// kernels/format/quantize.hpp. It is declared not to commute, so that MPI keeps the order of the ranks;
/// where it puts the parentheses is its own choice, and so is the sum, for these additions are not
/// associative. Host memory only.
class CodeSum {
 public:
  CodeSum() = default;
  /// MPI must not have been finalised.
  ~CodeSum();
  CodeSum(const CodeSum&) = delete;
  CodeSum& operator=(const CodeSum&) = delete;

  /// Throws RuntimeError for int8, whose codes cannot be added.
  static MPI_Datatype type(Format format);
  /// Made on first use.
  MPI_Op operation(Format format);

 private:
  std::array<MPI_Op, 3> operations_ = {MPI_OP_NULL, MPI_OP_NULL, MPI_OP_NULL};
};

}  // namespace minigift
