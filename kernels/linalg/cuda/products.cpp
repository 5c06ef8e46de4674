#include "kernels/linalg/cuda/products.hpp"

#include "kernels/linalg/cuda/check.hpp"

#include <cublasLt.h>
#include <map>
#include <memory>
#include <unordered_map>

namespace minigift::linalg::cuda {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;
using Handle = Owned<cublasLtHandle_t, cublasLtDestroy>;

/// Names what was wanted at the head of every message.
void check(cublasStatus_t status, const char* call, const PlanKey& key) {
  require(status == CUBLAS_STATUS_SUCCESS,
          "{} product op(a) ({}, {}) times op(b) ({}, {}){}{} on the GPU: {} failed: {} ({})", name(key.kind),
          key.shape.m, key.shape.k, key.shape.k, key.shape.n, key.shape.transpose_a ? ", a transposed" : "",
          key.shape.transpose_b ? ", b transposed" : "", call, cublasLtGetStatusString(status),
          cublasLtGetStatusName(status));
}

/// Types of a kind of product.
struct Types {
  cudaDataType factors, result, scale;
  cublasComputeType_t compute;
};
Types types_of(ProductKind kind) {
  switch (kind) {
    case ProductKind::fp32:
      return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case ProductKind::tf32:
      return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case ProductKind::bf16:
      return {CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case ProductKind::fp64:
      break;
  }
  return {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
}

/// What is kept of a product: the layouts of b, a and c in column-major order, and the chosen algorithm.
struct Plan {
  Description description;
  Layout first, second, result;
  cublasLtMatmulAlgo_t algorithm{};
};

Layout make_layout(cudaDataType type, const ColumnMajorMatrix& matrix, const PlanKey& key) {
  Layout layout;
  check(cublasLtMatrixLayoutCreate(layout.address(), type, static_cast<std::uint64_t>(matrix.rows),
                                   static_cast<std::uint64_t>(matrix.columns), matrix.rows),
        "cublasLtMatrixLayoutCreate", key);
  return layout;
}

Plan make_plan(cublasLtHandle_t handle, const PlanKey& key) {
  const Types types = types_of(key.kind);
  const ColumnMajorProduct product = column_major(key.shape);
  Plan plan;
  check(cublasLtMatmulDescCreate(plan.description.address(), types.compute, types.scale),
        "cublasLtMatmulDescCreate", key);
  const auto set_operation = [&](cublasLtMatmulDescAttributes_t attribute, bool transpose) {
    const cublasOperation_t operation = transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(plan.description.get(), attribute, &operation, sizeof(operation)),
          "cublasLtMatmulDescSetAttribute", key);
  };
  set_operation(CUBLASLT_MATMUL_DESC_TRANSA, product.b.transpose);
  set_operation(CUBLASLT_MATMUL_DESC_TRANSB, product.a.transpose);
  plan.first = make_layout(types.factors, product.b, key);
  plan.second = make_layout(types.factors, product.a, key);
  plan.result = make_layout(types.result, product.c, key);

  Preference preference;
  check(cublasLtMatmulPreferenceCreate(preference.address()), "cublasLtMatmulPreferenceCreate", key);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof(value)),
          "cublasLtMatmulPreferenceSetAttribute", key);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace_bytes));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.alignment_b);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.alignment_a);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.alignment_c);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.alignment_c);

  cublasLtMatmulHeuristicResult_t offer{};
  int offers = 0;
  check(cublasLtMatmulAlgoGetHeuristic(handle, plan.description.get(), plan.first.get(), plan.second.get(),
                                       plan.result.get(), plan.result.get(), preference.get(), 1, &offer,
                                       &offers),
        "cublasLtMatmulAlgoGetHeuristic", key);
  check(offers > 0 ? offer.state : CUBLAS_STATUS_NOT_SUPPORTED, "the choice of an algorithm", key);
  plan.algorithm = offer.algo;
  return plan;
}

/// One handle and one set of plans for the process; workspaces by stream, since products on two streams may
/// run at the same time.
struct Products {
  Handle handle;
  std::unordered_map<PlanKey, Plan, PlanKeyHash> plans;
  std::map<cudaStream_t, DeviceBuffer> workspaces;
};

/// Ended by release_products. Not by the end of the process, when the CUDA runtime may be gone already.
Products*& kept() {
  static Products* products = nullptr;
  return products;
}

Products& products_for(const PlanKey& key) {
  if (kept() == nullptr) {
    auto fresh = std::make_unique<Products>();
    check(cublasLtCreate(fresh->handle.address()), "cublasLtCreate", key);
    kept() = fresh.release();
  }
  return *kept();
}

const Plan& find_plan(Products& products, const PlanKey& key) {
  // A run uses some hundreds of keys. The limit only keeps a caller with ever-changing shapes from filling
  // memory. A plan that is made again is the same: the choice depends on the key alone.
  constexpr std::size_t most_kept = 8192;
  auto found = products.plans.find(key);
  if (found == products.plans.end()) {
    if (products.plans.size() >= most_kept) products.plans.clear();
    found = products.plans.emplace(key, make_plan(products.handle.get(), key)).first;
  }
  return found->second;
}

int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  check_runtime(cudaGetDevice(&device), "cudaGetDevice");
  check_runtime(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace

void product(cudaStream_t stream, ProductKind kind, const ProductShape& shape, double alpha, const void* a,
             const void* b, double beta, void* c) {
  const PlanKey key{kind, shape, alignment_of(a), alignment_of(b), alignment_of(c)};
  Products& products = products_for(key);
  const Plan& plan = find_plan(products, key);
  void* const workspace = products.workspaces[stream].reserve(workspace_bytes, "cuBLASLt");
  const auto multiply = [&](const auto& scale_product, const auto& scale_result) {
    check(cublasLtMatmul(products.handle.get(), plan.description.get(), &scale_product, b, plan.first.get(),
                         a, plan.second.get(), &scale_result, c, plan.result.get(), c, plan.result.get(),
                         &plan.algorithm, workspace, workspace_bytes, stream),
          "cublasLtMatmul", key);
  };
  // Scales are of the type of the sums.
  if (kind == ProductKind::fp64)
    multiply(alpha, beta);
  else
    multiply(static_cast<float>(alpha), static_cast<float>(beta));
}

void release_products() {
  delete kept();
  kept() = nullptr;
}

bool has_tensor_cores_for_tf32() {
  return device_attribute(cudaDevAttrComputeCapabilityMajor) >= 8;
}

std::string compute_capability() {
  return fmt::format("{}.{}", device_attribute(cudaDevAttrComputeCapabilityMajor),
                     device_attribute(cudaDevAttrComputeCapabilityMinor));
}

std::string cublaslt_version() {
  int parts[3] = {};
  const libraryPropertyType properties[] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
  for (int i = 0; i < 3; ++i)
    if (cublasLtGetProperty(properties[i], &parts[i]) != CUBLAS_STATUS_SUCCESS) return "cuBLASLt";
  return fmt::format("cuBLASLt {}.{}.{}", parts[0], parts[1], parts[2]);
}

}  // namespace minigift::linalg::cuda
