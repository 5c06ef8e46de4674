#include "miniapp/commands/run_report.hpp"

#include "kernels/linalg/gemm.hpp"
#include "miniapp/exchange/method.hpp"
#include "miniapp/report/environment.hpp"
#include "miniapp/report/gpu_state.hpp"
#include "miniapp/report/table.hpp"
#include "miniapp/train/deck_options.hpp"
#include "miniapp/transport/gpu.hpp"
#include "miniapp/transport/launcher.hpp"

#include <fmt/format.h>

#include <unistd.h>

namespace minigift {
namespace {

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

void print_run_header(const Setup& setup, const char* command) {
  const std::vector<Placement> placement = setup.communicator->placement();  // collective
  if (setup.communicator->rank() != 0) return;
  fmt::print("miniGIFT {}, git {}{}\n", command, build_git_commit().substr(0, 10),
             build_git_dirty() ? " (changed)" : "");
  fmt::print("  ranks    {}\n", setup.communicator->description());
  fmt::print("  algebra  {}\n", linalg_backend());
  fmt::print("  kernels  Kokkos {}.{}.{}, {}, {} thread{} per rank\n", KOKKOS_VERSION / 10000,
             KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100, ExecutionSpace::name(),
             ExecutionSpace().concurrency(), ExecutionSpace().concurrency() == 1 ? "" : "s");
  if (built_for_gpu()) print_devices(placement);
}

std::string describe_model(const Deck& deck) {
  const LlamaShape shape = llama_shape(deck.model);
  return fmt::format("{}: {} parameters, {} layers, C {}, H {} ({} kv), F {}, V {}, compute {}{}",
                     deck.model.name, cell_count(shape.parameter_count()), shape.layers, shape.hidden,
                     shape.heads, shape.kv_heads, shape.feed_forward, shape.vocabulary,
                     name_of(deck.train.compute), deck.model.recompute ? ", activations recomputed" : "");
}

std::string describe_batch(const Deck& deck, int ranks) {
  return fmt::format("{} sequences of {} tokens per step = {} ranks x {} micro-batches x {} sequences",
                     deck.train.global_batch, deck.train.sequence_length, ranks,
                     deck.train.global_batch / (ranks * deck.train.micro_batch), deck.train.micro_batch);
}

void print_methods(const Deck& deck, int ranks) {
  for (const MethodDeck& method : deck.methods)
    fmt::print("  method   {:<18} {}\n", method.name, describe(resolve_method(method, deck.exchange, ranks)));
}

void print_injections(const InjectDeck& inject) {
  if (!inject.slow_phase.empty())
    fmt::print("  INJECTED phase {} takes {:g} % longer\n", inject.slow_phase, inject.slow_percent);
  if (inject.fault != FaultPlace::none)
    fmt::print("  INJECTED the {} element of one result is changed on rank {}\n", name_of(inject.fault),
               inject.fault_rank);
  if (inject.hang != HangChoice::none)
    fmt::print("  INJECTED rank {} hangs ({})\n", inject.hang_rank, name_of(inject.hang));
}

std::unique_ptr<ProgressLine> run_progress_line() {
  // Under a launcher standard output may be a terminal here and a file at its other end.
  const bool terminal = isatty(fileno(stdout)) != 0 && launched_tasks().tasks == 0;
  return std::make_unique<ProgressLine>(stdout, 10.0, terminal);
}

RunRecord begin_record(const Setup& setup, const char* command, const std::vector<std::string>& arguments,
                       const std::string& started_utc) {
  RunRecord record;
  record.command = command;
  record.arguments = arguments;
  record.started_utc = started_utc;
  record.ranks = setup.communicator->size();
  record.environment = environment_record({setup.communicator->mpi_library(), linalg_backend()});
  for (const std::string& text : setup.communicator->gather_strings(
           placement_record(setup.communicator->rank(), device_record()).dump())) {
    record.placement.push_back(nlohmann::ordered_json::parse(text));
  }
  record.deck = setup.deck;
  return record;
}

nlohmann::ordered_json comparable_place(const Setup& setup, const char* command) {
  const Communicator& communicator = *setup.communicator;
  const DeviceInfo device = current_device();
  return {{"command", command},
          {"transport", name(communicator.staging())},
          {"ranks", communicator.size()},
          {"nodes", communicator.node_count()},
          {"ranks_per_node", communicator.ranks_on_node()},
          {"ranks_per_host", communicator.ranks_on_host()},  // nodes may be told: exchange.ranks_per_node
          {"threads", setup.threads},
          {"device", device.index < 0 ? std::string("host") : device.name}};
}

void add_comparable_model(const Deck& deck, nlohmann::ordered_json& comparable) {
  comparable["model"] = deck.model.name;
  comparable["parameters"] = llama_shape(deck.model).parameter_count();
  comparable["precision"] = name_of(deck.train.compute);
  comparable["global_batch"] = deck.train.global_batch;
  comparable["micro_batch"] = deck.train.micro_batch;
  comparable["sequence_length"] = deck.train.sequence_length;
}

void add_comparable_method(const Setup& setup, const MethodDeck& method, nlohmann::ordered_json& comparable) {
  comparable["method"] = method.name;
  comparable["composition"] =
      describe(resolve_method(method, setup.deck.exchange, setup.communicator->size()));
  comparable["bucket_megabytes"] = setup.deck.exchange.bucket_megabytes;
  comparable["overlap"] = setup.deck.exchange.overlap;
}

void add_keep_option(CLI::App& command, std::string& folder) {
  command.add_option(
      "--keep", folder,
      "Folder of kept results, e.g. results/my-cluster: the record goes there as CASE.json, or "
      "CASE-2.json where that exists, for minigift compare");
}

void keep_if_asked(Communicator& communicator, const std::string& folder, const std::string& case_name,
                   const RunRecord& record) {
  communicator.together([&] {
    if (communicator.rank() != 0 || folder.empty()) return;
    fmt::print("kept: {}\n", keep_record(folder, case_name, to_json(record)));
  });
}

}  // namespace minigift
