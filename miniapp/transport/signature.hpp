#pragma once
// What all ranks must agree on before an operation may start.

#include <cstdint>
#include <string>

namespace minigift {

struct Signature {
  const char* operation = "";
  std::string type;  ///< element type or number format
  std::int64_t count = 0;
  int root = -1;  ///< -1: no root

  /// 64-bit FNV-1a over all members.
  std::uint64_t hash() const;
  /// "broadcast bytes[12] from root 0"
  std::string text() const;
};

}  // namespace minigift
