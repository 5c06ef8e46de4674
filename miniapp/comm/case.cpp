#include "miniapp/comm/case.hpp"

#include "kernels/error.hpp"
#include "miniapp/exchange/node_groups.hpp"

#include <algorithm>
#include <limits>

namespace minigift {

Outcome outcome_of(CollectiveChoice collective) {
  switch (collective) {
    case CollectiveChoice::native:
    case CollectiveChoice::a2a:
    case CollectiveChoice::hierarchical:
    case CollectiveChoice::allreduce:
    case CollectiveChoice::mpi_allreduce:
      return Outcome::sum;
    case CollectiveChoice::reduce_scatter:
    case CollectiveChoice::mpi_reduce_scatter:
      return Outcome::own_sum;
    case CollectiveChoice::all_gather:
    case CollectiveChoice::all_to_all:
    case CollectiveChoice::mpi_all_gather:
    case CollectiveChoice::mpi_all_to_all:
      break;
  }
  return Outcome::move;
}

bool is_plain_mpi(CollectiveChoice collective) {
  return name_of(collective).starts_with("mpi-");
}

double bus_factor(CollectiveChoice collective, int ranks) {
  const double passes = outcome_of(collective) == Outcome::sum ? 2.0 : 1.0;
  return passes * (ranks - 1) / ranks;
}

std::vector<std::int64_t> gradient_counts(const CommDeck& deck) {
  std::vector<std::int64_t> counts;
  for (std::int64_t bytes = deck.minimum_bytes; bytes <= deck.maximum_bytes; bytes *= deck.factor) {
    counts.push_back(bytes / 4);
    if (bytes > deck.maximum_bytes / deck.factor) break;  // the next product may overflow
  }
  return counts;
}

std::vector<CommCase> comm_cases(const CommDeck& deck) {
  std::vector<CommCase> cases;
  for (const std::int64_t count : gradient_counts(deck)) {
    for (const Format format : deck.formats) {
      for (const CollectiveChoice collective : deck.collectives)
        cases.push_back({collective, format, count, deck.scale_block});
    }
  }
  return cases;
}

std::optional<std::string> reason_against(const CommCase& wanted, const Communicator& communicator) {
  switch (wanted.collective) {
    case CollectiveChoice::native:
    case CollectiveChoice::reduce_scatter:
      return communicator.native_all_reduce_refuses(wanted.format);
    case CollectiveChoice::allreduce:
      return communicator.native_all_reduce_refuses(wanted.format);
    case CollectiveChoice::mpi_allreduce:
    case CollectiveChoice::mpi_reduce_scatter:
      if (wanted.format != Format::fp32) return fmt::format("MPI has no type for {}", name(wanted.format));
      return std::nullopt;
    case CollectiveChoice::a2a:
    case CollectiveChoice::hierarchical:
    case CollectiveChoice::all_gather:
    case CollectiveChoice::all_to_all:
    case CollectiveChoice::mpi_all_gather:
    case CollectiveChoice::mpi_all_to_all:
      break;
  }
  return std::nullopt;
}

void check_cases(const std::vector<CommCase>& cases, const Communicator& communicator) {
  for (const CommCase& wanted : cases) {
    if (wanted.collective == CollectiveChoice::hierarchical) even_ranks_per_node(communicator);
    if (!is_plain_mpi(wanted.collective)) continue;
    require_usage(memory_is_on_host,
                  "comm.collectives: {} is a plain call of the MPI library on host memory; this program is "
                  "built for a GPU",
                  name_of(wanted.collective));
    // Parts are padded to 64 codes each.
    const std::int64_t padded = wanted.count + 64 * communicator.size();
    require_usage(padded * bytes_per_code(wanted.format) <= std::numeric_limits<int>::max(),
                  "comm.collectives: {} of {} elements in {}: a plain call of MPI counts no more than 2^31 - "
                  "1 bytes; lower comm.maximum_bytes",
                  name_of(wanted.collective), wanted.count, name(wanted.format));
  }
  for (const CommCase& wanted : cases) {
    const bool possible = std::any_of(cases.begin(), cases.end(), [&](const CommCase& other) {
      return other.collective == wanted.collective && !reason_against(other, communicator);
    });
    require_usage(possible, "comm.collectives: {} can be used with none of comm.formats: {}",
                  name_of(wanted.collective), reason_against(wanted, communicator).value_or(""));
  }
}

}  // namespace minigift
