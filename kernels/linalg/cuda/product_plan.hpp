#pragma once
// What is decided about a product before cuBLASLt is called, in plain numbers: its column-major form and the
// key under which its plan is kept. No CUDA header, so that a host without a GPU can test it.

#include "kernels/linalg/product_shape.hpp"

#include <cstddef>
#include <cstdint>

namespace minigift::linalg::cuda {

/// Elements of the factors and arithmetic of the sums.
///   fp32  float factors and results, FP32 multiplications and sums
///   tf32  float factors and results, multiplied with 10-bit mantissas (TF32), summed in FP32
///   bf16  bfloat16 factors, float results, exact multiplications, summed in FP32
///   fp64  double throughout
enum class ProductKind : std::uint8_t { fp32, tf32, bf16, fp64 };

constexpr const char* name(ProductKind kind) {
  switch (kind) {
    case ProductKind::fp32:
      return "FP32";
    case ProductKind::tf32:
      return "TF32";
    case ProductKind::bf16:
      return "BF16";
    case ProductKind::fp64:
      return "FP64";
  }
  return "unknown";
}

/// A matrix as a column-major library sees it: `rows` neighbours lie next to each other, columns are `rows`
/// elements apart.
struct ColumnMajorMatrix {
  std::int64_t rows = 0, columns = 0;
  bool transpose = false;

  bool operator==(const ColumnMajorMatrix&) const = default;
};

/// The same product for a column-major library. The memory of a row-major matrix, read column by column, is
/// its transpose, and (op(a) op(b))^T = op(b)^T op(a)^T: so b becomes the first factor and a the second, each
/// transposed or not as before, and the result is c^T, (n, m).
struct ColumnMajorProduct {
  ColumnMajorMatrix b, a, c;
};

constexpr ColumnMajorProduct column_major(const ProductShape& shape) {
  ColumnMajorProduct product;
  product.b = shape.transpose_b ? ColumnMajorMatrix{shape.k, shape.n, true}
                                : ColumnMajorMatrix{shape.n, shape.k, false};
  product.a = shape.transpose_a ? ColumnMajorMatrix{shape.m, shape.k, true}
                                : ColumnMajorMatrix{shape.k, shape.m, false};
  product.c = ColumnMajorMatrix{shape.n, shape.m, false};
  return product;
}

/// Alignment that a plan relies on: the largest power of two that divides the address, up to 16 bytes, the
/// widest single access of a GPU. Where a matrix starts beyond that must not decide which algorithm sums it.
inline std::uint32_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  std::uint32_t alignment = 16;
  while (address % alignment != 0)
    alignment /= 2;
  return alignment;
}

/// Everything that a plan, and with it the order of the sums, depends on.
struct PlanKey {
  ProductKind kind = ProductKind::fp32;
  ProductShape shape;
  std::uint32_t alignment_a = 16, alignment_b = 16, alignment_c = 16;

  bool operator==(const PlanKey&) const = default;
};

struct PlanKeyHash {
  std::size_t operator()(const PlanKey& key) const {
    return static_cast<std::size_t>(
        hash_of(key.shape, key.kind, key.alignment_a + 32u * key.alignment_b + 1024u * key.alignment_c));
  }
};

}  // namespace minigift::linalg::cuda
