#include "miniapp/trace/parallel_array.hpp"

#include <utility>
#include <vector>

namespace minigift {

void create_group(hid_t file, const std::string& name, std::string_view path) {
  const Hdf5Place place{path, name};
  Hdf5Handle group(
      check_hdf5(H5Gcreate2(file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Gcreate2", place),
      H5Gclose, Unwinding::leave);
  group.close("H5Gclose", place);
}

ParallelArray::ParallelArray(hid_t file, std::string_view path, std::string name, const ArrayStorage& storage)
    : path_(path), name_(std::move(name)), storage_(storage) {
  std::vector<hsize_t> extents;
  std::vector<hsize_t> chunk;
  if (storage.ranks > 0) {
    extents.push_back(static_cast<hsize_t>(storage.ranks));
    chunk.push_back(1);
  }
  extents.insert(extents.end(), {static_cast<hsize_t>(storage.rows), static_cast<hsize_t>(storage.columns)});
  chunk.insert(chunk.end(),
               {static_cast<hsize_t>(storage.chunk.rows), static_cast<hsize_t>(storage.chunk.columns)});

  const Hdf5Handle list(check_hdf5(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate", place()), H5Pclose);
  const int axes = static_cast<int>(extents.size());
  check_hdf5(H5Pset_chunk(list.get(), axes, chunk.data()), "H5Pset_chunk", place());
  // Every element is written, so that nothing needs to be filled in before.
  check_hdf5(H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER), "H5Pset_fill_time", place());
  check_hdf5(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time", place());
  if (storage.shuffle) check_hdf5(H5Pset_shuffle(list.get()), "H5Pset_shuffle", place());
  if (storage.deflate > 0)
    check_hdf5(H5Pset_deflate(list.get(), static_cast<unsigned>(storage.deflate)), "H5Pset_deflate", place());

  file_space_ = {check_hdf5(H5Screate_simple(axes, extents.data(), nullptr), "H5Screate_simple", place()),
                 H5Sclose};
  const hsize_t memory[2] = {static_cast<hsize_t>(storage.rows), static_cast<hsize_t>(storage.columns)};
  memory_space_ = {check_hdf5(H5Screate_simple(2, memory, nullptr), "H5Screate_simple", place()), H5Sclose};
  transfer_ = {check_hdf5(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate", place()), H5Pclose};
  const bool filtered = storage.deflate > 0 || storage.shuffle;
  check_hdf5(H5Pset_dxpl_mpio(transfer_.get(), filtered ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT),
             "H5Pset_dxpl_mpio", place());
  dataset_ = {check_hdf5(H5Dcreate2(file, name_.c_str(), H5T_IEEE_F32LE, file_space_.get(), H5P_DEFAULT,
                                    list.get(), H5P_DEFAULT),
                         "H5Dcreate2", place()),
              H5Dclose, Unwinding::leave};
}

void ParallelArray::write(int rank, const trace_layout::Piece& piece, const float* matrix) {
  const auto length = [](std::int64_t value) { return static_cast<hsize_t>(value); };
  const hsize_t from[2] = {length(piece.row), length(piece.column)};
  const hsize_t count[2] = {length(piece.rows), length(piece.columns)};
  check_hdf5(H5Sselect_hyperslab(memory_space_.get(), H5S_SELECT_SET, from, nullptr, count, nullptr),
             "H5Sselect_hyperslab", place());
  std::vector<hsize_t> to(from, from + 2);
  std::vector<hsize_t> extent(count, count + 2);
  if (storage_.ranks > 0) {
    to.insert(to.begin(), length(rank));
    extent.insert(extent.begin(), 1);
  }
  check_hdf5(
      H5Sselect_hyperslab(file_space_.get(), H5S_SELECT_SET, to.data(), nullptr, extent.data(), nullptr),
      "H5Sselect_hyperslab", place());
  check_hdf5(H5Dwrite(dataset_.get(), H5T_NATIVE_FLOAT, memory_space_.get(), file_space_.get(),
                      transfer_.get(), matrix),
             "H5Dwrite", place());
}

void ParallelArray::write_nothing() {
  check_hdf5(H5Sselect_none(memory_space_.get()), "H5Sselect_none", place());
  check_hdf5(H5Sselect_none(file_space_.get()), "H5Sselect_none", place());
  const float nothing = 0.0f;
  check_hdf5(H5Dwrite(dataset_.get(), H5T_NATIVE_FLOAT, memory_space_.get(), file_space_.get(),
                      transfer_.get(), &nothing),
             "H5Dwrite", place());
}

void ParallelArray::close() {
  dataset_.close("H5Dclose", place());
}

}  // namespace minigift
