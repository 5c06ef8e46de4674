#include "miniapp/transport/nccl_channel.hpp"

#include "kernels/error.hpp"

#include <cstring>
#include <cuda_runtime_api.h>
#include <exception>
#include <nccl.h>
#include <type_traits>
#include <utility>

namespace minigift {
namespace {

// FP8 types came with 2.24; non-blocking communicators with their configuration earlier.
static_assert(NCCL_VERSION_CODE >= NCCL_VERSION(2, 24, 0), "NCCL 2.24 or newer is needed");
static_assert(std::is_same_v<NcclChannel::Stream, cudaStream_t>);
static_assert(sizeof(NcclChannel::Id) == sizeof(ncclUniqueId));

ncclDataType_t nccl_type(Element element) {
  switch (element) {
    case Element::float32:
      return ncclFloat32;
    case Element::float64:
      return ncclFloat64;
    case Element::bfloat16:
      return ncclBfloat16;
    case Element::e4m3:
      return ncclFloat8e4m3;
    case Element::e5m2:
      break;
  }
  return ncclFloat8e5m2;
}

/// Never ncclAvg: it multiplies by 1/N rounded to the type first, which in FP8 is wrong by several percent
/// for most N and zero from N = 1024 on.
ncclRedOp_t nccl_reduction(ElementReduction reduction) {
  return reduction == ElementReduction::sum ? ncclSum : ncclMax;
}

void check_cuda(cudaError_t code, const char* call) {
  require(code == cudaSuccess, "{}: {} ({})", call, cudaGetErrorString(code), cudaGetErrorName(code));
}

/// Sends and receives between its ends start together. Inside, calls only note what is wanted.
class Group {
 public:
  Group() { keep(ncclGroupStart()); }
  void keep(ncclResult_t result) {
    if (result != ncclSuccess && result != ncclInProgress && first_error_ == ncclSuccess)
      first_error_ = result;
  }
  /// The result to settle: the first error of a call inside, else that of the end.
  ncclResult_t end() {
    const ncclResult_t result = ncclGroupEnd();
    return first_error_ != ncclSuccess ? first_error_ : result;
  }

