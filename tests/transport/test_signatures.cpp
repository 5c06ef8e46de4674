// Ranks that start different operations are told so, with names.
#include "kernels/error.hpp"
#include "miniapp/transport/communicator.hpp"
#include "miniapp/transport/signature.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace {

using namespace minigift;

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const RuntimeError& error) {
    return error.what();
  }
  return "";
}

Vector<std::uint8_t> bytes(std::int64_t count) {
  return Vector<std::uint8_t>("bytes", static_cast<std::size_t>(count));
}

TEST(Signatures, DifferentCountsAreNamedOnEveryRank) {
  Communicator communicator;
  if (communicator.size() == 1) return;
  const int last = communicator.size() - 1;
  const Vector<float> values("values", communicator.rank() == last ? 13 : 12);
  const std::string message = error_of([&] { communicator.all_reduce_max(values).wait(); });
  EXPECT_NE(message.find("all_reduce_max float[12]"), std::string::npos) << message;
  EXPECT_NE(message.find("rank " + std::to_string(last) + ": all_reduce_max float[13]"), std::string::npos)
      << message;
  // The communicator stays usable, and the refused signature is compared again.
  const Vector<float> equal("equal", 12);
  communicator.all_reduce_max(equal).wait();
}

TEST(Signatures, DifferentOperations) {
  Communicator communicator;
  if (communicator.size() == 1) return;
  const auto buffer = bytes(16 * communicator.size());
  const std::string message = error_of([&] {
    if (communicator.rank() == 0) {
      communicator.barrier();
    } else {
      communicator.native_all_reduce(Format::e4m3, buffer).wait();
    }
  });
  EXPECT_NE(message.find("rank 0: barrier"), std::string::npos) << message;
  EXPECT_NE(message.find("native_all_reduce e4m3["), std::string::npos) << message;
}

TEST(Signatures, DifferentFormats) {
  Communicator communicator;
  if (communicator.size() == 1) return;
  const auto buffer = bytes(16 * communicator.size());
  const Format mine = communicator.rank() == 0 ? Format::e4m3 : Format::e5m2;
  const std::string message = error_of([&] { communicator.native_all_reduce(mine, buffer).wait(); });
  EXPECT_NE(message.find("e4m3"), std::string::npos) << message;
  EXPECT_NE(message.find("e5m2"), std::string::npos) << message;
}

TEST(Signatures, DifferentRoots) {
  Communicator communicator;
  if (communicator.size() == 1) return;
  const auto buffer = bytes(16);
  const std::string message =
      error_of([&] { communicator.broadcast(buffer, communicator.rank() == 0 ? 0 : 1); });
  EXPECT_NE(message.find("rank 0: broadcast bytes[16] from root 0"), std::string::npos) << message;
  EXPECT_NE(message.find("broadcast bytes[16] from root 1"), std::string::npos) << message;
}

TEST(Signatures, ComparedOnceEach) {
  Communicator communicator;
  const auto send = bytes(8);
  const auto receive = bytes(8 * communicator.size());
  const auto gather = [&] {
    const auto before = communicator.counters();
    communicator.all_gather(send, receive, 8).wait();
    return (communicator.counters() - before).control.messages;
  };
  EXPECT_EQ(gather(), communicator.size() == 1 ? 0 : 1);
  EXPECT_EQ(gather(), 0);
}

TEST(Signatures, HashTellsEveryMemberApart) {
  const Signature signature{"broadcast", "bytes", 12, 0};
  EXPECT_EQ(signature.hash(), (Signature{"broadcast", "bytes", 12, 0}.hash()));
  EXPECT_NE(signature.hash(), (Signature{"broadcas", "tbytes", 12, 0}.hash()));
  EXPECT_NE(signature.hash(), (Signature{"broadcast", "float", 12, 0}.hash()));
  EXPECT_NE(signature.hash(), (Signature{"broadcast", "bytes", 12 + (std::int64_t{1} << 32), 0}.hash()));
  EXPECT_NE(signature.hash(), (Signature{"broadcast", "bytes", 12, 1}.hash()));
  EXPECT_NE(signature.hash(), (Signature{"broadcast", "bytes", 12, -1}.hash()));
}

}  // namespace
