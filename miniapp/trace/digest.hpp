#pragma once
// Digests of what a file says about its arrays: paths, types, shapes and attributes, the arrays' content
// hashes among them. They find changes and damage; they are no signature, for whoever can write the file can
// write them, too.

#include "miniapp/trace/hdf5_handle.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minigift {

struct ObjectDigest {
  std::string path;  ///< "/" for the root
  std::uint64_t digest = 0;
};

/// Every group and dataset below the root, and the root, in the order of their paths. How a dataset is stored
/// (chunks, filters) does not count, nor do the attributes that hold digests: h5repack changes nothing here.
/// Throws RuntimeError with the object's path if one cannot be read.
std::vector<ObjectDigest> object_digests(hid_t file, std::string_view path);

/// Of the whole file: of all paths with their digests.
std::uint64_t content_digest_of(const std::vector<ObjectDigest>& objects);

}  // namespace minigift
