#pragma once
// What the model tests share: small shapes, batches of tokens, host copies and distances.

#include "kernels/view.hpp"
#include "miniapp/model/llama.hpp"

#include <cstdint>
#include <vector>

namespace minigift {

/// Device tokens and targets of one micro-batch.
struct Batch {
  Vector<const std::int32_t> tokens;   // (R)
  Vector<const std::int32_t> targets;  // (R)
};

Vector<const std::int32_t> to_device(const std::vector<std::int32_t>& values);

/// `sequences` rows of T+1 tokens, drawn from a hash of (stream, position); targets are the tokens one later.
struct TokenRows {
  std::int64_t sequences, T;
  std::vector<std::int32_t> rows;  // (sequences, T+1)
  /// Sequences [first, first + count) as a micro-batch.
  Batch batch(std::int64_t first, std::int64_t count) const;
};
TokenRows make_tokens(std::int64_t stream, std::int64_t sequences, std::int64_t T, std::int64_t vocabulary);

/// 64-bit hash of (stream, element), the finalizer of SplitMix64; tests/golden/make_golden.py has the same.
std::uint64_t hash64(std::int64_t stream, std::int64_t element);
/// Uniform in [-1, 1) on multiples of 2^-23.
double hash_uniform(std::int64_t stream, std::int64_t element);

/// Two layers of width 64 with four heads: the smallest shape that has everything.
LlamaShape small_shape();
/// Grouped-query attention and extents that are no multiples of anything convenient.
LlamaShape odd_shape();

/// Weights of every tensor: uniform in [-1/4, 1/4) from hash stream = registry index, norms 1 + the same.
/// Large enough that softmax and SwiGLU are far from linear.
template <class S>
void set_hashed_weights(Llama<S>& model);

template <class T>
std::vector<T> to_host(const Vector<T>& values);
template <class T>
std::vector<T> to_host(const Matrix<T>& values);

/// ||a - b|| / ||b||, and a.b / (||a|| ||b||), in double.
template <class A, class B>
double relative_distance(const std::vector<A>& a, const std::vector<B>& b);
template <class A, class B>
double cosine(const std::vector<A>& a, const std::vector<B>& b);
template <class A>
double norm(const std::vector<A>& a);

}  // namespace minigift
