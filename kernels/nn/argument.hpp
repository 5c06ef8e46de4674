#pragma once
// Read-only arguments of the layers. The scalar type of a call is deduced from its output alone; an input may
// then be given as Matrix<S> or Matrix<const S>, since a parameter in a non-deduced context accepts implicit
// conversions.

#include "kernels/view.hpp"

#include <type_traits>

namespace minigift {

template <class S>
using ConstVector = Vector<const std::type_identity_t<S>>;
template <class S>
using ConstMatrix = Matrix<const std::type_identity_t<S>>;

}  // namespace minigift
