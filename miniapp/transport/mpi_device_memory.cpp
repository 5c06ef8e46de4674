#include "miniapp/transport/mpi_device_memory.hpp"

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>  // Open MPI and its relatives
#endif

namespace minigift {

std::optional<bool> mpi_takes_device_memory() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)  // the macro is what the library was built with; the call knows what
                                      // runs
  return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_GPU_SUPPORT_CUDA)  // MPICH and its relatives
  int supported = 0;
  if (MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported) != MPI_SUCCESS) return std::nullopt;
  return supported != 0;
#else
  return std::nullopt;
#endif
}

}  // namespace minigift
