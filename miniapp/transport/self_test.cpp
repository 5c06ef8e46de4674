#include "miniapp/transport/self_test.hpp"

#include "kernels/bit_cast.hpp"
#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/format/bfloat16.hpp"
#include "kernels/format/fp8.hpp"
#include "kernels/slice.hpp"
#include "miniapp/transport/communicator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace minigift {
namespace {

// Copies wait for the device. With NCCL operations of other ranks may be in front of them: under the
// watchdog.

template <class T>
Vector<T> to_vector(Communicator& communicator, const std::vector<T>& values) {
  Vector<T> vector(Kokkos::view_alloc("minigift::self_test", Kokkos::WithoutInitializing), values.size());
  communicator.synchronize();
  copy(vector, HostVector<const T>(values.data(), values.size()));
  return vector;
}

template <class T>
std::vector<T> to_host(Communicator& communicator, const Vector<T>& vector) {
  std::vector<T> values(vector.extent(0));
  communicator.synchronize();
  copy(HostVector<T>(values.data(), values.size()), vector);
  return values;
}

/// Small integers, so that sums over up to 10^6 ranks are exact in float in any order.
double small_integer(int rank, std::int64_t i) {
  return static_cast<double>((rank * 31 + i * 7) % 17 - 8);
}

/// Three consecutive ranks contribute +-1, 2, 4 or 8 to element i, all the others zero: every partial sum is
/// exact in every format, whatever the number of ranks.
float sparse_value(int rank, std::int64_t i, int ranks) {
  const auto distance = static_cast<int>((rank + i) % ranks);
  if (distance >= 3) return 0.0F;
  const float magnitude = std::ldexp(1.0F, static_cast<int>(i % 4));
  return i % 5 == 0 ? -magnitude : magnitude;
}

void append_code(Format format, float value, std::vector<std::uint8_t>& codes) {
  std::array<std::uint8_t, 4> bytes{};
  switch (format) {
    case Format::e4m3:
      bytes[0] = encode_e4m3(value);
      break;
    case Format::e5m2:
      bytes[0] = encode_e5m2(value);
      break;
    case Format::bf16: {
      const std::uint16_t bits = to_bfloat16(value).bits;
      std::memcpy(bytes.data(), &bits, sizeof(bits));
      break;
    }
    default:
      std::memcpy(bytes.data(), &value, sizeof(value));
  }
  codes.insert(codes.end(), bytes.begin(), bytes.begin() + bytes_per_code(format));
}

/// One operation in flight and what it must give.
class Trial {
 public:
  virtual ~Trial() = default;
  /// Waits; returns the index of the first wrong element, or -1.
  virtual std::int64_t first_wrong(Communicator& communicator) = 0;
  std::string name;
};

template <class T>
class TypedTrial : public Trial {
 public:
  std::int64_t first_wrong(Communicator& communicator) override {
    request.wait();
    const std::vector<T> found = to_host(communicator, result);
    const auto place = std::mismatch(found.begin(), found.end(), expected.begin());
    return place.first == found.end() ? -1 : place.first - found.begin();
  }
  Vector<T> input;  // kept alive until the request has finished
  Vector<T> result;
  std::vector<T> expected;
  Request request;
};

using Trials = std::vector<std::unique_ptr<Trial>>;

enum class Reduction { sum, maximum };

template <class T>
void add_reduction(Communicator& communicator, Trials& trials, Reduction reduction, std::int64_t count) {
  auto trial = std::make_unique<TypedTrial<T>>();
  std::vector<T> mine;
  for (std::int64_t i = 0; i < count; ++i) {
    mine.push_back(static_cast<T>(small_integer(communicator.rank(), i)));
    double result = small_integer(0, i);
    for (int rank = 1; rank < communicator.size(); ++rank) {
      const double value = small_integer(rank, i);
      result = reduction == Reduction::sum ? result + value : std::max(result, value);
    }
    trial->expected.push_back(static_cast<T>(result));
  }
  trial->result = to_vector(communicator, mine);
  if constexpr (std::is_same_v<T, float>) {
    if (reduction == Reduction::maximum) {
      trial->request = communicator.all_reduce_max(trial->result, Traffic::control);
    }
  }
  if (reduction == Reduction::sum)
    trial->request = communicator.all_reduce_sum(trial->result, Traffic::control);
  trial->name = fmt::format("all_reduce_{} of {} {}s", reduction == Reduction::sum ? "sum" : "max", count,
                            sizeof(T) == 4 ? "float" : "double");
  trials.push_back(std::move(trial));
}

/// The sums of codes: the ring's, its first half, and the library's own, which some releases get wrong where
/// it is non-blocking and the operation a user's (open-mpi/ompi#9385, #1754).
enum class CodeOperation { native_all_reduce, native_reduce_scatter, library_all_reduce };
constexpr std::array<const char*, 3> code_operation_names = {"native_all_reduce", "native_reduce_scatter",
                                                             "library_all_reduce"};

Request start(Communicator& communicator, CodeOperation operation, Format format,
              const Vector<std::uint8_t>& codes) {
  switch (operation) {
    case CodeOperation::native_all_reduce:
      return communicator.native_all_reduce(format, codes, Traffic::control);
    case CodeOperation::native_reduce_scatter:
      return communicator.native_reduce_scatter(format, codes, Traffic::control);
    case CodeOperation::library_all_reduce:
      break;
  }
  return communicator.library_all_reduce(format, codes, Traffic::control);
}

void add_codes(Communicator& communicator, Trials& trials, CodeOperation operation, Format format,
               std::int64_t count) {
  auto trial = std::make_unique<TypedTrial<std::uint8_t>>();
  const int ranks = communicator.size();
  std::vector<std::uint8_t> mine;
  for (std::int64_t i = 0; i < count; ++i) {
    append_code(format, sparse_value(communicator.rank(), i, ranks), mine);
    float sum = 0.0F;
    for (int rank = 0; rank < ranks; ++rank)
      sum += sparse_value(rank, i, ranks);
    append_code(format, sum, trial->expected);
  }
  trial->result = to_vector(communicator, mine);
  trial->request = start(communicator, operation, format, trial->result);
  if (operation == CodeOperation::native_reduce_scatter) {
    const auto part = static_cast<std::int64_t>(trial->expected.size()) / ranks;
    const auto own = trial->expected.begin() + communicator.rank() * part;
    trial->expected = std::vector<std::uint8_t>(own, own + part);
    trial->result = slice(trial->result, communicator.rank() * part, part);
  }
  trial->name = fmt::format("{} of {} {} codes", code_operation_names[static_cast<std::size_t>(operation)],
                            count, minigift::name(format));
  trials.push_back(std::move(trial));
}

/// Byte i that rank `from` has for rank `to`.
std::uint8_t byte_for(int from, int to, std::int64_t i) {
  return static_cast<std::uint8_t>(from * 29 + to * 101 + i * 13);
}

void add_block_exchange(Communicator& communicator, Trials& trials, bool gather, std::int64_t bytes) {
  auto trial = std::make_unique<TypedTrial<std::uint8_t>>();
  const int me = communicator.rank();
  std::vector<std::uint8_t> mine;
  for (int peer = 0; peer < communicator.size(); ++peer) {
    for (std::int64_t i = 0; i < bytes; ++i) {
      if (!gather) mine.push_back(byte_for(me, peer, i));
      if (gather && peer == 0) mine.push_back(byte_for(me, 0, i));
      trial->expected.push_back(byte_for(peer, gather ? 0 : me, i));
    }
  }
  trial->input = to_vector(communicator, mine);
  trial->result = to_vector(communicator, std::vector<std::uint8_t>(trial->expected.size(), 0xA5));
  trial->request = gather ? communicator.all_gather(trial->input, trial->result, bytes, Traffic::control)
                          : communicator.all_to_all(trial->input, trial->result, bytes, Traffic::control);
  trial->name = fmt::format("{} of {} bytes per rank", gather ? "all_gather" : "all_to_all", bytes);
  trials.push_back(std::move(trial));
}

void add_broadcast(Communicator& communicator, Trials& trials, int root) {
  auto trial = std::make_unique<TypedTrial<std::uint8_t>>();
  std::vector<std::uint8_t> mine;
  for (std::int64_t i = 0; i < 1001; ++i) {
    mine.push_back(byte_for(communicator.rank(), 0, i));
    trial->expected.push_back(byte_for(root, 0, i));
  }
  trial->result = to_vector(communicator, mine);
  communicator.broadcast(trial->result, root);
  trial->name = fmt::format("broadcast of 1001 bytes from rank {}", root);
  trials.push_back(std::move(trial));
}

/// A sum in which every addition rounds: its bits depend on the order of addition, which must be one for all
/// ranks.
std::optional<std::string> compare_sum_bits(Communicator& communicator, std::int64_t count) {
  std::vector<float> mine;
  for (std::int64_t i = 0; i < count; ++i) {
    mine.push_back(std::sin(0.37F * static_cast<float>(i) + 1.3F * static_cast<float>(communicator.rank())));
  }
  const Vector<float> sums = to_vector(communicator, mine);
  communicator.all_reduce_sum(sums).wait();
  std::uint64_t hash = 0;
  for (const float sum : to_host(communicator, sums)) {
    hash = hash * 6364136223846793005ULL + bit_cast<std::uint32_t>(sum) + 1442695040888963407ULL;
  }
  const auto signed_hash = bit_cast<std::int64_t>(hash);
  if (communicator.min_over_ranks(signed_hash) == communicator.max_over_ranks(signed_hash))
    return std::nullopt;
  return fmt::format("all_reduce_sum of {} floats has different bits on different ranks", count);
}

}  // namespace

