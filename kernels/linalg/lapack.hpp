#pragma once
// One name per LAPACK and BLAS routine for both precisions, row-major. Only kernels/linalg includes this.

#include <cblas.h>
#include <lapacke.h>

namespace minigift::linalg {

inline lapack_int syevd(lapack_int n, double* a, double* values) {
  return LAPACKE_dsyevd(LAPACK_ROW_MAJOR, 'V', 'L', n, a, n, values);
}
inline lapack_int syevd(lapack_int n, float* a, float* values) {
  return LAPACKE_ssyevd(LAPACK_ROW_MAJOR, 'V', 'L', n, a, n, values);
}
inline lapack_int potrf(lapack_int n, double* a) {
  return LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', n, a, n);
}
inline lapack_int potrf(lapack_int n, float* a) {
  return LAPACKE_spotrf(LAPACK_ROW_MAJOR, 'L', n, a, n);
}
inline lapack_int geqrf(lapack_int m, lapack_int n, double* a, double* tau) {
  return LAPACKE_dgeqrf(LAPACK_ROW_MAJOR, m, n, a, n, tau);
}
inline lapack_int geqrf(lapack_int m, lapack_int n, float* a, float* tau) {
  return LAPACKE_sgeqrf(LAPACK_ROW_MAJOR, m, n, a, n, tau);
}
inline lapack_int orgqr(lapack_int m, lapack_int n, double* a, const double* tau) {
  return LAPACKE_dorgqr(LAPACK_ROW_MAJOR, m, n, n, a, n, tau);
}
inline lapack_int orgqr(lapack_int m, lapack_int n, float* a, const float* tau) {
  return LAPACKE_sorgqr(LAPACK_ROW_MAJOR, m, n, n, a, n, tau);
}
/// b (m, n) <- b l^{-T}, l (n, n) lower.
inline void trsm_right_lower_transposed(lapack_int m, lapack_int n, const double* l, double* b) {
  cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, m, n, 1.0, l, n, b, n);
}
inline void trsm_right_lower_transposed(lapack_int m, lapack_int n, const float* l, float* b) {
  cblas_strsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, m, n, 1.0f, l, n, b, n);
}
/// gram (n, n) <- q^T q, q (m, n); only the lower triangle is written, with half the work of a product.
inline void syrk_transposed(lapack_int m, lapack_int n, const double* q, double* gram) {
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, n, m, 1.0, q, n, 0.0, gram, n);
}
inline void syrk_transposed(lapack_int m, lapack_int n, const float* q, float* gram) {
  cblas_ssyrk(CblasRowMajor, CblasLower, CblasTrans, n, m, 1.0f, q, n, 0.0f, gram, n);
}

}  // namespace minigift::linalg
