#pragma once
// Factorizations through cuSOLVER's 64-bit interface on plain device pointers, column-major as the library
// has them. No Kokkos: this is compiled wherever nvcc is found. Nothing is checked but statuses; what a
// caller may rely on is checked in factorize_cuda.cpp.
//
// S is float or double. Work goes to `stream`. Functions that return an integer wait for the stream and
// return the library's info: 0 for success, -i for a wrong i-th argument, positive as said with each.
// Throws RuntimeError naming the operation and the size. Calls come from one host thread.

#include <cstdint>
#include <cuda_runtime_api.h>
#include <string>

namespace minigift::linalg::cuda {

/// a (n, n) symmetric, its upper triangle read, becomes the eigenvectors, one per column; values (n) ascend.
/// info > 0: no convergence.
template <class S>
int symmetric_eigen(cudaStream_t stream, std::int64_t n, S* a, S* values);

/// The upper triangle of a (n, n) becomes U with a = U^T U; what lies below it stays as it was. info = i > 0:
/// the leading minor of order i is not positive definite.
template <class S>
int cholesky_upper(cudaStream_t stream, std::int64_t n, S* a);

/// b (n, m) <- U^{-T} b with u (n, n), its upper triangle read. The host does not wait.
template <class S>
void solve_upper_transposed_left(cudaStream_t stream, std::int64_t n, std::int64_t m, const S* u, S* b);

/// a (m, n), m >= n, becomes R in its upper triangle and Householder vectors below; factors (n) their scales.
template <class S>
int qr_reflectors(cudaStream_t stream, std::int64_t m, std::int64_t n, S* a, S* factors);

/// a (m, n) and factors (n) of qr_reflectors; a becomes the first n columns of Q. cuSOLVER has this in 32-bit
/// extents only (orgqr has no 64-bit form), so m and n are at most 2^31 - 1.
template <class S>
int qr_vectors(cudaStream_t stream, std::int64_t m, std::int64_t n, S* a, const S* factors);

/// Ends every handle and workspace of this file. Call when no stream holds work any more.
void release_factorizations();

/// "cuSOLVER 12.0.4"
std::string cusolver_version();

}  // namespace minigift::linalg::cuda
