#pragma once
// Which ranks share a node, and where this process runs.

#include <mpi.h>

#include <string>
#include <vector>

namespace minigift {

struct NodeTopology {
  int node_rank = 0;         ///< rank among those of this one's node
  int ranks_on_node = 1;     ///< their number
  int node_count = 1;        //
  int node_index = 0;        ///< of this rank's node, 0 ... node_count - 1
  std::vector<int> node_of;  ///< (ranks) index of each rank's node; nodes are numbered by their lowest rank
  // Of the machine as it is, whatever ranks are to count as a node:
  int ranks_on_host = 1;  ///< ranks that share memory with this one, itself included
  int cores_on_host = 1;  ///< cores that at least one of these ranks may use
};

/// Ranks that share memory form a node. Collective over `communicator`.
NodeTopology find_node_topology(MPI_Comm communicator);

/// The topology as `rank` sees it where ranks with the same number in `nodes` (one number per rank) form a
/// node. The machine's part is left as in a default NodeTopology.
NodeTopology arrange_nodes(const std::vector<int>& nodes, int rank);

/// Name of this machine as MPI knows it.
std::string host_name();
/// CPU cores this process may run on, as ranges: "0-3,8". Empty where the system does not tell.
std::string allowed_cores();

}  // namespace minigift
