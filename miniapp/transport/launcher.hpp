#pragma once
// Did the launcher start as many tasks as MPI sees? A program built with another MPI than mpirun's runs as N
// separate worlds of one rank, each printing plausible numbers.

#include <string>

namespace minigift {

struct LaunchedTasks {
  int tasks = 0;         ///< 0: no launcher left a trace
  std::string variable;  ///< the environment variable that said so
};

/// Number of tasks of this launch, from the first variable that is set of OMPI_COMM_WORLD_SIZE, PMI_SIZE,
/// MV2_COMM_WORLD_SIZE, PALS_NRANKS, SLURM_STEP_NUM_TASKS. (Not SLURM_NTASKS: it describes the allocation,
/// also for a program started outside of srun.) Throws UsageError if the value is no positive number.
LaunchedTasks launched_tasks();

/// Throws UsageError if the launcher started several tasks and MPI sees only one.
void check_world_size(int world_size);

}  // namespace minigift
