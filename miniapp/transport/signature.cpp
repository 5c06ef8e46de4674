#include "miniapp/transport/signature.hpp"

#include <fmt/format.h>

#include <string_view>

namespace minigift {
namespace {

// Fowler, Noll, Vo: FNV-1a, 64 bits.
constexpr std::uint64_t offset_basis = 14695981039346656037ULL;
constexpr std::uint64_t prime = 1099511628211ULL;

std::uint64_t mix(std::uint64_t hash, std::uint8_t byte) {
  return (hash ^ byte) * prime;
}
std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  for (const char character : text)
    hash = mix(hash, static_cast<std::uint8_t>(character));
  return mix(hash, std::uint8_t{0});  // so that "ab","c" and "a","bc" differ
}
std::uint64_t mix(std::uint64_t hash, std::int64_t number) {
  for (int byte = 0; byte < 8; ++byte) {
    hash = mix(hash, static_cast<std::uint8_t>(static_cast<std::uint64_t>(number) >> (8 * byte)));
  }
  return hash;
}

}  // namespace

std::uint64_t Signature::hash() const {
  std::uint64_t hash = mix(offset_basis, std::string_view(operation));
  hash = mix(hash, std::string_view(type));
  hash = mix(hash, count);
  return mix(hash, static_cast<std::int64_t>(root));
}

std::string Signature::text() const {
  std::string text = fmt::format("{} {}[{}]", operation, type, count);
  if (root >= 0) text += fmt::format(" from root {}", root);
  return text;
}

}  // namespace minigift
