#pragma once
// Fingerprints of buffers: to prove that replicas hold the same bits, and to count what is not a number.

#include "kernels/view.hpp"

#include <cstdint>

namespace minigift {

/// 64-bit hash of the contents: the sum, modulo 2^64, of a mix of (index, 32 bits) over all 32-bit words. The
/// sum makes it independent of threads and order of evaluation; the mix makes it depend on every element's
/// place. A change of one word always changes the hash; any other difference goes unseen with probability
/// about 2^-64.
std::uint64_t content_hash(const Vector<const float>& x);

/// The same over bytes, taken as little-endian 32-bit words padded with zeros. Equals the hash of the floats
/// with these bytes.
std::uint64_t content_hash(const Vector<const std::uint8_t>& x);

/// How many elements are infinite or NaN.
std::int64_t count_non_finite(const Vector<const float>& x);

}  // namespace minigift
