// NCCL's wrapper as far as it goes without a GPU: it links, and its versions agree.
#include "miniapp/transport/nccl_channel.hpp"

#include <gtest/gtest.h>

namespace {

using namespace minigift;

TEST(NcclChannel, LoadedLibraryIsNotOlderThanTheHeader) {
  EXPECT_GE(nccl_compiled_version(), 22400);
  EXPECT_GE(nccl_loaded_version(), nccl_compiled_version());
}

TEST(NcclChannel, VersionsInWords) {
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
  EXPECT_EQ(nccl_version_text(22400), "2.24.0");
}

// Never called: what needs a GPU must link all the same.
[[maybe_unused]] void use_everything(NcclChannel::Stream stream, std::uint8_t* data) {
  NcclChannel channel(NcclChannel::make_id(), 0, 1, [] {});
  channel.all_reduce(data, 1, Element::e4m3, ElementReduction::sum, stream);
  channel.all_to_all(data, data + 1, 1, stream);
  channel.all_gather(data, data, 1, stream);
  channel.check();
  channel.abort();
}

}  // namespace
