// NCCL on Kokkos' CUDA streams. Compiled in place of no_nccl.cpp where Kokkos has its CUDA backend and NCCL
// is on.

#include "kernels/device/stream.hpp"
#include "miniapp/transport/device_channel.hpp"
#include "miniapp/transport/mpi_check.hpp"
#include "miniapp/transport/nccl_channel.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

namespace minigift {
namespace {

/// The name under which the ranks find each other: rank 0 makes it.
NcclChannel::Id common_id(MPI_Comm communicator, int rank) {
  NcclChannel::Id id{};
  if (rank == 0) id = NcclChannel::make_id();
  check_mpi(MPI_Bcast(id.data(), static_cast<int>(id.size()), MPI_BYTE, 0, communicator), "MPI_Bcast");
  return id;
}

/// "NCCL_ALGO=Ring", or "NCCL_ALGO unset": sums depend on it.
std::string setting(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? fmt::format("{} unset", variable) : fmt::format("{}={}", variable, value);
}

class NcclDevice final : public DeviceChannel {
 public:
  NcclDevice(MPI_Comm communicator, int rank, std::vector<RankDevice> devices, std::function<void()> poll)
      : devices_(std::move(devices)),
        version_(nccl_loaded_version()),
        channel_(common_id(communicator, rank), rank, static_cast<int>(devices_.size()), std::move(poll)) {}

  void all_reduce(void* values, std::int64_t count, Element element, ElementReduction reduction) override {
    channel_.all_reduce(values, count, element, reduction, stream());
  }
  void reduce_scatter_sum(void* values, std::int64_t count, Element element) override {
    channel_.reduce_scatter_sum(values, count, element, stream());
  }
  void all_to_all(const std::uint8_t* send, std::uint8_t* receive, std::int64_t bytes_per_peer) override {
    channel_.all_to_all(send, receive, bytes_per_peer, stream());
  }
  void all_gather(const std::uint8_t* send, std::uint8_t* receive, std::int64_t bytes) override {
    channel_.all_gather(send, receive, bytes, stream());
  }
  void check() override { channel_.check(); }
  void abort() noexcept override { channel_.abort(); }
  std::optional<std::string> refuses(Format format) const override {
    return nccl_refuses(format, version_, devices_);
  }
  std::string library() const override {
    return fmt::format("NCCL {} (compiled for {}), {}, {}", nccl_version_text(version_),
                       nccl_version_text(nccl_compiled_version()), setting("NCCL_ALGO"),
                       setting("NCCL_PROTO"));
  }

 private:
  static NcclChannel::Stream stream() { return current_space().cuda_stream(); }

  std::vector<RankDevice> devices_;
  int version_;
  NcclChannel channel_;
};

}  // namespace

std::string nccl_version() {
  return nccl_version_text(nccl_loaded_version());
}

std::unique_ptr<DeviceChannel> open_nccl(MPI_Comm communicator, const std::vector<RankDevice>& devices,
                                         std::function<void()> poll) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  return std::make_unique<NcclDevice>(communicator, rank, devices, std::move(poll));
}

}  // namespace minigift
