#include "tests/transport/transport_fixture.hpp"

#include "kernels/reference/native_all_reduce.hpp"

#include <cmath>

namespace minigift::test {

std::vector<std::uint8_t> random_codes(Format format, int rank, std::int64_t seed, std::int64_t count) {
  const std::int64_t code_bytes = bytes_per_code(format);
  if (is_fp8(format)) return random_bytes(rank, seed, count);
  auto engine = generator(rank, seed);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-12, 12);
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(count * code_bytes));
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = std::ldexp(normal(engine), exponent(engine));
    reference::encode(format, value, &codes[static_cast<std::size_t>(i * code_bytes)]);
  }
  return codes;
}

}  // namespace minigift::test
