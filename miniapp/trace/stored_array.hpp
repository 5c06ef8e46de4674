#pragma once
// One array of a trace, opened for reading.

#include "kernels/view.hpp"
#include "miniapp/trace/hdf5_handle.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace minigift {

/// A dataset of floats (ranks, rows, columns), or (rows, columns) where all ranks share one. Everything
/// throws RuntimeError.
class StoredArray {
 public:
  StoredArray(hid_t file, std::string_view path, std::string name, bool per_rank);

  std::int64_t ranks() const { return ranks_; }  ///< 1 where all share it
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  hid_t get() const { return dataset_.get(); }
  Hdf5Place place() const { return {path_, name_}; }
  const std::string& name() const { return name_; }

  /// The part of a rank (any, where all share it).
  HostMatrix<float> read(int rank) const;

 private:
  std::string_view path_;
  std::string name_;
  bool per_rank_;
  Hdf5Handle dataset_;
  Hdf5Handle space_;
  std::int64_t ranks_ = 1;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
};

}  // namespace minigift
