#include "miniapp/transport/launcher.hpp"

#include "kernels/error.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace minigift {

LaunchedTasks launched_tasks() {
  // Innermost launcher first: mpirun inside a Slurm step sets both its own variable and inherits Slurm's.
  constexpr std::array<const char*, 5> variables = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
                                                    "PALS_NRANKS", "SLURM_STEP_NUM_TASKS"};
  for (const char* variable : variables) {
    const char* value = std::getenv(variable);
    if (value == nullptr) continue;
    const std::string_view text(value);
    int tasks = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tasks);
    require_usage(error == std::errc() && end == text.data() + text.size() && tasks > 0,
                  "environment variable {}=\"{}\" is not a positive number of tasks", variable, text);
    return {tasks, variable};
  }
  return {};
}

void check_world_size(int world_size) {
  const LaunchedTasks launched = launched_tasks();
  require_usage(
      launched.tasks <= 1 || world_size > 1,
      "the launcher started {} tasks ({}), but MPI sees only one: the program was built with another MPI "
      "library than the launcher's",
      launched.tasks, launched.variable);
}

}  // namespace minigift
