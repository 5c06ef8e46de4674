#include "miniapp/trace/digest.hpp"

#include "kernels/error.hpp"
#include "kernels/format/host_hash.hpp"
#include "miniapp/trace/hdf5_attribute.hpp"
#include "miniapp/trace/layout.hpp"

#include <algorithm>

namespace minigift {
namespace {

using namespace trace_layout;

/// Groups deeper than this are not a trace's; a loop of links would have no end.
constexpr int deepest = 8;

/// A type in words: class, size, byte order and sign, members.
std::string describe_type(hid_t type, const Hdf5Place& place) {
  const H5T_class_t type_class = H5Tget_class(type);
  std::string text = fmt::format("{}:{}", static_cast<int>(type_class), H5Tget_size(type));
  if (type_class == H5T_INTEGER || type_class == H5T_FLOAT)
    text += fmt::format(":{}", static_cast<int>(H5Tget_order(type)));
  if (type_class == H5T_INTEGER) text += fmt::format(":{}", static_cast<int>(H5Tget_sign(type)));
  if (type_class == H5T_STRING)
    text = fmt::format("text:{}", H5Tis_variable_str(type) > 0 ? 0 : H5Tget_size(type));
  if (type_class != H5T_COMPOUND) return text;
  const int members = check_hdf5(H5Tget_nmembers(type), "H5Tget_nmembers", place);
  for (int i = 0; i < members; ++i) {
    const auto index = static_cast<unsigned>(i);
    char* name = H5Tget_member_name(type, index);
    const Hdf5Handle member(check_hdf5(H5Tget_member_type(type, index), "H5Tget_member_type", place),
                            H5Tclose);
    text +=
        fmt::format(" {}@{}={}", name, H5Tget_member_offset(type, index), describe_type(member.get(), place));
    H5free_memory(name);
  }
  return text;
}

std::string describe_space(hid_t space, const Hdf5Place& place) {
  const int rank = check_hdf5(H5Sget_simple_extent_ndims(space), "H5Sget_simple_extent_ndims", place);
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  check_hdf5(H5Sget_simple_extent_dims(space, extents.data(), nullptr), "H5Sget_simple_extent_dims", place);
  return fmt::format("({})", fmt::join(extents, ","));
}

std::string describe_attribute(const Hdf5Object& object, const std::string& name) {
  const Hdf5Place& place = object.place;
  const Hdf5Handle attribute(check_hdf5(H5Aopen(object.id, name.c_str(), H5P_DEFAULT), "H5Aopen", place),
                             H5Aclose);
  const Hdf5Handle type(check_hdf5(H5Aget_type(attribute.get()), "H5Aget_type", place), H5Tclose);
  const Hdf5Handle space(check_hdf5(H5Aget_space(attribute.get()), "H5Aget_space", place), H5Sclose);
  std::string text =
      fmt::format("{} {} {}\n", name, describe_type(type.get(), place), describe_space(space.get(), place));
  if (H5Tis_variable_str(type.get()) > 0) {
    for (const std::string& value : read_texts(object, name.c_str()))
      text += fmt::format("{}:{}\n", value.size(), value);
    return text;
  }
  require(H5Tdetect_class(type.get(), H5T_VLEN) == 0 && H5Tdetect_class(type.get(), H5T_REFERENCE) == 0,
          "trace {}, {}: attribute {} has a type that no trace has", place.file, place.object, name);
  const auto elements =
      check_hdf5(H5Sget_simple_extent_npoints(space.get()), "H5Sget_simple_extent_npoints", place);
  std::string bytes(static_cast<std::size_t>(elements) * H5Tget_size(type.get()), '\0');
  if (!bytes.empty()) check_hdf5(H5Aread(attribute.get(), type.get(), bytes.data()), "H5Aread", place);
  return text + bytes + '\n';
}

herr_t take_name(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

std::uint64_t digest_of_object(const Hdf5Object& object, const std::string& path) {
  std::string text = path + '\n';
  if (H5Iget_type(object.id) == H5I_DATASET) {
    const Hdf5Handle type(check_hdf5(H5Dget_type(object.id), "H5Dget_type", object.place), H5Tclose);
    const Hdf5Handle space(check_hdf5(H5Dget_space(object.id), "H5Dget_space", object.place), H5Sclose);
    text += fmt::format("dataset {} {}\n", describe_type(type.get(), object.place),
                        describe_space(space.get(), object.place));
  } else {
    text += "group\n";
  }
  std::vector<std::string> names;
  hsize_t position = 0;
  check_hdf5(H5Aiterate2(object.id, H5_INDEX_NAME, H5_ITER_NATIVE, &position, take_name, &names),
             "H5Aiterate2", object.place);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const bool holds_digest =
        name == object_digest || (path == "/" && (name == content_digest || name == complete));
    if (!holds_digest) text += describe_attribute(object, name);
  }
  return host_content_hash(text);
}

void add_object(hid_t parent, const std::string& name, const std::string& path, std::string_view file,
                int depth, std::vector<ObjectDigest>& objects) {
  const Hdf5Place place{file, path};
  require(depth <= deepest, "trace {}, {}: groups are nested deeper than in any trace", file, path);
  const Hdf5Handle object(check_hdf5(H5Oopen(parent, name.c_str(), H5P_DEFAULT), "H5Oopen", place), H5Oclose);
  objects.push_back({path, digest_of_object({object.get(), place}, path)});
  if (H5Iget_type(object.get()) != H5I_GROUP) return;
  for (const std::string& child : link_names(object.get(), place))
    add_object(object.get(), child, path == "/" ? "/" + child : path + "/" + child, file, depth + 1, objects);
}

}  // namespace

std::vector<ObjectDigest> object_digests(hid_t file, std::string_view path) {
  std::vector<ObjectDigest> objects;
  add_object(file, "/", "/", path, 0, objects);
  std::sort(objects.begin(), objects.end(),
            [](const ObjectDigest& a, const ObjectDigest& b) { return a.path < b.path; });
  return objects;
}

std::uint64_t content_digest_of(const std::vector<ObjectDigest>& objects) {
  std::string text;
  for (const ObjectDigest& object : objects)
    text += fmt::format("{} {:016x}\n", object.path, object.digest);
  return host_content_hash(text);
}

}  // namespace minigift
