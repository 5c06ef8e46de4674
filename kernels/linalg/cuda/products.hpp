#pragma once
// Products through cuBLASLt on plain device pointers. No Kokkos: this is compiled wherever nvcc is found.

#include "kernels/linalg/cuda/product_plan.hpp"

#include <cuda_runtime_api.h>
#include <string>

namespace minigift::linalg::cuda {

/// c = alpha op(a) op(b) + beta c, enqueued on `stream`; the host does not wait. Row-major and contiguous, in
/// the memory of the current device, a and b of the elements that `kind` names. With beta = 0, c is not read.
/// Extents are 64-bit. Pointers need no more than the alignment of an element: slices of flat buffers do.
///
/// Equal kind, shape and alignment_of each pointer give the same algorithm for the life of the process, and
/// with it equal bits for equal inputs. The first call of a kind of product chooses it (some 50 us of host
/// time); the first call on a stream allocates a workspace of 32 MiB. Calls come from one host thread.
///
/// Throws RuntimeError naming the kind and the shape.
void product(cudaStream_t stream, ProductKind kind, const ProductShape& shape, double alpha, const void* a,
             const void* b, double beta, void* c);

/// Ends every plan, workspace and handle of `product`. Call when no stream holds work any more.
void release_products();

/// Whether the current device multiplies TF32 and bfloat16 in hardware: compute capability 8.0 or newer.
bool has_tensor_cores_for_tf32();
/// "9.0"
std::string compute_capability();
/// "cuBLASLt 13.0.2"
std::string cublaslt_version();

}  // namespace minigift::linalg::cuda
