#include "miniapp/trace/hdf5_attribute.hpp"

#include "kernels/error.hpp"

namespace minigift {
namespace {

Hdf5Handle text_type(const Hdf5Place& place) {
  Hdf5Handle type(check_hdf5(H5Tcopy(H5T_C_S1), "H5Tcopy", place), H5Tclose);
  check_hdf5(H5Tset_size(type.get(), H5T_VARIABLE), "H5Tset_size", place);
  check_hdf5(H5Tset_cset(type.get(), H5T_CSET_UTF8), "H5Tset_cset", place);
  return type;
}

Hdf5Handle scalar_space(const Hdf5Place& place) {
  return {check_hdf5(H5Screate(H5S_SCALAR), "H5Screate", place), H5Sclose};
}

Hdf5Handle array_space(std::size_t count, const Hdf5Place& place) {
  const hsize_t extent = count;
  return {check_hdf5(H5Screate_simple(1, &extent, nullptr), "H5Screate_simple", place), H5Sclose};
}

void write_data(const Hdf5Object& object, const char* name, hid_t file_type, hid_t memory_type, hid_t space,
                const void* data) {
  const Hdf5Handle attribute(
      check_hdf5(H5Acreate2(object.id, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT), "H5Acreate2",
                 object.place),
      H5Aclose);
  check_hdf5(H5Awrite(attribute.get(), memory_type, data), "H5Awrite", object.place);
}

[[noreturn]] void throw_wrong(const Hdf5Object& object, const char* name, std::string_view what) {
  throw RuntimeError(fmt::format("trace {}, {}: attribute {} {}", object.place.file,
                                 object.place.object.empty() ? "/" : object.place.object, name, what));
}

/// An attribute that is there, of this class of type, and how many elements it has.
struct OpenAttribute {
  Hdf5Handle attribute;
  std::size_t count = 0;
};

OpenAttribute open_attribute(const Hdf5Object& object, const char* name, H5T_class_t type_class) {
  if (!has_attribute(object, name)) throw_wrong(object, name, "is missing");
  OpenAttribute result;
  result.attribute =
      Hdf5Handle(check_hdf5(H5Aopen(object.id, name, H5P_DEFAULT), "H5Aopen", object.place), H5Aclose);
  const Hdf5Handle type(check_hdf5(H5Aget_type(result.attribute.get()), "H5Aget_type", object.place),
                        H5Tclose);
  if (H5Tget_class(type.get()) != type_class)
    throw_wrong(object, name, "has another type than a trace gives it");
  if (type_class == H5T_STRING && H5Tis_variable_str(type.get()) <= 0)
    throw_wrong(object, name, "is no text of variable length");
  const Hdf5Handle space(check_hdf5(H5Aget_space(result.attribute.get()), "H5Aget_space", object.place),
                         H5Sclose);
  result.count = static_cast<std::size_t>(
      check_hdf5(H5Sget_simple_extent_npoints(space.get()), "H5Sget_simple_extent_npoints", object.place));
  return result;
}

template <class T>
std::vector<T> read_numbers(const Hdf5Object& object, const char* name, H5T_class_t type_class,
                            hid_t memory_type) {
  const OpenAttribute open = open_attribute(object, name, type_class);
  std::vector<T> values(open.count);
  if (open.count > 0)
    check_hdf5(H5Aread(open.attribute.get(), memory_type, values.data()), "H5Aread", object.place);
  return values;
}

template <class T>
T single(const Hdf5Object& object, const char* name, std::vector<T> values) {
  if (values.size() != 1)
    throw_wrong(object, name, fmt::format("has {} values instead of one", values.size()));
  return std::move(values.front());
}

}  // namespace

void write_attribute(const Hdf5Object& object, const char* name, std::int64_t value) {
  write_data(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, scalar_space(object.place).get(), &value);
}
void write_attribute(const Hdf5Object& object, const char* name, std::uint64_t value) {
  write_data(object, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, scalar_space(object.place).get(), &value);
}
void write_attribute(const Hdf5Object& object, const char* name, double value) {
  write_data(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, scalar_space(object.place).get(), &value);
}
void write_attribute(const Hdf5Object& object, const char* name, std::string_view text) {
  const std::string copy(text);  // HDF5 wants a final zero
  const char* pointer = copy.c_str();
  const Hdf5Handle type = text_type(object.place);
  write_data(object, name, type.get(), type.get(), scalar_space(object.place).get(), &pointer);
}
void write_attribute(const Hdf5Object& object, const char* name, const std::vector<std::uint64_t>& values) {
  write_data(object, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, array_space(values.size(), object.place).get(),
             values.data());
}
void write_attribute(const Hdf5Object& object, const char* name, const std::vector<double>& values) {
  write_data(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, array_space(values.size(), object.place).get(),
             values.data());
}
void write_attribute(const Hdf5Object& object, const char* name, const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts)
    pointers.push_back(text.c_str());
  const Hdf5Handle type = text_type(object.place);
  write_data(object, name, type.get(), type.get(), array_space(texts.size(), object.place).get(),
             pointers.data());
}

bool has_attribute(const Hdf5Object& object, const char* name) {
  return check_hdf5(H5Aexists(object.id, name), "H5Aexists", object.place) > 0;
}

std::int64_t read_int64(const Hdf5Object& object, const char* name) {
  return single(object, name, read_numbers<std::int64_t>(object, name, H5T_INTEGER, H5T_NATIVE_INT64));
}
std::uint64_t read_uint64(const Hdf5Object& object, const char* name) {
  return single(object, name, read_uint64s(object, name));
}
double read_double(const Hdf5Object& object, const char* name) {
  return single(object, name, read_doubles(object, name));
}
std::string read_text(const Hdf5Object& object, const char* name) {
  return single(object, name, read_texts(object, name));
}
std::vector<std::uint64_t> read_uint64s(const Hdf5Object& object, const char* name) {
  return read_numbers<std::uint64_t>(object, name, H5T_INTEGER, H5T_NATIVE_UINT64);
}
std::vector<double> read_doubles(const Hdf5Object& object, const char* name) {
  return read_numbers<double>(object, name, H5T_FLOAT, H5T_NATIVE_DOUBLE);
}

std::vector<std::string> read_texts(const Hdf5Object& object, const char* name) {
  const OpenAttribute open = open_attribute(object, name, H5T_STRING);
  std::vector<char*> pointers(open.count, nullptr);
  if (open.count == 0) return {};
  const Hdf5Handle type = text_type(object.place);
  check_hdf5(H5Aread(open.attribute.get(), type.get(), pointers.data()), "H5Aread", object.place);
  std::vector<std::string> texts;
  for (const char* pointer : pointers)
    texts.emplace_back(pointer == nullptr ? "" : pointer);
  const Hdf5Handle space(check_hdf5(H5Aget_space(open.attribute.get()), "H5Aget_space", object.place),
                         H5Sclose);
  check_hdf5(H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, pointers.data()), "H5Dvlen_reclaim",
             object.place);
  return texts;
}

}  // namespace minigift
