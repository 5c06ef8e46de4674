#include "miniapp/commands/train_report.hpp"

#include "kernels/linalg/gemm.hpp"
#include "miniapp/exchange/method.hpp"
#include "miniapp/model/parameter_registry.hpp"
#include "miniapp/report/environment.hpp"
#include "miniapp/report/gpu_state.hpp"
#include "miniapp/report/table.hpp"
#include "miniapp/train/trainer.hpp"
#include "miniapp/transport/gpu.hpp"
#include "miniapp/transport/launcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unistd.h>

namespace minigift {
namespace {

/// Index of a phase by name.
std::size_t phase(std::string_view name) {
  return static_cast<std::size_t>(std::find(phase_names.begin(), phase_names.end(), name) -
                                  phase_names.begin());
}

/// Each rank's GPU.
void print_devices(const std::vector<Placement>& placement) {
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    const auto& [host, process, cores, device] = placement[rank];
    fmt::print("  rank {:<3} {}, GPU {}: {} at {}, sm_{}, {:.0f} GiB\n", rank, host, device.index,
               device.name, device.pci_bus_id, device.compute_capability,
               static_cast<double>(device.memory) / (1024.0 * 1024.0 * 1024.0));
  }
}

/// This rank's GPU with its clocks and power cap as they are now; null on a host build.
nlohmann::ordered_json device_record() {
  const DeviceInfo device = current_device();
  if (device.index < 0) return nullptr;
  return {{"index", device.index},           {"name", device.name},
          {"pci_bus_id", device.pci_bus_id}, {"compute_capability", device.compute_capability},
          {"memory_bytes", device.memory},   {"state", gpu_state(device.pci_bus_id)}};
}

}  // namespace

TrainProgress::TrainProgress(bool prints, const Deck& deck)
    : deck_(deck), prints_(prints), start_(std::chrono::steady_clock::now()), method_start_(start_) {
  // Under a launcher standard output may be a terminal here and a file at its other end.
  const bool terminal = isatty(fileno(stdout)) != 0 && launched_tasks().tasks == 0;
  if (prints_) line_ = std::make_unique<ProgressLine>(stdout, 10.0, terminal);
}

double TrainProgress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}
double TrainProgress::method_seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - method_start_).count();
}

void TrainProgress::header(const Setup& setup, const TokenSource& source) {
  const std::vector<Placement> placement = setup.communicator->placement();  // collective
  if (!prints_) return;
  const Deck& deck = setup.deck;
  const LlamaShape shape = llama_shape(deck.model);
  const std::int64_t ranks = setup.communicator->size();
  fmt::print("miniGIFT train, git {}{}\n", build_git_commit().substr(0, 10),
             build_git_dirty() ? " (changed)" : "");
  fmt::print("  ranks    {}\n", setup.communicator->description());
  fmt::print("  algebra  {}\n", linalg_backend());
  fmt::print("  kernels  Kokkos {}.{}.{}, {}, {} thread{} per rank\n", KOKKOS_VERSION / 10000,
             KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100, ExecutionSpace::name(),
             ExecutionSpace().concurrency(), ExecutionSpace().concurrency() == 1 ? "" : "s");
  if (built_for_gpu()) print_devices(placement);
  fmt::print("  model    {}: {} parameters, {} layers, C {}, H {} ({} kv), F {}, V {}, compute {}{}\n",
             deck.model.name, cell_count(shape.parameter_count()), shape.layers, shape.hidden, shape.heads,
             shape.kv_heads, shape.feed_forward, shape.vocabulary, name_of(deck.train.compute),
             deck.model.recompute ? ", activations recomputed" : "");
  fmt::print("  data     {}\n", source.description());
  fmt::print("  batch    {} sequences of {} tokens per step = {} ranks x {} micro-batches x {} sequences\n",
             deck.train.global_batch, deck.train.sequence_length, ranks,
             deck.train.global_batch / (ranks * deck.train.micro_batch), deck.train.micro_batch);
  for (const MethodDeck& method : deck.methods) {
    fmt::print("  method   {:<18} {}\n", method.name,
               describe(resolve_method(method, deck.exchange, static_cast<int>(ranks))));
  }
  fmt::print("  output   {}\n\n", deck.output.directory.empty()
                                      ? "none (--out DIR keeps run.json, steps.csv, figures)"
                                      : deck.output.directory);
  std::fflush(stdout);
}

