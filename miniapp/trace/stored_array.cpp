#include "miniapp/trace/stored_array.hpp"

#include "kernels/error.hpp"

#include <array>
#include <utility>

namespace minigift {

StoredArray::StoredArray(hid_t file, std::string_view path, std::string name, bool per_rank)
    : path_(path), name_(std::move(name)), per_rank_(per_rank), dataset_(open_dataset(file, name_, path)) {
  const Hdf5Handle type(check_hdf5(H5Dget_type(get()), "H5Dget_type", place()), H5Tclose);
  require(H5Tequal(type.get(), H5T_IEEE_F32LE) > 0, "trace {}, {}: is no array of floats", path_, name_);
  space_ = {check_hdf5(H5Dget_space(get()), "H5Dget_space", place()), H5Sclose};
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  const int axes = check_hdf5(H5Sget_simple_extent_dims(space_.get(), extents.data(), nullptr),
                              "H5Sget_simple_extent_dims", place());
  const int expected = per_rank ? 3 : 2;
  require(axes == expected, "trace {}, {}: has {} dimensions instead of {}", path_, name_, axes, expected);
  const auto at = [&](int axis) {
    return static_cast<std::int64_t>(extents[static_cast<std::size_t>(axis)]);
  };
  if (per_rank) ranks_ = at(0);
  rows_ = at(axes - 2);
  columns_ = at(axes - 1);
}

HostMatrix<float> StoredArray::read(int rank) const {
  HostMatrix<float> result(Kokkos::view_alloc(name_, Kokkos::WithoutInitializing),
                           static_cast<std::size_t>(rows_), static_cast<std::size_t>(columns_));
  const hsize_t part[3] = {1, static_cast<hsize_t>(rows_), static_cast<hsize_t>(columns_)};
  const hsize_t from[3] = {static_cast<hsize_t>(rank), 0, 0};
  const Hdf5Handle memory(check_hdf5(H5Screate_simple(2, part + 1, nullptr), "H5Screate_simple", place()),
                          H5Sclose);
  if (per_rank_) {
    require(rank >= 0 && rank < ranks_, "trace {}, {}: no rank {} among {}", path_, name_, rank, ranks_);
    check_hdf5(H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, from, nullptr, part, nullptr),
               "H5Sselect_hyperslab", place());
  }
  check_hdf5(H5Dread(get(), H5T_NATIVE_FLOAT, memory.get(), space_.get(), H5P_DEFAULT, result.data()),
             "H5Dread", place());
  return result;
}

}  // namespace minigift
