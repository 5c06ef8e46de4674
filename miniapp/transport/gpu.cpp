#include "miniapp/transport/gpu.hpp"

#include "kernels/error.hpp"
#include "miniapp/transport/mpi_check.hpp"
#include "miniapp/transport/node.hpp"

#include <array>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

namespace minigift {
namespace {

/// What travels: fixed size, so that one collective suffices. Longer names are cut.
struct Record {
  std::array<char, 256> host;
  std::array<char, 128> name;
  std::array<char, 32> pci_bus_id;
  std::int32_t index;
  std::int32_t compute_capability;
  std::int64_t memory;
};

template <std::size_t Size>
void put(std::array<char, Size>& to, const std::string& text) {
  text.copy(to.data(), Size - 1);  // the record was zeroed
}

}  // namespace

int mapped_device(int node_rank, int visible_devices) {
  require(visible_devices > 0,
          "this rank sees no GPU: the program is built for one; check the driver (nvidia-smi) and "
          "CUDA_VISIBLE_DEVICES");
  return node_rank % visible_devices;
}

int choose_device(MPI_Comm communicator) {
  const NodeTopology node = find_node_topology(communicator);
  if (!built_for_gpu()) return -1;
  return mapped_device(node.node_rank, device_count());
}

std::vector<RankDevice> gather_devices(MPI_Comm communicator, const DeviceInfo& mine) {
  Record record{};
  put(record.host, host_name());
  put(record.name, mine.name);
  put(record.pci_bus_id, mine.pci_bus_id);
  record.index = mine.index;
  record.compute_capability = mine.compute_capability;
  record.memory = mine.memory;
  int size = 1;
  check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  std::vector<Record> records(static_cast<std::size_t>(size));
  constexpr int bytes = sizeof(Record);
  check_mpi(MPI_Allgather(&record, bytes, MPI_BYTE, records.data(), bytes, MPI_BYTE, communicator),
            "MPI_Allgather");
  std::vector<RankDevice> devices;
  for (const Record& of_rank : records) {
    devices.push_back({of_rank.host.data(),
                       {of_rank.index, of_rank.name.data(), of_rank.pci_bus_id.data(),
                        of_rank.compute_capability, of_rank.memory}});
  }
  return devices;
}

std::vector<std::vector<int>> ranks_sharing_devices(const std::vector<RankDevice>& devices) {
  std::map<std::pair<std::string, std::string>, std::vector<int>> users;
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    const auto& [host, device] = devices[rank];
    if (device.index >= 0) users[{host, device.pci_bus_id}].push_back(static_cast<int>(rank));
  }
  std::vector<std::vector<int>> groups;
  for (const auto& [place, ranks] : users) {
    if (ranks.size() > 1) groups.push_back(ranks);
  }
  return groups;
}

void check_sharing(const std::vector<RankDevice>& devices, bool allowed) {
  const auto groups = ranks_sharing_devices(devices);
  if (allowed || groups.empty()) return;
  std::string list;
  for (const auto& ranks : groups) {
    const auto& [host, device] = devices[static_cast<std::size_t>(ranks.front())];
    list += fmt::format("{}ranks {} use {} at {} of {}", list.empty() ? "" : "; ", fmt::join(ranks, ","),
                        device.name, device.pci_bus_id, host);
  }
  throw UsageError(fmt::format(
      "{}: start one rank per GPU, or allow it with --share-gpu (or MINIGIFT_SHARE_GPU=1)", list));
}

bool sharing_allowed_by_environment() {
  const char* value = std::getenv("MINIGIFT_SHARE_GPU");
  if (value == nullptr) return false;
  const std::string_view text(value);
  require_usage(text == "0" || text == "1", "environment variable MINIGIFT_SHARE_GPU=\"{}\" must be 0 or 1",
                text);
  return text == "1";
}

}  // namespace minigift
