#include "miniapp/transport/code_sum.hpp"

#include "kernels/error.hpp"
#include "kernels/format/codec.hpp"
#include "miniapp/transport/mpi_check.hpp"

namespace minigift {
namespace {

/// An MPI_User_function. *length is whatever piece of the buffer MPI works on.
template <class Codec>
void add_codes(void* lower, void* higher, int* length, MPI_Datatype*) {
  using Code = typename Codec::Code;
  const Code* x = static_cast<const Code*>(lower);
  Code* y = static_cast<Code*>(higher);
  const int count = *length;
#pragma omp simd
  for (int i = 0; i < count; ++i)
    y[i] = Codec::encode(Codec::decode(x[i]) + Codec::decode(y[i]));
}

MPI_User_function* function_of(Format format) {
  if (format == Format::bf16) return &add_codes<CodecBf16>;
  return format == Format::e4m3 ? &add_codes<CodecE4M3> : &add_codes<CodecE5M2>;
}

}  // namespace

CodeSum::~CodeSum() {
  for (MPI_Op& operation : operations_) {
    if (operation != MPI_OP_NULL) MPI_Op_free(&operation);
  }
}

MPI_Datatype CodeSum::type(Format format) {
  require(format != Format::int8, "codes of format int8 cannot be added");
  if (format == Format::fp32) return MPI_FLOAT;
  return format == Format::bf16 ? MPI_UINT16_T : MPI_UINT8_T;
}

MPI_Op CodeSum::operation(Format format) {
  require(format != Format::int8, "codes of format int8 cannot be added");
  if (format == Format::fp32) return MPI_SUM;
  const std::size_t index = format == Format::bf16 ? 0 : format == Format::e4m3 ? 1 : 2;
  MPI_Op& operation = operations_[index];
  constexpr int commutes = 0;
  if (operation == MPI_OP_NULL)
    check_mpi(MPI_Op_create(function_of(format), commutes, &operation), "MPI_Op_create");
  return operation;
}

}  // namespace minigift
