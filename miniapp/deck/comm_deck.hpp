#pragma once
// [comm]: the gradient collectives by message size.

#include "kernels/format/format.hpp"
#include "miniapp/deck/method_deck.hpp"

namespace minigift {

/// native, a2a and hierarchical add codes as miniapp/exchange does; allreduce is the collective library's own
/// sum; reduce-scatter, all-gather and all-to-all are the transport's, which they are made of; mpi-... are
/// plain blocking calls of the MPI library on host memory, for comparison.
enum class CollectiveChoice {
  native,
  a2a,
  hierarchical,
  allreduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  mpi_allreduce,
  mpi_reduce_scatter,
  mpi_all_gather,
  mpi_all_to_all
};
constexpr std::array<std::string_view, 11> names_of(CollectiveChoice) {
  return {"native",        "a2a",        "hierarchical",  "allreduce",          "reduce-scatter",
          "all-gather",    "all-to-all", "mpi-allreduce", "mpi-reduce-scatter", "mpi-all-gather",
          "mpi-all-to-all"};
}

struct CommDeck {
  std::int64_t minimum_bytes = 4096;
  std::int64_t maximum_bytes = 67108864;
  std::int64_t factor = 4;
  std::vector<Format> formats = {Format::fp32, Format::bf16, Format::e4m3};
  std::vector<CollectiveChoice> collectives = {CollectiveChoice::native, CollectiveChoice::a2a,
                                               CollectiveChoice::allreduce};
  std::int64_t scale_block = 0;
  std::int64_t warmup = 3;
  std::int64_t iterations = 20;
  double time_limit_seconds = 0;
  std::int64_t check_every = 5;
  bool hot = false;
  std::int64_t seed = 1;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(self.minimum_bytes,
          Key{.name = "minimum_bytes",
              .unit = "B",
              .help = "smallest FP32 gradient, 4 B per element; all formats send the same "
                      "elements",
              .minimum = 4});
    visit(self.maximum_bytes,
          Key{.name = "maximum_bytes", .unit = "B", .help = "largest FP32 gradient", .minimum = 4});
    visit(self.factor, Key{.name = "factor", .help = "factor between two sizes", .minimum = 2});
    visit(self.formats, Key{.name = "formats", .help = "codes on the wire"});
    visit(
        self.collectives,
        Key{.name = "collectives",
            .help = "native, a2a, hierarchical: the exchange's own sums of codes; allreduce: the library's; "
                    "reduce-scatter, all-gather, all-to-all: the transport's; mpi-...: plain blocking calls "
                    "of the MPI library, for comparison"});
    visit(self.scale_block, Key{.name = "scale_block",
                                .unit = "elements",
                                .help = "elements per scale of e4m3, e5m2 and int8; 0 is one scale for all",
                                .minimum = 0});
    visit(self.warmup, Key{.name = "warmup",
                           .unit = "iterations",
                           .help = "iterations of every row that count for nothing; the first one's time is "
                                   "reported apart",
                           .minimum = 1});
    visit(self.iterations,
          Key{.name = "iterations", .help = "measured iterations of every row", .minimum = 1});
    visit(self.time_limit_seconds,
          Key{.name = "time_limit_seconds",
              .unit = "s",
              .help = "stop measuring one row once its iterations have taken this long "
                      "together; 0 sets no limit",
              .minimum = 0});
    visit(self.check_every,
          Key{.name = "check_every",
              .unit = "iterations",
              .help =
                  "iterations between comparisons of every element with an FP64 sum; checksums are compared "
                  "in every iteration. 0 never compares, and the result is not valid",
              .minimum = 0});
    visit(self.hot, Key{.name = "hot",
                        .help = "use the same buffers in every iteration; otherwise they rotate through more "
                                "memory than the caches hold"});
    visit(self.seed, Key{.name = "seed", .help = "seed of the inputs", .minimum = 0});
  }
};

}  // namespace minigift
