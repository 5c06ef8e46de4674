#pragma once
// One row of the benchmark: a collective, a format, a number of elements. What such a row is called, how its
// bandwidths are defined, and whether it can be.

#include "miniapp/deck/comm_deck.hpp"
#include "miniapp/transport/communicator.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace minigift {

/// What a collective leaves behind.
enum class Outcome {
  sum,      ///< the sum of all ranks' gradients, on every rank
  own_sum,  ///< the same, of each rank's own part
  move      ///< bytes of other ranks, unchanged
};

struct CommCase {
  CollectiveChoice collective = CollectiveChoice::native;
  Format format = Format::fp32;
  std::int64_t count = 0;        ///< elements of the gradient
  std::int64_t scale_block = 0;  ///< elements per scale; 0: one scale

  /// Bytes of the codes: the size by which a row is named.
  std::int64_t size() const { return count * bytes_per_code(format); }
};

Outcome outcome_of(CollectiveChoice collective);
/// Plain blocking calls of the MPI library.
bool is_plain_mpi(CollectiveChoice collective);

/// busbw / algbw = bytes per byte of size() that one rank must send: 2(N-1)/N for sums on every rank, (N-1)/N
/// for all others. The convention of nccl-tests (doc/PERFORMANCE.md there), where the size of a
/// reduce-scatter, an all-gather and an all-to-all is the buffer of all N parts.
double bus_factor(CollectiveChoice collective, int ranks);

/// Elements of the gradients to measure, ascending: minimum_bytes, times factor while not above
/// maximum_bytes; 4 bytes each.
std::vector<std::int64_t> gradient_counts(const CommDeck& deck);

/// Every case of the deck: by size, then format, then collective.
std::vector<CommCase> comm_cases(const CommDeck& deck);

/// Why a case cannot be measured here, the same on all ranks; empty: it can.
std::optional<std::string> reason_against(const CommCase& wanted, const Communicator& communicator);

/// Throws UsageError for what cannot be meant: plain MPI calls on a GPU build, or with counts beyond an int;
/// the hierarchical sum on nodes that have not as many ranks each; a collective that none of the formats can
/// be used with.
void check_cases(const std::vector<CommCase>& cases, const Communicator& communicator);

}  // namespace minigift
