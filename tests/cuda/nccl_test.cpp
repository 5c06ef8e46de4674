// NCCL as it was found: the library belongs to its header, and one rank sums to what it gave.

#include "tests/cuda/device.hpp"

#include <nccl.h>

namespace minigift {
namespace {

using test::DeviceArray;

TEST(CudaLibraries, NcclIsTheVersionOfItsHeader) {
  int version = 0;
  ASSERT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, NCCL_VERSION_CODE);
}

class CudaNccl : public test::OnDevice {};

TEST_F(CudaNccl, OneRankAllReduce) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t communicator = nullptr;
  ASSERT_EQ(ncclCommInitRank(&communicator, 1, id, 0), ncclSuccess);
  const std::vector<float> values = {1, -2, 0.5f, 1e30f};
  const DeviceArray<float> from(values, stream), to(std::vector<float>(values.size()), stream);
  EXPECT_EQ(ncclAllReduce(from.data(), to.data(), values.size(), ncclFloat, ncclSum, communicator, stream),
            ncclSuccess);
  EXPECT_EQ(to.values(), values);
  EXPECT_EQ(ncclCommDestroy(communicator), ncclSuccess);
}

}  // namespace
}  // namespace minigift
