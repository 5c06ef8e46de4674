#include "kernels/format/host_hash.hpp"

#include "kernels/error.hpp"
#include "kernels/format/hash_mix.hpp"

#include <cstring>

namespace minigift {

void HostHash::add(const void* bytes, std::int64_t count) {
  require(length_ % 4 == 0, "hash of host memory: a part after one of {} bytes, no multiple of 4", length_);
  const auto* from = static_cast<const std::uint8_t*>(bytes);
  const std::int64_t words = count / 4;
  const auto first = static_cast<std::uint64_t>(length_ / 4);
  std::uint64_t sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < words; ++i) {
    std::uint32_t word;
    std::memcpy(&word, from + 4 * i, 4);
    sum += hash_mix(first + static_cast<std::uint64_t>(i), word);
  }
  if (count % 4 != 0) {  // the last, incomplete word, padded with zeros
    std::uint32_t word = 0;
    std::memcpy(&word, from + 4 * words, static_cast<std::size_t>(count % 4));
    sum += hash_mix(first + static_cast<std::uint64_t>(words), word);
  }
  sum_ += sum;
  length_ += count;
}

std::uint64_t HostHash::value() const {
  return sum_ + hash_mix(~std::uint64_t{0}, static_cast<std::uint64_t>(length_));
}

std::uint64_t host_content_hash(const void* bytes, std::int64_t count) {
  HostHash hash;
  hash.add(bytes, count);
  return hash.value();
}

std::uint64_t host_content_hash(std::string_view text) {
  return host_content_hash(text.data(), static_cast<std::int64_t>(text.size()));
}

}  // namespace minigift
