// Every operation against values computed locally; sizes 0, 1 and odd; limits; many in flight.
#include "kernels/bit_cast.hpp"
#include "kernels/error.hpp"
#include "kernels/reference/native_all_reduce.hpp"
#include "miniapp/transport/communicator.hpp"
#include "tests/transport/transport_fixture.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace minigift;
using namespace minigift::test;

constexpr std::int64_t lengths[] = {0, 1, 3, 1021, 70001};

CommunicatorOptions limit(std::int64_t max_message_bytes) {
  CommunicatorOptions options;
  options.max_message_bytes = max_message_bytes;
  return options;
}
const CommunicatorOptions both_limits[] = {limit(CommunicatorOptions{}.max_message_bytes), limit(1000)};

std::vector<std::uint8_t> part(const std::vector<std::uint8_t>& all, std::int64_t index, std::int64_t bytes) {
  return {all.begin() + index * bytes, all.begin() + (index + 1) * bytes};
}

TEST(Collectives, AllToAll) {
  for (const auto& options : both_limits) {
    Communicator communicator(options);
    const int ranks = communicator.size();
    for (const std::int64_t bytes : lengths) {
      const auto send = to_vector(random_bytes(communicator.rank(), bytes, bytes * ranks));
      const Vector<std::uint8_t> receive("receive", static_cast<std::size_t>(bytes * ranks));
      communicator.all_to_all(send, receive, bytes).wait();
      std::vector<std::uint8_t> expected;
      for (int from = 0; from < ranks; ++from) {
        const auto theirs = part(random_bytes(from, bytes, bytes * ranks), communicator.rank(), bytes);
        expected.insert(expected.end(), theirs.begin(), theirs.end());
      }
      EXPECT_EQ(to_host(receive), expected) << bytes;
    }
  }
}

TEST(Collectives, AllGather) {
  for (const auto& options : both_limits) {
    Communicator communicator(options);
    const int ranks = communicator.size();
    for (const std::int64_t bytes : lengths) {
      const auto send = to_vector(random_bytes(communicator.rank(), bytes, bytes));
      const Vector<std::uint8_t> receive("receive", static_cast<std::size_t>(bytes * ranks));
      communicator.all_gather(send, receive, bytes).wait();
      std::vector<std::uint8_t> expected;
      for (int from = 0; from < ranks; ++from) {
        const auto theirs = random_bytes(from, bytes, bytes);
        expected.insert(expected.end(), theirs.begin(), theirs.end());
      }
      EXPECT_EQ(to_host(receive), expected) << bytes;

      // In place: this rank's part already lies in the result.
      const Vector<std::uint8_t> in_place("in_place", static_cast<std::size_t>(bytes * ranks));
      const Vector<std::uint8_t> own(in_place.data() + communicator.rank() * bytes,
                                     static_cast<std::size_t>(bytes));
      Kokkos::deep_copy(own, send);
      communicator.all_gather(own, in_place, bytes).wait();
      EXPECT_EQ(to_host(in_place), expected) << bytes;
    }
  }
}

