#pragma once
// Which GPU a rank uses, and whether it has it for itself.

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace minigift {

/// One GPU, as its process sees it.
struct DeviceInfo {
  int index = -1;  ///< among the GPUs this process may see; -1: a host build
  std::string name;
  std::string pci_bus_id;      ///< "0000:41:00.0": the same GPU whatever index processes give it
  int compute_capability = 0;  ///< 10 * major + minor: 90 for sm_90
  std::int64_t memory = 0;     ///< [B]
};

/// A rank's GPU and the machine it is in.
struct RankDevice {
  std::string host;
  DeviceInfo device;
};

// --- implemented by gpu_cuda.cpp or, in builds without CUDA, gpu_none.cpp
/// Whether this build computes on CUDA GPUs.
bool built_for_gpu();
/// GPUs this process may see; 0 on a host build.
int device_count();
/// The GPU that this process uses now; index -1 on a host build.
DeviceInfo current_device();

/// The GPU of the rank that is node_rank-th on its node: ranks take the visible GPUs in turn. Where the
/// launcher shows every rank one GPU of its own, all take their number 0.
int mapped_device(int node_rank, int visible_devices);

/// The index of the GPU this rank shall use, to be given to Kokkos::initialize; -1 on a host build.
/// Collective. Throws RuntimeError if this rank sees no GPU.
int choose_device(MPI_Comm communicator);

/// All ranks' machines and GPUs, in rank order. Collective.
std::vector<RankDevice> gather_devices(MPI_Comm communicator, const DeviceInfo& mine);

/// Groups of ranks that use the same GPU (machine and PCI bus id), two ranks or more each.
std::vector<std::vector<int>> ranks_sharing_devices(const std::vector<RankDevice>& devices);

/// Throws UsageError, with the ranks and GPUs, if two ranks use one GPU and may not.
void check_sharing(const std::vector<RankDevice>& devices, bool allowed);

/// Whether the environment allows ranks to share a GPU: MINIGIFT_SHARE_GPU=1, for programs without a command
/// line of their own (the tests). Throws UsageError for values other than 0 and 1.
bool sharing_allowed_by_environment();

}  // namespace minigift
