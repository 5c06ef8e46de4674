#include "miniapp/transport/node.hpp"

#include "miniapp/transport/mpi_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>
#ifdef __linux__
#include <sched.h>
#endif

namespace minigift {
namespace {

/// Ranks may be bound to a core each, so that none sees all cores of the job: the union over the node's ranks
/// counts.
int count_cores(MPI_Comm node) {
#ifdef __linux__
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof(mine), &mine) != 0) CPU_ZERO(&mine);
  cpu_set_t all;
  CPU_ZERO(&all);
  check_mpi(MPI_Allreduce(&mine, &all, sizeof(all), MPI_BYTE, MPI_BOR, node), "MPI_Allreduce");
  if (CPU_COUNT(&all) > 0) return CPU_COUNT(&all);
#else
  static_cast<void>(node);
#endif
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

NodeTopology arrange_nodes(const std::vector<int>& nodes, int rank) {
  NodeTopology topology;
  std::vector<int> seen;  // the number of each node, in the order of their lowest ranks
  for (const int number : nodes) {
    const auto place = std::find(seen.begin(), seen.end(), number);
    topology.node_of.push_back(static_cast<int>(place - seen.begin()));
    if (place == seen.end()) seen.push_back(number);
  }
  topology.node_count = static_cast<int>(seen.size());
  const auto mine = topology.node_of.begin() + rank;
  topology.node_index = *mine;
  // The order within a node follows the order of the ranks.
  topology.node_rank = static_cast<int>(std::count(topology.node_of.begin(), mine, *mine));
  topology.ranks_on_node =
      static_cast<int>(std::count(topology.node_of.begin(), topology.node_of.end(), *mine));
  return topology;
}

NodeTopology find_node_topology(MPI_Comm communicator) {
  MPI_Comm node = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  check_mpi(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node),
            "MPI_Comm_split_type");
  // A node goes by its lowest rank.
  int lowest = rank;
  check_mpi(MPI_Bcast(&lowest, 1, MPI_INT, 0, node), "MPI_Bcast");
  const int cores = count_cores(node);
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  std::vector<int> nodes(static_cast<std::size_t>(size));
  check_mpi(MPI_Allgather(&lowest, 1, MPI_INT, nodes.data(), 1, MPI_INT, communicator), "MPI_Allgather");
  NodeTopology topology = arrange_nodes(nodes, rank);
  topology.ranks_on_host = topology.ranks_on_node;
  topology.cores_on_host = cores;
  return topology;
}

std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> text{};
  int length = 0;
  check_mpi(MPI_Get_processor_name(text.data(), &length), "MPI_Get_processor_name");
  return std::string(text.data(), static_cast<std::size_t>(length));
}

std::string allowed_cores() {
  std::string text;
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return text;
  const auto allowed = [&set](int core) {
    return core < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(core), &set);
  };
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!allowed(core)) continue;
    const int first = core;
    while (allowed(core + 1))
      ++core;
    if (!text.empty()) text += ',';
    text += first == core ? fmt::format("{}", first) : fmt::format("{}-{}", first, core);
  }
#endif
  return text;
}

}  // namespace minigift
