#pragma once
// Which ranks share a node, and where this process runs.

#include <mpi.h>

#include <string>

namespace minigift {

struct NodeTopology {
  int node_rank = 0;      ///< rank among those that share memory with this one
  int ranks_on_node = 1;  ///< their number
  int node_count = 1;
  int cores_on_node = 1;  ///< cores that at least one of these ranks may use
};

/// Collective over `communicator`.
NodeTopology find_node_topology(MPI_Comm communicator);

/// Name of this machine as MPI knows it.
std::string host_name();
/// CPU cores this process may run on, as ranges: "0-3,8". Empty where the system does not tell.
std::string allowed_cores();

}  // namespace minigift