std::vector<float> random_floats(int rank, std::int64_t seed, std::int64_t count) {
  auto engine = generator(rank, seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (auto& value : values)
    value = normal(engine);
  return values;
}

TEST(Collectives, Maximum) {
  for (const auto& options : both_limits) {
    Communicator communicator(options);
    for (const std::int64_t count : lengths) {
      const auto values = to_vector(random_floats(communicator.rank(), count, count));
      communicator.all_reduce_max(values).wait();
      auto expected = random_floats(0, count, count);
      for (int rank = 1; rank < communicator.size(); ++rank) {
        const auto theirs = random_floats(rank, count, count);
        for (std::size_t i = 0; i < expected.size(); ++i)
          expected[i] = std::max(expected[i], theirs[i]);
      }
      EXPECT_EQ(to_host(values), expected) << count;
    }
  }
}

// max(NaN, 3) is 3 or NaN, depending on who asks: ranks would then disagree about an overflow.
TEST(Collectives, NotANumberOnOneRankReachesAll) {
  Communicator communicator;
  for (int faulty = 0; faulty < communicator.size(); ++faulty) {
    std::vector<float> mine = {1.0F, 2.0F, 3.0F};
    if (communicator.rank() == faulty) mine[1] = std::numeric_limits<float>::quiet_NaN();
    const auto values = to_vector(mine);
    communicator.all_reduce_max(values).wait();
    EXPECT_EQ(to_host(values), (std::vector<float>{1.0F, std::numeric_limits<float>::infinity(), 3.0F}));
    const double scalar = communicator.rank() == faulty ? std::nan("") : 5.0;
    EXPECT_EQ(communicator.max_over_ranks(scalar), std::numeric_limits<double>::infinity());
    EXPECT_EQ(communicator.min_over_ranks(scalar), -std::numeric_limits<double>::infinity());
  }
}

template <class T>
void expect_sums(const CommunicatorOptions& options) {
  Communicator communicator(options);
  const int ranks = communicator.size();
  for (const std::int64_t count : lengths) {
    const auto mine = random_floats(communicator.rank(), count, count);
    const auto values = to_vector(std::vector<T>(mine.begin(), mine.end()));
    communicator.all_reduce_sum(values).wait();
    const auto sums = to_host(values);
    std::vector<double> exact(sums.size());
    std::vector<double> magnitude(sums.size());
    for (int rank = 0; rank < ranks; ++rank) {
      const auto theirs = random_floats(rank, count, count);
      for (std::size_t i = 0; i < exact.size(); ++i) {
        exact[i] += static_cast<double>(theirs[i]);
        magnitude[i] += std::abs(static_cast<double>(theirs[i]));
      }
    }
    // N-1 additions in any order: |error| <= (N-1) * u * sum |x|, u = half a unit in the last place (Higham,
    // ch. 4).
    const double unit = std::numeric_limits<T>::epsilon() / 2;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      ASSERT_LE(std::abs(static_cast<double>(sums[i]) - exact[i]),
                1.01 * (ranks - 1) * unit * magnitude[i] + 1e-15)
          << i << " of " << count;
    }
    // The same bits everywhere.
    const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
    const Vector<std::uint8_t> all("all", static_cast<std::size_t>(bytes * ranks));
    communicator.all_gather(as_bytes(values), all, bytes).wait();
    const auto gathered = to_host(all);
    for (int rank = 1; rank < ranks; ++rank)
      EXPECT_EQ(part(gathered, rank, bytes), part(gathered, 0, bytes));
  }
}

TEST(Collectives, SumHasSameBitsOnAllRanks) {
  for (const auto& options : both_limits) {
    expect_sums<float>(options);
    expect_sums<double>(options);
  }
}

/// Small multiples of powers of two, for which every partial sum over up to 8 ranks is exact in every format:
/// the library's order of addition does not show.
float exact_value(int rank, std::int64_t i) {
  const auto sign = (i + rank) % 3 == 0 ? -1.0F : 1.0F;
  return sign * std::ldexp(1.0F, static_cast<int>(i % 5) - 2);
}

std::vector<std::uint8_t> encoded(Format format, std::int64_t count,
                                  const std::function<float(std::int64_t)>& value) {
  const std::int64_t width = bytes_per_code(format);
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(count * width));
  for (std::int64_t i = 0; i < count; ++i)
    reference::encode(format, value(i), &codes[static_cast<std::size_t>(i * width)]);
  return codes;
}