void TrainProgress::begin_method(const std::string& description, double initial_validation_loss) {
  method_start_ = std::chrono::steady_clock::now();
  const auto& method = deck_.methods[static_cast<std::size_t>(methods_begun_++)];
  if (!prints_) return;
  line_->message(fmt::format("method {}: {}", method.name, description));
  line_->message(
      "  step    loss val loss   gnorm       lr   tok/s  step ms | forward backward refresh  coord encode   "
      "wire decode "
      "optim |   left");
  line_->message(fmt::format("{:>6} {:>7} {:>8.4f}", 0, "", initial_validation_loss));
}

double TrainProgress::fraction(std::int64_t step) const {
  const double of_method = static_cast<double>(step) / static_cast<double>(deck_.train.steps);
  return (static_cast<double>(methods_begun_ - 1) + of_method) / static_cast<double>(deck_.methods.size());
}

void TrainProgress::step(const StepRow& row, bool last) {
  if (!prints_) return;
  const double done = fraction(last ? deck_.train.steps : row.step);
  const double left = seconds() * (1.0 / done - 1.0);
  const bool validated = std::isfinite(row.validation_loss);
  if (last || validated || row.skipped || row.step % deck_.train.print_every == 0) {
    const auto ms = [&row](std::string_view name) { return 1e3 * row.phases[phase(name)]; };
    line_->message(fmt::format(
        "{:>6} {:>7.4f} {:>8} {:>7} {:>8.2e} {:>7.0f} {:>8.1f} | {:>7.1f} {:>8.1f} {:>7.1f} {:>6.1f} "
        "{:>6.1f} {:>6.1f} "
        "{:>6.1f} {:>5.1f} | {:>6}",
        row.step, row.train_loss, validated ? fmt::format("{:.4f}", row.validation_loss) : "",
        row.skipped ? "skipped" : fmt::format("{:.4f}", row.gradient_norm), row.learning_rate,
        row.tokens_per_second, 1e3 * row.step_seconds, ms("forward"), ms("backward"), ms("refresh"),
        ms("coordinates"), ms("encode"), ms("wire"), ms("decode"), ms("optimizer"), cell_duration(left)));
  } else {
    line_->update(done, fmt::format("{} step {}/{}, loss {:.3f}", row.method, row.step, deck_.train.steps,
                                    row.train_loss));
  }
}

void TrainProgress::message(const std::string& line) {
  if (prints_) line_->message(line);
}

void TrainProgress::finish() {
  if (prints_) line_->finish();
}

RunRecord begin_record(const Setup& setup, const TokenSource& source,
                       const std::vector<std::string>& arguments, const std::string& started_utc) {
  RunRecord record;
  record.command = "train";
  record.arguments = arguments;
  record.started_utc = started_utc;
  record.ranks = setup.communicator->size();
  record.data_description = source.description();
  record.data_hash = source.content_hash();
  record.parameters = llama_shape(setup.deck.model).parameter_count();
  record.environment = environment_record({setup.communicator->mpi_library(), linalg_backend()});
  for (const std::string& text : setup.communicator->gather_strings(
           placement_record(setup.communicator->rank(), device_record()).dump())) {
    record.placement.push_back(nlohmann::ordered_json::parse(text));
  }
  record.deck = setup.deck;
  return record;
}

void fill_differences(std::vector<MethodSummary>& methods) {
  const auto reference =
      std::find_if(methods.begin(), methods.end(), [](const MethodSummary& m) { return m.method == "fp32"; });
  if (reference == methods.end()) return;
  for (MethodSummary& method : methods) {
    method.validation_loss_difference = method.validation_loss - reference->validation_loss;
  }
}

std::int64_t warmup_rows(std::int64_t rows) {
  return std::min<std::int64_t>(2, rows / 2);
}

}  // namespace minigift
