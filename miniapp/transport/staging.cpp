#include "miniapp/transport/staging.hpp"

#include "kernels/error.hpp"

#include <array>

namespace minigift {
namespace {

constexpr std::array<Staging, 4> all_stagings = {Staging::automatic, Staging::host, Staging::direct,
                                                 Staging::nccl};

StagingChoice choose_automatically(const StagingFacts& facts) {
  if (facts.shared_gpus) return {Staging::host, "automatic: ranks share GPUs"};
  if (!facts.nccl.empty())
    return {Staging::nccl, "automatic: NCCL is compiled in, every rank has a GPU of its own"};
  if (facts.mpi_takes_device_memory.value_or(false))
    return {Staging::direct, "automatic: MPI says that it takes device memory, NCCL is not compiled in"};
  return {Staging::host, facts.mpi_takes_device_memory
                             ? "automatic: MPI takes no device memory, NCCL is not compiled in"
                             : "automatic: MPI does not say that it takes device memory, NCCL is not "
                               "compiled in"};
}

}  // namespace

const char* name(Staging staging) {
  switch (staging) {
    case Staging::automatic:
      return "automatic";
    case Staging::host:
      return "host";
    case Staging::direct:
      return "direct";
    case Staging::nccl:
      break;
  }
  return "nccl";
}

Staging staging_from_name(const std::string& text) {
  for (const Staging staging : all_stagings) {
    if (text == name(staging)) return staging;
  }
  throw UsageError(fmt::format("unknown transport \"{}\": use automatic, host, direct or nccl", text));
}

StagingChoice choose_staging(Staging wanted, const StagingFacts& facts) {
  if (facts.memory_is_on_host) {
    require_usage(wanted == Staging::automatic || wanted == Staging::host,
                  "transport \"{}\" needs a program built for a GPU; this one computes in host memory",
                  name(wanted));
    return {Staging::host, ""};
  }
  if (wanted == Staging::automatic) return choose_automatically(facts);
  if (wanted == Staging::nccl) {
    require_usage(!facts.nccl.empty(),
                  "transport \"nccl\": this program was built without NCCL (MINIGIFT_ENABLE_NCCL)");
    require_usage(
        !facts.shared_gpus,
        "transport \"nccl\": ranks share a GPU, which NCCL refuses; use transport \"host\", or one rank "
        "per GPU");
  }
  const bool against_its_word = wanted == Staging::direct && !facts.mpi_takes_device_memory.value_or(false);
  if (!against_its_word) return {wanted, "asked for"};
  return {wanted, facts.mpi_takes_device_memory ? "asked for, although MPI says that it takes none"
                                                : "asked for; MPI does not say whether it takes any"};
}

std::string describe(const StagingChoice& choice, const StagingFacts& facts) {
  if (facts.memory_is_on_host) return "host memory";
  std::string how;
  if (choice.staging == Staging::nccl) {
    how = fmt::format("device memory through NCCL {}", facts.nccl);
  } else if (choice.staging == Staging::direct) {
    how = "device memory through MPI, its reductions staged through the host";
  } else {
    how = "device memory staged through the host";
  }
  return fmt::format("{} ({})", how, choice.reason);
}

}  // namespace minigift
