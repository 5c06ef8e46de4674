#include "kernels/linalg/cuda/factorizations.hpp"

#include "kernels/linalg/cuda/check.hpp"

#include <cublas_v2.h>
#include <cusolverDn.h>
#include <limits>
#include <map>
#include <memory>
#include <type_traits>
#include <vector>

namespace minigift::linalg::cuda {
namespace {

/// Names the operation and the size at the head of every message.
struct Call {
  const char* operation;
  std::int64_t rows, columns;

  template <class... Args>
  void require_that(bool condition, fmt::format_string<Args...> format, Args&&... args) const {
    require(condition, "{} of a {} x {} matrix on the GPU: {}", operation, rows, columns,
            fmt::format(format, std::forward<Args>(args)...));
  }
  void check(cusolverStatus_t status, const char* function) const {
    require_that(status == CUSOLVER_STATUS_SUCCESS, "{} failed with cusolverStatus_t {}{}", function,
                 static_cast<int>(status),
                 status == CUSOLVER_STATUS_ALLOC_FAILED ? ", out of device memory" : "");
  }
  void check(cublasStatus_t status, const char* function) const {
    require_that(status == CUBLAS_STATUS_SUCCESS, "{} failed: {} ({})", function,
                 cublasGetStatusString(status), cublasGetStatusName(status));
  }
  int narrow(std::int64_t extent) const {
    constexpr std::int64_t limit = std::numeric_limits<int>::max();
    require_that(extent <= limit, "cuSOLVER's orgqr ends at an extent of {}", limit);
    return static_cast<int>(extent);
  }
};

/// What the libraries need for the work on one stream.
struct Solver {
  Owned<cusolverDnHandle_t, cusolverDnDestroy> handle;
  Owned<cusolverDnParams_t, cusolverDnDestroyParams> parameters;
  Owned<cublasHandle_t, cublasDestroy> blas;
  DeviceBuffer workspace, info;
  std::vector<char> host_workspace;

