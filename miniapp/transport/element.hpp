#pragma once
// What collectives on the device can add: types of elements and reductions. Free of Kokkos, MPI and NCCL.

namespace minigift {

enum class Element { float32, float64, bfloat16, e4m3, e5m2 };
enum class ElementReduction { sum, maximum };

}  // namespace minigift
