#pragma once
// A device channel in the place of NCCL's, for builds without a GPU: blocking MPI on host memory. It lets the
// tests run everything around NCCL over ranks: requests, counters, labels, the self test.

#include "kernels/reference/native_all_reduce.hpp"
#include "miniapp/transport/device_channel.hpp"

#include <mpi.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace minigift::test {

class MpiDeviceChannel final : public DeviceChannel {
 public:
  explicit MpiDeviceChannel(MPI_Comm communicator) : communicator_(communicator) {
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &size_);
  }

  void all_reduce(void* values, std::int64_t count, Element element, ElementReduction reduction) override {
    ++calls;
    const MPI_Op operation = reduction == ElementReduction::sum ? MPI_SUM : MPI_MAX;
    if (element == Element::float32 || element == Element::float64) {
      MPI_Allreduce(MPI_IN_PLACE, values, static_cast<int>(count),
                    element == Element::float32 ? MPI_FLOAT : MPI_DOUBLE, operation, communicator_);
      return;
    }
    const Format format = element == Element::bfloat16 ? Format::bf16
                          : element == Element::e4m3   ? Format::e4m3
                                                       : Format::e5m2;
    const auto bytes = static_cast<std::size_t>(count * bytes_per_code(format));
    std::vector<std::uint8_t> all(bytes * static_cast<std::size_t>(size_));
    all_gather(static_cast<const std::uint8_t*>(values), all.data(), static_cast<std::int64_t>(bytes));
    std::vector<std::vector<std::uint8_t>> inputs;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(size_); ++rank) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(rank * bytes);
      inputs.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(bytes));
      inputs.back().resize(bytes * static_cast<std::size_t>(size_));  // divides into chunks of whole codes
    }
    const auto sum = reference::native_all_reduce(format, inputs);
    std::memcpy(values, sum.data(), bytes);
  }

  void reduce_scatter_sum(void* values, std::int64_t count, Element element) override {
    all_reduce(values, count * size_, element, ElementReduction::sum);
  }

  void all_to_all(const std::uint8_t* send, std::uint8_t* receive, std::int64_t bytes_per_peer) override {
    ++calls;
    const int bytes = static_cast<int>(bytes_per_peer);
    MPI_Alltoall(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, communicator_);
  }

  void all_gather(const std::uint8_t* send, std::uint8_t* receive, std::int64_t bytes) override {
    ++calls;
    // MPI, unlike NCCL, wants to be told that a rank's own part is in place already.
    const bool in_place = send == receive + rank_ * bytes;
    MPI_Allgather(in_place ? MPI_IN_PLACE : send, static_cast<int>(bytes), MPI_BYTE, receive,
                  static_cast<int>(bytes), MPI_BYTE, communicator_);
  }

  void check() override {
    if (!error.empty()) throw RuntimeError(error);
  }
  void abort() noexcept override {}
  std::optional<std::string> refuses(Format format) const override {
    return nccl_refuses(format, 22809, devices);
  }
  std::string library() const override { return "MPI in the place of NCCL"; }

  int calls = 0;
  std::string error;                ///< met by the next check()
  std::vector<RankDevice> devices;  ///< those that FP8 is refused for; none: all can

 private:
  MPI_Comm communicator_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace minigift::test