  int* device_info() { return static_cast<int*>(info.reserve(sizeof(int), "cuSOLVER's info")); }
};

/// Ended by release_factorizations, not by the end of the process, when the CUDA runtime may be gone already.
std::map<cudaStream_t, Solver>*& kept() {
  static std::map<cudaStream_t, Solver>* solvers = nullptr;
  return solvers;
}

Solver& solver_of(cudaStream_t stream, const Call& call) {
  if (kept() == nullptr) kept() = new std::map<cudaStream_t, Solver>;
  const auto found = kept()->find(stream);
  if (found != kept()->end()) return found->second;
  Solver fresh;
  call.check(cusolverDnCreate(fresh.handle.address()), "cusolverDnCreate");
  call.check(cusolverDnSetStream(fresh.handle.get(), stream), "cusolverDnSetStream");
  call.check(cusolverDnCreateParams(fresh.parameters.address()), "cusolverDnCreateParams");
  call.check(cublasCreate(fresh.blas.address()), "cublasCreate");
  call.check(cublasSetStream(fresh.blas.get(), stream), "cublasSetStream");
  return kept()->emplace(stream, std::move(fresh)).first->second;
}

/// The info that a routine left on the device; waits for the stream.
int read_info(cudaStream_t stream, Solver& solver) {
  int info = 0;
  check_runtime(cudaMemcpyAsync(&info, solver.device_info(), sizeof(info), cudaMemcpyDeviceToHost, stream),
                "cudaMemcpyAsync");
  check_runtime(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return info;
}

template <class S>
constexpr cudaDataType data_type = std::is_same_v<S, double> ? CUDA_R_64F : CUDA_R_32F;

/// Workspaces of a 64-bit routine, on both sides. The host's must live until the stream has done the work;
/// every caller waits for the info.
struct Workspaces {
  void *device, *host;
};
Workspaces reserve(Solver& solver, std::size_t device_bytes, std::size_t host_bytes) {
  if (solver.host_workspace.size() < host_bytes) solver.host_workspace.resize(host_bytes);
  return {solver.workspace.reserve(device_bytes, "cuSOLVER"),
          host_bytes > 0 ? solver.host_workspace.data() : nullptr};
}

cusolverStatus_t orgqr_elements(cusolverDnHandle_t handle, int m, int n, const float* a, const float* factors,
                                int* elements) {
  return cusolverDnSorgqr_bufferSize(handle, m, n, n, a, m, factors, elements);
}
cusolverStatus_t orgqr_elements(cusolverDnHandle_t handle, int m, int n, const double* a,
                                const double* factors, int* elements) {
  return cusolverDnDorgqr_bufferSize(handle, m, n, n, a, m, factors, elements);
}
cusolverStatus_t orgqr(cusolverDnHandle_t handle, int m, int n, float* a, const float* factors, void* work,
                       int elements, int* info) {
  return cusolverDnSorgqr(handle, m, n, n, a, m, factors, static_cast<float*>(work), elements, info);
}
cusolverStatus_t orgqr(cusolverDnHandle_t handle, int m, int n, double* a, const double* factors, void* work,
                       int elements, int* info) {
  return cusolverDnDorgqr(handle, m, n, n, a, m, factors, static_cast<double*>(work), elements, info);
}

cublasStatus_t trsm(cublasHandle_t handle, std::int64_t n, std::int64_t m, const float* u, float* b) {
  const float one = 1;
  return cublasStrsm_64(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT,
                        n, m, &one, u, n, b, n);
}
cublasStatus_t trsm(cublasHandle_t handle, std::int64_t n, std::int64_t m, const double* u, double* b) {
  const double one = 1;
  return cublasDtrsm_64(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT,
                        n, m, &one, u, n, b, n);
}

}  // namespace

template <class S>
int symmetric_eigen(cudaStream_t stream, std::int64_t n, S* a, S* values) {
  const Call call{"eigendecomposition", n, n};
  constexpr cudaDataType type = data_type<S>;
  Solver& solver = solver_of(stream, call);
  std::size_t device_bytes = 0, host_bytes = 0;
  call.check(cusolverDnXsyevd_bufferSize(solver.handle.get(), solver.parameters.get(),
                                         CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, n, type, a, n,
                                         type, values, type, &device_bytes, &host_bytes),
             "cusolverDnXsyevd_bufferSize");
  const Workspaces work = reserve(solver, device_bytes, host_bytes);
  call.check(cusolverDnXsyevd(solver.handle.get(), solver.parameters.get(), CUSOLVER_EIG_MODE_VECTOR,
                              CUBLAS_FILL_MODE_UPPER, n, type, a, n, type, values, type, work.device,
                              device_bytes, work.host, host_bytes, solver.device_info()),
             "cusolverDnXsyevd");
  return read_info(stream, solver);
}

template <class S>
int cholesky_upper(cudaStream_t stream, std::int64_t n, S* a) {
  const Call call{"Cholesky factorization", n, n};
  constexpr cudaDataType type = data_type<S>;
  Solver& solver = solver_of(stream, call);
  std::size_t device_bytes = 0, host_bytes = 0;
  call.check(cusolverDnXpotrf_bufferSize(solver.handle.get(), solver.parameters.get(), CUBLAS_FILL_MODE_UPPER,
                                         n, type, a, n, type, &device_bytes, &host_bytes),
             "cusolverDnXpotrf_bufferSize");
  const Workspaces work = reserve(solver, device_bytes, host_bytes);
  call.check(
      cusolverDnXpotrf(solver.handle.get(), solver.parameters.get(), CUBLAS_FILL_MODE_UPPER, n, type, a, n,
                       type, work.device, device_bytes, work.host, host_bytes, solver.device_info()),
      "cusolverDnXpotrf");
  return read_info(stream, solver);
}

template <class S>
void solve_upper_transposed_left(cudaStream_t stream, std::int64_t n, std::int64_t m, const S* u, S* b) {
  const Call call{"triangular solve", m, n};
  call.check(trsm(solver_of(stream, call).blas.get(), n, m, u, b), "cublas trsm");
}

template <class S>
int qr_reflectors(cudaStream_t stream, std::int64_t m, std::int64_t n, S* a, S* factors) {
  const Call call{"QR factorization", m, n};
  constexpr cudaDataType type = data_type<S>;
  Solver& solver = solver_of(stream, call);
  std::size_t device_bytes = 0, host_bytes = 0;
  call.check(cusolverDnXgeqrf_bufferSize(solver.handle.get(), solver.parameters.get(), m, n, type, a, m, type,
                                         factors, type, &device_bytes, &host_bytes),
             "cusolverDnXgeqrf_bufferSize");
  const Workspaces work = reserve(solver, device_bytes, host_bytes);
  call.check(cusolverDnXgeqrf(solver.handle.get(), solver.parameters.get(), m, n, type, a, m, type, factors,
                              type, work.device, device_bytes, work.host, host_bytes, solver.device_info()),
             "cusolverDnXgeqrf");
  return read_info(stream, solver);
}

template <class S>
int qr_vectors(cudaStream_t stream, std::int64_t m, std::int64_t n, S* a, const S* factors) {
  const Call call{"QR factorization", m, n};
  const int rows = call.narrow(m), columns = call.narrow(n);
  Solver& solver = solver_of(stream, call);
  int elements = 0;
  call.check(orgqr_elements(solver.handle.get(), rows, columns, a, factors, &elements),
             "cusolverDn orgqr_bufferSize");
  const Workspaces work = reserve(solver, static_cast<std::size_t>(elements) * sizeof(S), 0);
  call.check(
      orgqr(solver.handle.get(), rows, columns, a, factors, work.device, elements, solver.device_info()),
      "cusolverDn orgqr");
  return read_info(stream, solver);
}

void release_factorizations() {
  delete kept();
  kept() = nullptr;
}

std::string cusolver_version() {
  int parts[3] = {};
  const libraryPropertyType properties[] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
  for (int i = 0; i < 3; ++i)
    if (cusolverGetProperty(properties[i], &parts[i]) != CUSOLVER_STATUS_SUCCESS) return "cuSOLVER";
  return fmt::format("cuSOLVER {}.{}.{}", parts[0], parts[1], parts[2]);
}

#define MINIGIFT_INSTANTIATE(S)                                                                         \
  template int symmetric_eigen<S>(cudaStream_t, std::int64_t, S*, S*);                                  \
  template int cholesky_upper<S>(cudaStream_t, std::int64_t, S*);                                       \
  template void solve_upper_transposed_left<S>(cudaStream_t, std::int64_t, std::int64_t, const S*, S*); \
  template int qr_reflectors<S>(cudaStream_t, std::int64_t, std::int64_t, S*, S*);                      \
  template int qr_vectors<S>(cudaStream_t, std::int64_t, std::int64_t, S*, const S*);
MINIGIFT_INSTANTIATE(float)
MINIGIFT_INSTANTIATE(double)
#undef MINIGIFT_INSTANTIATE

}  // namespace minigift::linalg::cuda
