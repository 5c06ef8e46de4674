#include "miniapp/comm/inputs.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/device/stream.hpp"

#include <string>

namespace minigift {
namespace {

constexpr std::int64_t block_bytes = 16;

template <class T>
Vector<T> uninitialized(const char* label, std::int64_t count) {
  return Vector<T>(Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string(label)),
                   static_cast<std::size_t>(count));
}

void generate(const PhiloxKey& key, const Vector<float>& x) {
  Kokkos::parallel_for(
      "minigift::comm_input", range(size(x)),
      KOKKOS_LAMBDA(std::int64_t i) { x(i) = input_element(key, i); });
}

void negate(const Vector<float>& x) {
  Kokkos::parallel_for(
      "minigift::comm_negate", range(size(x)), KOKKOS_LAMBDA(std::int64_t i) { x(i) = -x(i); });
}

void add_over_ranks(const Vector<const PhiloxKey>& keys, std::int64_t first, const Vector<double>& sum,
                    const Vector<double>& magnitude) {
  Kokkos::parallel_for(
      "minigift::comm_exact_sum", range(size(sum)), KOKKOS_LAMBDA(std::int64_t i) {
        double total = 0.0;
        double absolute = 0.0;
        for (std::size_t rank = 0; rank < keys.extent(0); ++rank) {
          const double x = static_cast<double>(input_element(keys(rank), first + i));
          total += x;
          absolute += x < 0.0 ? -x : x;
        }
        sum(i) = total;
        magnitude(i) = absolute;
      });
}

std::vector<double> to_std(const Vector<double>& values) {
  const HostVector<double> host = on_host(values);
  return {host.data(), host.data() + host.size()};
}

}  // namespace

void fill_input_bytes(const PhiloxKey& key, std::int64_t first, const Vector<std::uint8_t>& bytes) {
  const std::int64_t count = size(bytes);
  const std::int64_t first_block = first / block_bytes;
  Kokkos::parallel_for(
      "minigift::comm_bytes", range((count + block_bytes - 1) / block_bytes), KOKKOS_LAMBDA(std::int64_t b) {
        const PhiloxBlock block = philox_block(key, first_block + b);
        const std::int64_t end =
            b * block_bytes + block_bytes < count ? b * block_bytes + block_bytes : count;
        for (std::int64_t i = b * block_bytes; i < end; ++i)
          bytes(i) = input_byte(block, i % block_bytes);
      });
}

std::int64_t count_wrong_bytes(const PhiloxKey& key, std::int64_t first,
                               const Vector<const std::uint8_t>& bytes) {
  const std::int64_t count = size(bytes);
  const std::int64_t first_block = first / block_bytes;
  std::int64_t wrong = 0;
  Kokkos::parallel_reduce(
      "minigift::comm_wrong_bytes", range((count + block_bytes - 1) / block_bytes),
      KOKKOS_LAMBDA(std::int64_t b, std::int64_t & partial) {
        const PhiloxBlock block = philox_block(key, first_block + b);
        const std::int64_t end =
            b * block_bytes + block_bytes < count ? b * block_bytes + block_bytes : count;
        for (std::int64_t i = b * block_bytes; i < end; ++i)
          partial += bytes(i) != input_byte(block, i % block_bytes) ? 1 : 0;
      },
      wrong);
  return wrong;
}

GradientInputs::GradientInputs(std::int64_t seed, std::int64_t count, int rank, int ranks)
    : seed_(seed),
      count_(count),
      rank_(rank),
      ranks_(ranks),
      gradient_(uninitialized<float>("minigift::comm_gradient", count)) {
  generate(input_key(seed, rank, InputStream::elements), gradient_);
}

const Vector<float>& GradientInputs::gradient(bool negated) {
  if (negated != negated_) negate(gradient_);
  negated_ = negated;
  return gradient_;
}

const ExactSums& GradientInputs::sums(std::int64_t first, std::int64_t count) {
  const auto [place, is_new] = sums_.try_emplace({first, count});
  if (!is_new) return place->second;
  const Vector<PhiloxKey> keys("minigift::comm_keys", static_cast<std::size_t>(ranks_));
  const auto host_keys = host_like(keys);
  for (int rank = 0; rank < ranks_; ++rank)
    host_keys(rank) = input_key(seed_, rank, InputStream::elements);
  copy(keys, host_keys);
  const auto sum = uninitialized<double>("minigift::comm_sum", count);
  const auto magnitude = uninitialized<double>("minigift::comm_magnitude", count);
  add_over_ranks(keys, first, sum, magnitude);
  place->second = {to_std(sum), to_std(magnitude)};
  return place->second;
}

const Vector<float>& GradientInputs::scratch() {
  if (scratch_.size() == 0) scratch_ = uninitialized<float>("minigift::comm_decoded", count_);
  return scratch_;
}

}  // namespace minigift