// The library may call the addition with any number of codes at a time; with the small limit it must.
TEST(Collectives, LibrarySumsOfCodes) {
  for (const auto& options : both_limits) {
    Communicator communicator(options);
    const int ranks = communicator.size();
    for (const Format format : {Format::fp32, Format::bf16, Format::e4m3, Format::e5m2}) {
      for (const std::int64_t count : lengths) {
        const auto codes = to_vector(
            encoded(format, count, [&](std::int64_t i) { return exact_value(communicator.rank(), i); }));
        communicator.library_all_reduce(format, codes).wait();
        const auto expected = encoded(format, count, [&](std::int64_t i) {
          float sum = 0.0F;
          for (int rank = 0; rank < ranks; ++rank)
            sum += exact_value(rank, i);
          return sum;
        });
        EXPECT_EQ(to_host(codes), expected) << name(format) << ", " << count << " codes";
      }
    }
  }
}

// Of two ranks there is one sum, whatever the order: round(x_0 + x_1), all codes of FP8 included.
TEST(Collectives, LibrarySumsOfTwoRanksRoundOnce) {
  Communicator communicator;
  if (communicator.size() != 2) return;
  for (const Format format : {Format::bf16, Format::e4m3, Format::e5m2}) {
    const std::vector<std::vector<std::uint8_t>> inputs = {random_codes(format, 0, 5, 70002),
                                                           random_codes(format, 1, 5, 70002)};
    const auto codes = to_vector(inputs[static_cast<std::size_t>(communicator.rank())]);
    communicator.library_all_reduce(format, codes).wait();
    EXPECT_EQ(to_host(codes), reference::native_all_reduce(format, inputs)) << name(format);
  }
}

TEST(Collectives, Broadcast) {
  for (const auto& options : both_limits) {
    Communicator communicator(options);
    for (int root = 0; root < communicator.size(); ++root) {
      for (const std::int64_t bytes : lengths) {
        const auto buffer = to_vector(random_bytes(communicator.rank(), bytes, bytes));
        communicator.broadcast(buffer, root);
        EXPECT_EQ(to_host(buffer), random_bytes(root, bytes, bytes));
      }
      const std::string mine(static_cast<std::size_t>(1500 * communicator.rank()), 'x');
      EXPECT_EQ(communicator.broadcast_string(mine, root).size(), static_cast<std::size_t>(1500 * root));
    }
    EXPECT_THROW(communicator.broadcast_string("", communicator.size()), RuntimeError);
  }
}

