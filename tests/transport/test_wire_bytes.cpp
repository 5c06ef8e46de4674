// Bytes and messages counted at MPI_Isend against closed forms.
#include "miniapp/transport/communicator.hpp"
#include "tests/transport/transport_fixture.hpp"

#include <gtest/gtest.h>

namespace {

using namespace minigift;
using namespace minigift::test;

CommunicatorOptions limit(std::int64_t max_message_bytes) {
  CommunicatorOptions options;
  options.max_message_bytes = max_message_bytes;
  options.staging = Staging::host;   // NCCL's messages are its own affair
  options.check_signatures = false;  // they send control messages of their own
  return options;
}
const CommunicatorOptions both_limits[] = {limit(CommunicatorOptions{}.max_message_bytes), limit(1000)};

std::int64_t pieces(std::int64_t bytes, std::int64_t piece) {
  return (bytes + piece - 1) / piece;
}

TEST(WireBytes, NativeAllReduceSendsTwiceTheBufferLessOneChunk) {
  for (const auto& options : both_limits) {
    Communicator communicator(options);
    const std::int64_t ranks = communicator.size();
    for (const Format format : {Format::fp32, Format::bf16, Format::e4m3, Format::e5m2}) {
      for (const std::int64_t chunk : {0, 1, 777, 30001}) {
        const std::int64_t bytes = chunk * ranks * bytes_per_code(format);
        const Vector<std::uint8_t> codes("codes", static_cast<std::size_t>(bytes));
        const TransportCounters before = communicator.counters();
        communicator.native_all_reduce(format, codes).wait();
        const TransportCounters sent = communicator.counters() - before;
        EXPECT_EQ(sent.payload.bytes_sent, 2 * (ranks - 1) * bytes / ranks);
        EXPECT_EQ(sent.payload.collectives, 1);
        EXPECT_EQ(sent.metadata.bytes_sent + sent.control.bytes_sent, 0);
        // 960 is the largest multiple of 64 below 1000; 2^18 is the size of a pipeline piece.
        const std::int64_t piece = options.max_message_bytes == 1000 ? 960 : 1 << 18;
        EXPECT_EQ(sent.payload.messages, 2 * (ranks - 1) * pieces(chunk * bytes_per_code(format), piece));
      }
    }
  }
}

TEST(WireBytes, ReduceScatterSendsTheBufferLessOneChunk) {
  for (const auto& options : both_limits) {
    Communicator communicator(options);
    const std::int64_t ranks = communicator.size();
    for (const Format format : {Format::fp32, Format::bf16, Format::e4m3, Format::e5m2}) {
      for (const std::int64_t chunk : {0, 1, 777, 30001}) {
        const std::int64_t bytes = chunk * ranks * bytes_per_code(format);
        const Vector<std::uint8_t> codes("codes", static_cast<std::size_t>(bytes));
        const TransportCounters before = communicator.counters();
        communicator.native_reduce_scatter(format, codes).wait();
        const TransportCounters sent = communicator.counters() - before;
        EXPECT_EQ(sent.payload.bytes_sent, (ranks - 1) * bytes / ranks);
        EXPECT_EQ(sent.payload.bytes_sent, reduce_scatter_wire_bytes(ranks, bytes));
        EXPECT_EQ(sent.metadata.bytes_sent + sent.control.bytes_sent, 0);
        const std::int64_t piece = options.max_message_bytes == 1000 ? 960 : 1 << 18;
        EXPECT_EQ(sent.payload.messages, (ranks - 1) * pieces(chunk * bytes_per_code(format), piece));
      }
    }
  }
}

TEST(WireBytes, BlocksGoToEveryOtherRankOnce) {
  for (const auto& options : both_limits) {
    Communicator communicator(options);
    const std::int64_t ranks = communicator.size();
    for (const std::int64_t bytes : {0, 1, 999, 1000, 1001, 30001}) {
      const Vector<std::uint8_t> one("one", static_cast<std::size_t>(bytes));
      const Vector<std::uint8_t> all("all", static_cast<std::size_t>(bytes * ranks));
      const Vector<std::uint8_t> other("other", static_cast<std::size_t>(bytes * ranks));
      TransportCounters before = communicator.counters();
      communicator.all_to_all(all, other, bytes, Traffic::payload).wait();
      TransportCounters sent = communicator.counters() - before;
      EXPECT_EQ(sent.payload.bytes_sent, (ranks - 1) * bytes);
      EXPECT_EQ(sent.payload.messages, (ranks - 1) * pieces(bytes, options.max_message_bytes));
      before = communicator.counters();
      communicator.all_gather(one, all, bytes, Traffic::metadata).wait();
      sent = communicator.counters() - before;
      EXPECT_EQ(sent.metadata.bytes_sent, (ranks - 1) * bytes);
      EXPECT_EQ(sent.payload.bytes_sent + sent.control.bytes_sent, 0);
    }
  }
}

TEST(WireBytes, LibraryCollectivesAreChargedByTheirClosedForm) {
  for (const auto& options : both_limits) {
    Communicator communicator(options);
    const std::int64_t ranks = communicator.size();
    for (const std::int64_t count : {0, 1, 5000}) {
      const Vector<float> values("values", static_cast<std::size_t>(count));
      const TransportCounters before = communicator.counters();
      communicator.all_reduce_max(values).wait();
      communicator.all_reduce_sum(values, Traffic::control).wait();
      const TransportCounters sent = communicator.counters() - before;
      EXPECT_EQ(sent.metadata.bytes_sent, 2 * (ranks - 1) * 4 * count / ranks);
      EXPECT_EQ(sent.control.bytes_sent, 2 * (ranks - 1) * 4 * count / ranks);
      EXPECT_EQ(sent.metadata.messages, ranks == 1 ? 0 : pieces(4 * count, options.max_message_bytes));
      const Vector<std::uint8_t> codes("codes", static_cast<std::size_t>(2 * count));
      const TransportCounters earlier = communicator.counters();
      communicator.library_all_reduce(Format::bf16, codes).wait();
      EXPECT_EQ((communicator.counters() - earlier).payload.bytes_sent, 2 * (ranks - 1) * 2 * count / ranks);
    }
  }
}

TEST(WireBytes, StartAtZeroAfterSetUp) {
  const Communicator communicator;
  const TransportCounters& counters = communicator.counters();
  EXPECT_EQ(counters.payload.bytes_sent + counters.metadata.bytes_sent + counters.control.bytes_sent, 0);
  EXPECT_EQ(counters.control.collectives, 0);
}

TEST(WireBytes, CopiesBetweenDeviceAndHostAreCountedWhereThereAreAny) {
  Communicator communicator(limit(1000));
  const auto bytes = static_cast<std::int64_t>(12 * communicator.size());
  const Vector<std::uint8_t> mine("mine", 12);
  const Vector<std::uint8_t> all("all", static_cast<std::size_t>(bytes));
  const TransportCounters before = communicator.counters();
  communicator.all_gather(mine, all, 12).wait();
  const TransportCounters change = communicator.counters() - before;
  EXPECT_EQ(change.device_to_host_bytes, memory_is_on_host ? 0 : 12);
  EXPECT_EQ(change.host_to_device_bytes, memory_is_on_host ? 0 : bytes);
}

}  // namespace
