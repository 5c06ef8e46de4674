#pragma once
// One array of a trace while the ranks write it.

#include "miniapp/trace/hdf5_handle.hpp"
#include "miniapp/trace/layout.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace minigift {

/// Collective over the ranks of the file; throws RuntimeError on the rank that meets it.
void create_group(hid_t file, const std::string& name, std::string_view path);

struct ArrayStorage {
  std::int64_t ranks = 0;  ///< extent of the first axis; 0: there is none, one array for all
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  trace_layout::ChunkShape chunk;
  int deflate = 0;
  bool shuffle = false;
};

/// A dataset of floats. Constructor and close are collective; so are the writes if the array is filtered (all
/// ranks then make the same number of calls), else each rank writes when it likes.
class ParallelArray {
 public:
  ParallelArray(hid_t file, std::string_view path, std::string name, const ArrayStorage& storage);

  /// Writes a piece of rank `rank`'s part. `matrix` is the whole part (rows, columns) in memory.
  void write(int rank, const trace_layout::Piece& piece, const float* matrix);
  /// This rank's share of a collective write to which it has nothing to add.
  void write_nothing();
  void close();

 private:
  Hdf5Place place() const { return {path_, name_}; }

  std::string_view path_;
  std::string name_;
  ArrayStorage storage_;
  Hdf5Handle file_space_;
  Hdf5Handle memory_space_;
  Hdf5Handle transfer_;
  Hdf5Handle dataset_;
};

}  // namespace minigift