void self_test(Communicator& communicator) {
  // The larger count is beyond the size at which common libraries change from latency- to bandwidth-optimal
  // algorithms.
  constexpr std::array<std::int64_t, 3> counts = {1, 1001, 20011};
  Trials trials;
  for (const std::int64_t count : counts) {
    add_reduction<float>(communicator, trials, Reduction::maximum, count);
    add_reduction<float>(communicator, trials, Reduction::sum, count);
    add_reduction<double>(communicator, trials, Reduction::sum, count);
  }
  for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{1003}}) {
    for (const Format format : {Format::fp32, Format::bf16, Format::e4m3, Format::e5m2}) {
      if (communicator.native_all_reduce_refuses(format)) continue;
      const std::int64_t chunks = bytes * communicator.size();
      add_codes(communicator, trials, CodeOperation::native_all_reduce, format, chunks);
      add_codes(communicator, trials, CodeOperation::native_reduce_scatter, format, chunks);
      add_codes(communicator, trials, CodeOperation::library_all_reduce, format, bytes == 1 ? 1 : counts[2]);
    }
    add_block_exchange(communicator, trials, false, bytes);
    add_block_exchange(communicator, trials, true, bytes);
  }
  add_broadcast(communicator, trials, 0);
  add_broadcast(communicator, trials, communicator.size() - 1);

  std::optional<std::string> error;
  // Last started, first waited for: the order of waiting must not matter.
  for (auto trial = trials.rbegin(); trial != trials.rend(); ++trial) {
    const std::int64_t wrong = (*trial)->first_wrong(communicator);
    if (wrong >= 0 && !error) error = fmt::format("{}: element {} is wrong", (*trial)->name, wrong);
  }
  for (const std::int64_t count : counts) {
    const std::optional<std::string> difference = compare_sum_bits(communicator, count);
    if (difference && !error) error = difference;
  }
  if (error) {
    const std::string device = communicator.device_library();
    error = fmt::format("self test of the transport: {} ({}{}{})", *error, communicator.mpi_library(),
                        device.empty() ? "" : "; ", device);
  }
  communicator.agree(error, ErrorKind::runtime);
}

}  // namespace minigift