TEST(Collectives, ManyInFlightWaitedInAnotherOrder) {
  for (const auto& options : both_limits) {
    Communicator communicator(options);
    const int ranks = communicator.size();
    constexpr std::int64_t operations = 24;
    std::vector<Vector<std::uint8_t>> sums;
    std::vector<Vector<std::uint8_t>> gathered;
    std::vector<Vector<float>> maxima;
    std::vector<Request> requests;
    const auto length = [](std::int64_t i) { return 1 + i * i * 37; };
    for (std::int64_t i = 0; i < operations; ++i) {
      sums.push_back(to_vector(random_codes(Format::e5m2, communicator.rank(), i, length(i) * ranks)));
      requests.push_back(communicator.native_all_reduce(Format::e5m2, sums.back()));
      const auto send = to_vector(random_bytes(communicator.rank(), 100 + i, length(i)));
      gathered.emplace_back("gathered", static_cast<std::size_t>(length(i) * ranks));
      requests.push_back(communicator.all_gather(send, gathered.back(), length(i)));
      maxima.push_back(to_vector(random_floats(communicator.rank(), 200 + i, length(i))));
      requests.push_back(communicator.all_reduce_max(maxima.back()));
      if (i % 5 == 0) communicator.progress();
      if (i % 7 == 0) requests.front().test();
    }
    // Another order on every rank.
    std::vector<std::size_t> order(requests.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    auto engine = generator(communicator.rank(), 5);
    std::shuffle(order.begin(), order.end(), engine);
    for (const std::size_t i : order)
      requests[i].wait();

    for (std::int64_t i = 0; i < operations; ++i) {
      std::vector<std::vector<std::uint8_t>> codes;
      std::vector<std::uint8_t> all;
      std::vector<float> maximum = random_floats(0, 200 + i, length(i));
      for (int rank = 0; rank < ranks; ++rank) {
        codes.push_back(random_codes(Format::e5m2, rank, i, length(i) * ranks));
        const auto bytes = random_bytes(rank, 100 + i, length(i));
        all.insert(all.end(), bytes.begin(), bytes.end());
        const auto theirs = random_floats(rank, 200 + i, length(i));
        for (std::size_t k = 0; k < maximum.size(); ++k)
          maximum[k] = std::max(maximum[k], theirs[k]);
      }
      const auto index = static_cast<std::size_t>(i);
      EXPECT_EQ(to_host(sums[index]), reference::native_all_reduce(Format::e5m2, codes));
      EXPECT_EQ(to_host(gathered[index]), all);
      EXPECT_EQ(to_host(maxima[index]), maximum);
    }
  }
}

TEST(Collectives, RequestsFinishByTestAlone) {
  Communicator communicator;
  const auto codes =
      to_vector(random_codes(Format::fp32, communicator.rank(), 3, 50000 * communicator.size()));
  Request request = communicator.native_all_reduce(Format::fp32, codes);
  while (!request.test())
    std::this_thread::yield();
  EXPECT_TRUE(request.test());
  request.wait();  // waiting twice is harmless
  Request empty;
  EXPECT_TRUE(empty.test());
  // Moving: the moved-from request is empty, the other one carries the operation.
  Request first = communicator.native_all_reduce(Format::fp32, codes);
  Request second = std::move(first);
  second.wait();
}

TEST(Collectives, DroppedRequestIsFinishedFirst) {
  Communicator communicator;
  const Vector<std::uint8_t> all("all", 8 * static_cast<std::size_t>(communicator.size()));
  const auto mine = to_vector(random_bytes(communicator.rank(), 9, 8));
  { const Request dropped = communicator.all_gather(mine, all, 8); }
  EXPECT_EQ(part(to_host(all), communicator.size() - 1, 8), random_bytes(communicator.size() - 1, 9, 8));
}

TEST(Collectives, RefuseBuffersOfWrongSize) {
  Communicator communicator;
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const Vector<std::uint8_t> good("good", 8 * ranks);
  const Vector<std::uint8_t> bad("bad", 8 * ranks + 1);
  EXPECT_THROW(communicator.all_to_all(good, bad, 8), RuntimeError);
  EXPECT_THROW(communicator.all_gather(bad, good, 8), RuntimeError);
  EXPECT_THROW(communicator.all_to_all(good, good, 8), RuntimeError);
}

TEST(Collectives, RefuseAWorldThatTheLauncherDidNotStart) {
  const std::string before = std::getenv("OMPI_COMM_WORLD_SIZE") ? std::getenv("OMPI_COMM_WORLD_SIZE") : "";
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  if (size == 1) {
    EXPECT_THROW(Communicator{}, UsageError);
  } else {
    EXPECT_NO_THROW(Communicator{});
  }
  if (before.empty()) {
    unsetenv("OMPI_COMM_WORLD_SIZE");
  } else {
    setenv("OMPI_COMM_WORLD_SIZE", before.c_str(), 1);
  }
}

TEST(Collectives, RefuseOptionsOutOfRange) {
  CommunicatorOptions options;
  options.max_message_bytes = std::int64_t{1} << 31;
  EXPECT_THROW(Communicator{options}, UsageError);
  options = {};
  options.max_message_bytes = 7;
  EXPECT_THROW(Communicator{options}, UsageError);
  options = {};
  options.watchdog_seconds = 0.0;
  EXPECT_THROW(Communicator{options}, UsageError);
  options = {};
  options.staging = Staging::direct;
  EXPECT_THROW(Communicator{options}, UsageError);
}

}  // namespace
