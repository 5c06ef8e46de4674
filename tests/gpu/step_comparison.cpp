// step_comparison record DIR DECK [--set KEY=VALUE ...]    one step of the deck's first method, as files
// step_comparison compare DIR_1 DIR_2                      tensor by tensor; exit 0 within bounds, 1 beyond,
// 2 usage
//
// Made for a host build and a GPU build of the same sources: record with each, compare with either.

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/linalg/gemm.hpp"
#include "miniapp/commands/setup.hpp"
#include "miniapp/data/token_source.hpp"
#include "miniapp/deck/value_text.hpp"
#include "miniapp/train/trainer.hpp"
#include "miniapp/transport/kokkos_run.hpp"
#include "miniapp/transport/mpi_main.hpp"
#include "tests/gpu/step_record.hpp"

#include <Kokkos_Core.hpp>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace minigift {
namespace {

std::vector<float> values_of(const Vector<float>& view) {
  const auto host = on_host(view);
  return std::vector<float>(host.data(), host.data() + host.size());
}

StepRecord record_step(const Setup& setup) {
  const Deck& deck = setup.deck;
  const auto source = open_token_source(deck.data, deck.model.vocabulary);
  Trainer trainer(deck, deck.methods.front(), *source, *setup.communicator, nullptr);
  StepRecord record;
  record.model = deck.model.name;
  record.compute = name_of(deck.train.compute);
  record.method = trainer.method_name();
  record.backend =
      fmt::format("{}, {}, {} ranks", ExecutionSpace::name(), linalg_backend(), setup.communicator->size());
  for (const Parameter& p : trainer.model().registry())
    record.tensors.push_back({p.name, p.offset, p.size()});
  record.updates = values_of(trainer.model().parameters());
  record.loss = trainer.step().train_loss;
  record.gradients = values_of(trainer.model().gradients());
  const std::vector<float> after = values_of(trainer.model().parameters());
  for (std::size_t i = 0; i < after.size(); ++i)
    record.updates[i] = after[i] - record.updates[i];
  return record;
}

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  require_usage(words.size() >= 3 && (words[0] == "record" || words[0] == "compare"),
                "usage: step_comparison record DIR DECK [--set KEY=VALUE ...] | compare DIR_1 DIR_2");
  if (words[0] == "compare") {
    const StepRecord first = read_step(words[1]), second = read_step(words[2]);
    return compare_steps(first, second, step_bounds(first.compute)) ? 0 : 1;
  }
  std::vector<std::string> overrides;
  for (std::size_t i = 3; i < words.size(); i += 2) {
    require_usage(words[i] == "--set" && i + 1 < words.size(), "step_comparison: --set KEY=VALUE, not {}",
                  words[i]);
    overrides.push_back(words[i + 1]);
  }
  const KokkosRun kokkos({argv[0]});
  const Setup setup = set_up(words[2], overrides, "");
  const StepRecord record = record_step(setup);
  if (setup.communicator->rank() == 0) {
    write_step(words[1], record);
    fmt::print("{}: {}, loss {:.6f}, {} tensors\n", words[1], record.backend, record.loss,
               record.tensors.size());
  }
  return 0;
}

}  // namespace
}  // namespace minigift

int main(int argc, char** argv) {
  return minigift::mpi_main("step_comparison", argc, argv, [&](int) { return minigift::run(argc, argv); });
}
