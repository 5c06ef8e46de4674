#include "miniapp/report/environment.hpp"

#include "kernels/view.hpp"
#include "miniapp/report/table.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace minigift {
namespace {

/// The value of the first line "key : value" of a file, or "unknown".
std::string first_value(const char* path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t begin = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return "unknown";
}

nlohmann::ordered_json cpus_allowed() {
  auto list = nlohmann::ordered_json::array();
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return nullptr;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) list.push_back(cpu);
  }
  return list;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace

bool environment_name_allowed(std::string_view name) {
  static constexpr std::array<std::string_view, 10> prefixes = {
      "OMP_",  "OPENBLAS_NUM_", "MKL_NUM_", "KOKKOS_NUM_", "OMPI_MCA_",
      "NCCL_", "UCX_",          "FI_",      "MPICH_",      "DNNL_"};
  static constexpr std::array<std::string_view, 9> names = {
      "SLURM_JOB_ID",     "SLURM_JOB_NUM_NODES",   "SLURM_NNODES",
      "SLURM_NTASKS",     "SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK",
      "KOKKOS_DEVICE_ID", "CUDA_VISIBLE_DEVICES",  "OMPI_COMM_WORLD_SIZE"};
  // A prefix alone would let OMPI_MCA_... carry a password someone put there.
  static constexpr std::array<std::string_view, 7> never = {"TOKEN",      "SECRET", "PASS",  "KEY",
                                                            "CREDENTIAL", "AUTH",   "COOKIE"};
  // What mpirun hands to its own processes: session folders and addresses, no setting of the user's.
  static constexpr std::array<std::string_view, 4> launcher = {
      "OMPI_MCA_orte_", "OMPI_MCA_ess_", "OMPI_MCA_initial_wdir", "OMPI_MCA_shmem_RUNTIME"};
  for (const std::string_view prefix : launcher) {
    if (name.starts_with(prefix)) return false;
  }
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  for (const std::string_view word : never) {
    if (upper.find(word) != std::string::npos) return false;
  }
  return std::find(names.begin(), names.end(), name) != names.end() ||
         std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view p) { return name.starts_with(p); });
}

std::string program_version() {
  return MINIGIFT_VERSION;
}

nlohmann::ordered_json environment_record(const LibraryVersions& libraries) {
  nlohmann::ordered_json record;
  record["git"] = {{"commit", build_git_commit()}, {"dirty", build_git_dirty()}};
  record["compiler"] = MINIGIFT_COMPILER;
  record["compiler_flags"] = MINIGIFT_FLAGS;
  record["build_type"] = MINIGIFT_BUILD_TYPE;
  record["kokkos"] = {{"version", MINIGIFT_KOKKOS_VERSION},
                      {"backend", ExecutionSpace::name()},
                      {"concurrency", ExecutionSpace().concurrency()}};
  record["mpi"] = libraries.mpi;
  record["linear_algebra"] = libraries.linalg;
  record["cpu_model"] = first_value("/proc/cpuinfo", "model name");
  record["logical_cpus"] = std::thread::hardware_concurrency();
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGE_SIZE);
  record["memory_bytes"] = pages > 0 && page_bytes > 0
                               ? nlohmann::ordered_json(std::int64_t{pages} * page_bytes)
                               : nlohmann::ordered_json(nullptr);
  record["clock"] = "std::chrono::steady_clock";
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !environment_name_allowed(text.substr(0, equals))) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::sort(variables.begin(), variables.end());
  auto& allowed = record["variables"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : variables)
    allowed[name] = value;
  return record;
}

nlohmann::ordered_json placement_record(int rank, const nlohmann::ordered_json& device) {
  return {{"rank", rank},
          {"host", host_name()},
          {"process", static_cast<std::int64_t>(getpid())},
          {"cpus", cpus_allowed()},
          {"device", device}};
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

}  // namespace minigift
