// Products through oneDNN. Compiled to nothing where oneDNN was not found.
//
// FP32 goes through dnnl_sgemm, which needs no set-up. At the layer shapes of gemm_benchmark it ran between
// 0.92 and 1.16 of the matmul primitive's speed, on average a little ahead; at results a few tens of columns
// wide the ratio varied from 0.86 to 1.4. bfloat16 has no such routine: its matmul primitives are kept by
// shape, since making one takes longer than a small product.

#include "kernels/linalg/host_products.hpp"

#ifdef MINIGIFT_HAVE_ONEDNN

#include "kernels/bit_cast.hpp"
#include "kernels/error.hpp"

#include <cstddef>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

namespace minigift::linalg {
namespace {

/// What a matmul primitive is made for. alpha and beta are compiled into it.
struct PrimitiveKey {
  ProductShape shape;
  float alpha = 1, beta = 0;

  bool operator==(const PrimitiveKey& other) const {
    return shape == other.shape && bit_cast<std::uint32_t>(alpha) == bit_cast<std::uint32_t>(other.alpha) &&
           bit_cast<std::uint32_t>(beta) == bit_cast<std::uint32_t>(other.beta);
  }
};

struct PrimitiveKeyHash {
  std::size_t operator()(const PrimitiveKey& key) const {
    return static_cast<std::size_t>(
        hash_of(key.shape, bit_cast<std::uint32_t>(key.alpha), bit_cast<std::uint32_t>(key.beta)));
  }
};

/// A primitive with memory objects whose pointers are set before each execution.
struct Bfloat16Product {
  dnnl::matmul primitive;
  dnnl::memory a, b, c;
  std::string implementation;
};

struct Bfloat16Products {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::unordered_map<PrimitiveKey, Bfloat16Product, PrimitiveKeyHash> made;
};

/// Descriptions of a (m, k), b (k, n), c (m, n); extents left for run time where `known` is false.
struct Operands {
  dnnl::memory::desc a, b, c;
};
Operands operands(const ProductShape& shape, bool known) {
  using dnnl::memory;
  constexpr memory::dim later = DNNL_RUNTIME_DIM_VAL;
  const memory::dim m = known ? shape.m : later, n = known ? shape.n : later, k = known ? shape.k : later;
  return {memory::desc({m, k}, memory::data_type::bf16,
                       shape.transpose_a ? memory::dims{1, m} : memory::dims{k, 1}),
          memory::desc({k, n}, memory::data_type::bf16,
                       shape.transpose_b ? memory::dims{1, k} : memory::dims{n, 1}),
          memory::desc({m, n}, memory::data_type::f32, memory::dims{n, 1})};
}

/// oneDNN 3 dropped the operation descriptor and the constant output scale of oneDNN 2.
dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const Operands& operands, float alpha,
                                      float beta) {
  dnnl::primitive_attr attributes;
  dnnl::post_ops after;
#if DNNL_VERSION_MAJOR >= 3
  if (alpha != 1.0f) after.append_eltwise(dnnl::algorithm::eltwise_linear, alpha, 0.0f);
#else
  if (alpha != 1.0f) attributes.set_output_scales(0, {alpha});
#endif
  if (beta != 0.0f) after.append_sum(beta);
  attributes.set_post_ops(after);
#if DNNL_VERSION_MAJOR >= 3
  return {engine, operands.a, operands.b, operands.c, attributes};
#else
  return {dnnl::matmul::desc(operands.a, operands.b, operands.c), attributes, engine};
#endif
}

/// oneDNN has two kernels for this: a batch-reduce one made for the shape, which it prefers, and a general
/// one, which it takes when extents are left for run time. Measured on Zen 4 (AVX-512 with bfloat16, one
/// core) at the shapes of training, the general one is 5 to 15 % faster for a transposed first factor
/// (backward weight), which the other copies, and for wide results; it is slower for small products.
bool prefers_general_kernel(const ProductShape& shape, const std::string& first_offer) {
  if (first_offer.find("avx512_core_bf16") == std::string::npos) return false;  // not measured elsewhere
  constexpr double small = 256.0 * 256.0 * 256.0;
  const double volume =
      static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  return volume > small && (shape.transpose_a || (shape.n >= 512 && shape.m >= 1024));
}

Bfloat16Product make_product(const dnnl::engine& engine, const PrimitiveKey& key) {
  using dnnl::memory;
  const Operands known = operands(key.shape, true);
  dnnl::matmul::primitive_desc description = describe(engine, known, key.alpha, key.beta);
  if (prefers_general_kernel(key.shape, description.impl_info_str())) {
    const dnnl::matmul::primitive_desc general =
        describe(engine, operands(key.shape, false), key.alpha, key.beta);
    if (std::string(general.impl_info_str()).find("gemm:jit") != std::string::npos) description = general;
  }
  return {dnnl::matmul(description), memory(known.a, engine, nullptr), memory(known.b, engine, nullptr),
          memory(known.c, engine, nullptr), description.impl_info_str()};
}

Bfloat16Product& find_product(Bfloat16Products& products, const PrimitiveKey& key) {
  // A run uses some tens of shapes. The limit only keeps a caller with ever-changing factors from filling
  // memory.
  constexpr std::size_t most_kept = 1024;
  auto found = products.made.find(key);
  if (found == products.made.end()) {
    if (products.made.size() >= most_kept) products.made.clear();
    found = products.made.emplace(key, make_product(products.engine, key)).first;
  }
  return found->second;
}

/// Per thread, so that no lock is taken; a rank calls from one thread.
Bfloat16Products& bfloat16_products() {
  thread_local Bfloat16Products products;
  return products;
}

}  // namespace