 private:
  ncclResult_t first_error_ = ncclSuccess;
};

}  // namespace

int nccl_compiled_version() {
  return NCCL_VERSION_CODE;
}

int nccl_loaded_version() {
  int version = 0;
  const ncclResult_t result = ncclGetVersion(&version);
  require(result == ncclSuccess, "ncclGetVersion: {}", ncclGetErrorString(result));
  require(version >= NCCL_VERSION_CODE,
          "NCCL {} is loaded, but the program was compiled for {}: put the newer library first in "
          "LD_LIBRARY_PATH",
          nccl_version_text(version), nccl_version_text(NCCL_VERSION_CODE));
  return version;
}

std::string nccl_version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

NcclChannel::Id NcclChannel::make_id() {
  ncclUniqueId unique{};
  const ncclResult_t result = ncclGetUniqueId(&unique);
  require(result == ncclSuccess, "ncclGetUniqueId: {} ({})", ncclGetErrorString(result),
          ncclGetLastError(nullptr));
  Id id{};
  std::memcpy(id.data(), unique.internal, id.size());
  return id;
}

NcclChannel::NcclChannel(const Id& id, int rank, int size, Poll poll)
    : rank_(rank), size_(size), poll_(std::move(poll)), exceptions_(std::uncaught_exceptions()) {
  ncclUniqueId unique{};
  std::memcpy(unique.internal, id.data(), id.size());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  try {
    settle(ncclCommInitRankConfig(&communicator_, size, unique, rank, &config), "ncclCommInitRankConfig");
  } catch (...) {
    abort();
    throw;
  }
}

NcclChannel::~NcclChannel() {
  if (communicator_ == nullptr) return;
  if (std::uncaught_exceptions() > exceptions_) {
    // The other ranks may not come.
    abort();
    return;
  }
  try {
    settle(ncclCommFinalize(communicator_), "ncclCommFinalize");
    // Local, once finalised. What it leaves in progress is NCCL's own clearing up: the handle is gone.
    const ncclResult_t result = ncclCommDestroy(std::exchange(communicator_, nullptr));
    require(result == ncclSuccess || result == ncclInProgress, "ncclCommDestroy on rank {}: {}", rank_,
            ncclGetErrorString(result));
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", rank_, error.what());
    abort();
  }
}

void NcclChannel::all_reduce(void* values, std::int64_t count, Element element, ElementReduction reduction,
                             Stream stream) {
  settle(ncclAllReduce(values, values, static_cast<std::size_t>(count), nccl_type(element),
                       nccl_reduction(reduction), communicator_, stream),
         "ncclAllReduce");
}

void NcclChannel::reduce_scatter_sum(void* values, std::int64_t count, Element element, Stream stream) {
  const ncclDataType_t type = nccl_type(element);
  const std::size_t bytes = element == Element::float64    ? 8
                            : element == Element::float32  ? 4
                            : element == Element::bfloat16 ? 2
                                                           : 1;
  auto* own = static_cast<std::uint8_t*>(values) + static_cast<std::size_t>(rank_ * count) * bytes;
  settle(
      ncclReduceScatter(values, own, static_cast<std::size_t>(count), type, ncclSum, communicator_, stream),
      "ncclReduceScatter");
}

void NcclChannel::all_to_all(const std::uint8_t* send, std::uint8_t* receive, std::int64_t bytes_per_peer,
                             Stream stream) {
  const auto bytes = static_cast<std::size_t>(bytes_per_peer);
  const std::int64_t own = rank_ * bytes_per_peer;
  check_cuda(cudaMemcpyAsync(receive + own, send + own, bytes, cudaMemcpyDeviceToDevice, stream),
             "cudaMemcpyAsync of a rank's own block");
  if (size_ == 1) return;
  // As in BlockExchange: no rank is everyone's first target.
  Group group;
  for (int distance = 1; distance < size_; ++distance) {
    const int to = (rank_ + distance) % size_;
    const int from = (rank_ - distance + size_) % size_;
    group.keep(ncclSend(send + to * bytes_per_peer, bytes, ncclUint8, to, communicator_, stream));
    group.keep(ncclRecv(receive + from * bytes_per_peer, bytes, ncclUint8, from, communicator_, stream));
  }
  settle(group.end(), "ncclSend and ncclRecv of all_to_all");
}

void NcclChannel::all_gather(const std::uint8_t* send, std::uint8_t* receive, std::int64_t bytes,
                             Stream stream) {
  settle(ncclAllGather(send, receive, static_cast<std::size_t>(bytes), ncclUint8, communicator_, stream),
         "ncclAllGather");
}

void NcclChannel::check() const {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t result = ncclCommGetAsyncError(communicator_, &state);
  if (result == ncclSuccess && (state == ncclSuccess || state == ncclInProgress)) return;
  const ncclResult_t error = result != ncclSuccess ? result : state;
  throw RuntimeError(fmt::format("NCCL on rank {}: {} ({})", rank_, ncclGetErrorString(error),
                                 ncclGetLastError(communicator_)));
}

void NcclChannel::abort() noexcept {
  if (communicator_ != nullptr) ncclCommAbort(std::exchange(communicator_, nullptr));
}

void NcclChannel::settle(int result, const char* call) const {
  auto state = static_cast<ncclResult_t>(result);
  while (state == ncclInProgress) {
    poll_();
    const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &state);
    if (asked != ncclSuccess) state = asked;
  }
  if (state == ncclSuccess) return;
  const char* words = ncclGetLastError(communicator_);
  throw RuntimeError(fmt::format("{} on rank {}: {} ({})", call, rank_, ncclGetErrorString(state),
                                 words != nullptr ? words : ""));
}

}  // namespace minigift
