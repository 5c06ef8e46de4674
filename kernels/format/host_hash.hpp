#pragma once
// content_hash of memory of the host, whatever the execution space: for files and messages.

#include <cstdint>
#include <string_view>

namespace minigift {

/// Collects the content_hash (kernels/format/hash.hpp) of bytes that arrive in parts. Parts but the last must
/// be multiples of 4 bytes long.
class HostHash {
 public:
  void add(const void* bytes, std::int64_t count);
  /// Of all bytes so far.
  std::uint64_t value() const;

 private:
  std::uint64_t sum_ = 0;
  std::int64_t length_ = 0;
};

/// Equals content_hash of the same bytes.
std::uint64_t host_content_hash(const void* bytes, std::int64_t count);
std::uint64_t host_content_hash(std::string_view text);

}  // namespace minigift