void onednn_product(const ProductShape& shape, float alpha, const float* a, const float* b, float beta,
                    float* c) {
  const dnnl_status_t status = dnnl_sgemm(
      shape.transpose_a ? 'T' : 'N', shape.transpose_b ? 'T' : 'N', shape.m, shape.n, shape.k, alpha, a,
      shape.transpose_a ? shape.m : shape.k, b, shape.transpose_b ? shape.k : shape.n, beta, c, shape.n);
  require(status == dnnl_success, "oneDNN's FP32 product ({} x {}) ({} x {}) failed with status {}", shape.m,
          shape.k, shape.k, shape.n, static_cast<int>(status));
}

void onednn_product(const ProductShape& shape, float alpha, const bfloat16* a, const bfloat16* b, float beta,
                    float* c) {
  try {
    Bfloat16Products& products = bfloat16_products();
    Bfloat16Product& product = find_product(products, {shape, alpha, beta});
    // oneDNN takes inputs through the same handle type as outputs; it does not write to them.
    product.a.set_data_handle(const_cast<bfloat16*>(a));
    product.b.set_data_handle(const_cast<bfloat16*>(b));
    product.c.set_data_handle(c);
    product.primitive.execute(
        products.stream,
        {{DNNL_ARG_SRC, product.a}, {DNNL_ARG_WEIGHTS, product.b}, {DNNL_ARG_DST, product.c}});
    products.stream.wait();
  } catch (const dnnl::error& error) {
    throw RuntimeError(fmt::format("oneDNN's bfloat16 product ({} x {}) ({} x {}) failed: {} (status {})",
                                   shape.m, shape.k, shape.k, shape.n, error.what(),
                                   static_cast<int>(error.status)));
  }
}

bool onednn_multiplies_bfloat16() {
  // The reference code, where nothing else is offered, is slower than FP32 products of widened factors.
  static const std::string name = onednn_bfloat16_implementation();
  static const bool offered = name != "none" && name.rfind("ref", 0) != 0;
  return offered;
}

const char* onednn_bfloat16_implementation() {
  try {
    return find_product(bfloat16_products(), {{256, 256, 256, false, false}, 1.0f, 0.0f})
        .implementation.c_str();
  } catch (const dnnl::error&) {
    return "none";
  }
}

}  // namespace minigift::linalg

#endif
