#pragma once
// What a run leaves behind: a measurement per row for run.json and kept results, and comm.csv.

#include "miniapp/comm/row.hpp"
#include "miniapp/deck/comm_deck.hpp"
#include "miniapp/report/measurement.hpp"

#include <span>
#include <string>

namespace minigift {

/// What all rows of a run have in common, and comparability needs.
struct CommSurroundings {
  bool hot = false;
  std::string transport;  ///< "host", "direct", "nccl"
  int ranks = 1;
  int nodes = 1;
  int ranks_per_node = 1;
  int ranks_per_host = 1;  ///< of the real machines, where nodes are only said to be some
  int threads = 1;
  std::string device = "host";  ///< name of the GPU
};

Measurement to_measurement(const CommRow& row, const CommSurroundings& surroundings);

/// comm.csv: one line per row and measured iteration.
std::string comm_csv(std::span<const CommRow> rows);

}  // namespace minigift
