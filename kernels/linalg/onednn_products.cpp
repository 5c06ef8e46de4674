// Products through oneDNN. Compiled to nothing where oneDNN was not found.
//
// FP32 goes through dnnl_sgemm: at the shapes of training it was never slower than 0.9 of the matmul
// primitive and up to 1.3 times as fast at narrow results, and it needs no set-up. bfloat16 has no such
// routine: its matmul primitives are kept by shape, since making one takes longer than a small product.

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
    return shape.m == other.shape.m && shape.n == other.shape.n && shape.k == other.shape.k &&
           shape.transpose_a == other.shape.transpose_a && shape.transpose_b == other.shape.transpose_b &&
           bit_cast<std::uint32_t>(alpha) == bit_cast<std::uint32_t>(other.alpha) &&
           bit_cast<std::uint32_t>(beta) == bit_cast<std::uint32_t>(other.beta);
  }
};

struct PrimitiveKeyHash {
  std::size_t operator()(const PrimitiveKey& key) const {
    std::uint64_t hash = 0;
    const auto mix = [&hash](std::uint64_t word) {
      hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
      hash ^= hash >> 29;
    };
    mix(static_cast<std::uint64_t>(key.shape.m));
    mix(static_cast<std::uint64_t>(key.shape.n));
    mix(static_cast<std::uint64_t>(key.shape.k));
    mix((key.shape.transpose_a ? 1u : 0u) + (key.shape.transpose_b ? 2u : 0u));
    mix(bit_cast<std::uint32_t>(key.alpha));
    mix(bit_cast<std::uint32_t>(key.beta));
    return static_cast<std::size_t>(hash);
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

/// oneDNN 3 dropped the operation descriptor and the constant output scale of oneDNN 2.
dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const dnnl::memory::desc& a,
                                      const dnnl::memory::desc& b, const dnnl::memory::desc& c, float alpha,
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
  return {engine, a, b, c, attributes};
#else
  return {dnnl::matmul::desc(a, b, c), attributes, engine};
#endif
}

Bfloat16Product make_product(const dnnl::engine& engine, const PrimitiveKey& key) {
  using dnnl::memory;
  const ProductShape& shape = key.shape;
  const memory::dims strides_a = shape.transpose_a ? memory::dims{1, shape.m} : memory::dims{shape.k, 1};
  const memory::dims strides_b = shape.transpose_b ? memory::dims{1, shape.k} : memory::dims{shape.n, 1};
  const memory::desc a({shape.m, shape.k}, memory::data_type::bf16, strides_a);
  const memory::desc b({shape.k, shape.n}, memory::data_type::bf16, strides_b);
  const memory::desc c({shape.m, shape.n}, memory::data_type::f32, memory::dims{shape.n, 1});
  const dnnl::matmul::primitive_desc description = describe(engine, a, b, c, key.alpha, key.beta);
  return {dnnl::matmul(description), memory(a, engine, nullptr), memory(b, engine, nullptr),
          memory(c, engine, nullptr), description.impl_info_str()};
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
