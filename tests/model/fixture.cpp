#include "tests/model/fixture.hpp"

#include "kernels/format/bfloat16.hpp"
#include "kernels/slice.hpp"

#include <cmath>

namespace minigift {

Vector<const std::int32_t> to_device(const std::vector<std::int32_t>& values) {
  const Vector<std::int32_t> device("tokens", values.size());
  const auto host = Kokkos::create_mirror_view(device);
  for (std::size_t i = 0; i < values.size(); ++i)
    host(i) = values[i];
  Kokkos::deep_copy(device, host);
  return device;
}

Batch TokenRows::batch(std::int64_t first, std::int64_t count) const {
  std::vector<std::int32_t> tokens, targets;
  for (std::int64_t b = first; b < first + count; ++b)
    for (std::int64_t t = 0; t < T; ++t) {
      tokens.push_back(rows[static_cast<std::size_t>(b * (T + 1) + t)]);
      targets.push_back(rows[static_cast<std::size_t>(b * (T + 1) + t + 1)]);
    }
  return {to_device(tokens), to_device(targets)};
}

TokenRows make_tokens(std::int64_t stream, std::int64_t sequences, std::int64_t T, std::int64_t vocabulary) {
  TokenRows tokens{sequences, T, {}};
  for (std::int64_t i = 0; i < sequences * (T + 1); ++i)
    tokens.rows.push_back(
        static_cast<std::int32_t>((hash64(stream, i) >> 33) % static_cast<std::uint64_t>(vocabulary)));
  return tokens;
}

std::uint64_t hash64(std::int64_t stream, std::int64_t element) {
  std::uint64_t z = static_cast<std::uint64_t>(stream + 1) * 0x9E3779B97F4A7C15u +
                    static_cast<std::uint64_t>(element) * 0xD1B54A32D192ED03u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

double hash_uniform(std::int64_t stream, std::int64_t element) {
  return static_cast<double>(hash64(stream, element) >> 40) / 8388608.0 - 1.0;
}

LlamaShape small_shape() {
  return {.layers = 2, .hidden = 64, .heads = 4, .kv_heads = 4, .feed_forward = 192, .vocabulary = 256};
}

LlamaShape odd_shape() {
  return {.layers = 3, .hidden = 36, .heads = 6, .kv_heads = 2, .feed_forward = 50, .vocabulary = 101};
}

template <class S>
void set_hashed_weights(Llama<S>& model) {
  const auto host = Kokkos::create_mirror_view(model.parameters());
  Kokkos::deep_copy(host, S(0));
  for (int index = 0; index < model.registry().size(); ++index) {
    const Parameter& parameter = model.registry()[index];
    const double mean = parameter.one_dimensional ? 1.0 : 0.0;
    for (std::int64_t i = 0; i < parameter.size(); ++i)
      host(parameter.offset + i) = static_cast<S>(static_cast<float>(mean + 0.25 * hash_uniform(index, i)));
  }
  Kokkos::deep_copy(model.parameters(), host);
  model.parameters_changed();
}

template <class T>
std::vector<T> to_host(const Vector<T>& values) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
  std::vector<T> copy(host.extent(0));
  for (std::size_t i = 0; i < copy.size(); ++i)
    copy[i] = host(i);
  return copy;
}

template <class T>
std::vector<T> to_host(const Matrix<T>& values) {
  return to_host(flatten(values));
}

template <class A>
double norm(const std::vector<A>& a) {
  double sum = 0.0;
  for (const A& value : a)
    sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

template <class A, class B>
double relative_distance(const std::vector<A>& a, const std::vector<B>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  std::vector<double> difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    difference[i] = static_cast<double>(a[i]) - static_cast<double>(b[i]);
  return norm(difference) / norm(b);
}

template <class A, class B>
double cosine(const std::vector<A>& a, const std::vector<B>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::quiet_NaN();
  double dot = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    dot += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return dot / (norm(a) * norm(b));
}

template void set_hashed_weights(Llama<float>&);
template void set_hashed_weights(Llama<double>&);
#define MINIGIFT_INSTANTIATE(T)                      \
  template std::vector<T> to_host(const Vector<T>&); \
  template std::vector<T> to_host(const Matrix<T>&); \
  template double norm(const std::vector<T>&);       \
  template double relative_distance(const std::vector<T>&, const std::vector<double>&);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)
#undef MINIGIFT_INSTANTIATE
template double relative_distance(const std::vector<float>&, const std::vector<float>&);
template double cosine(const std::vector<float>&, const std::vector<float>&);

}  // namespace minigift
