// Entry point of the benchmarks that register themselves: Kokkos, one thread of linear algebra, named in the
// output.
#include "kernels/linalg/gemm.hpp"

#include <Kokkos_Core.hpp>
#include <benchmark/benchmark.h>

int main(int argc, char** argv) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  minigift::set_linalg_threads(1);
  benchmark::AddCustomContext("linear algebra", minigift::linalg_backend());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
