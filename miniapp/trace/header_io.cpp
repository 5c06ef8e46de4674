#include "miniapp/trace/header_io.hpp"

#include "kernels/error.hpp"
#include "kernels/format/host_hash.hpp"
#include "miniapp/trace/hdf5_attribute.hpp"
#include "miniapp/trace/layout.hpp"

#include <algorithm>
#include <cstring>

namespace minigift {
namespace {

using namespace trace_layout;

/// A column of a table: a text of `width` bytes, or an integer of 64 bits (width 0).
struct Field {
  const char* name;
  std::size_t width;
  std::size_t offset = 0;
  std::size_t bytes() const { return width == 0 ? sizeof(std::int64_t) : width; }
};

/// Rows of a compound type, packed as in the file.
class TableRows {
 public:
  TableRows(std::vector<Field> fields, std::size_t rows) : fields_(std::move(fields)) {
    for (Field& field : fields_) {
      field.offset = row_bytes_;
      row_bytes_ += field.bytes();
    }
    bytes_.resize(row_bytes_ * rows);
  }

  void set(std::size_t row, std::size_t field, const std::string& text) {
    std::memcpy(at(row, field), text.data(), std::min(text.size(), fields_[field].width));
  }
  void set(std::size_t row, std::size_t field, std::int64_t value) {
    std::memcpy(at(row, field), &value, sizeof(value));
  }
  std::string text(std::size_t row, std::size_t field) {
    const char* begin = at(row, field);
    return {begin, strnlen(begin, fields_[field].width)};
  }
  std::int64_t number(std::size_t row, std::size_t field) {
    std::int64_t value = 0;
    std::memcpy(&value, at(row, field), sizeof(value));
    return value;
  }
  std::size_t rows() const { return bytes_.size() / row_bytes_; }
  char* data() { return bytes_.data(); }
  std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }

  Hdf5Handle type(const Hdf5Place& place) const {
    Hdf5Handle compound(check_hdf5(H5Tcreate(H5T_COMPOUND, row_bytes_), "H5Tcreate", place), H5Tclose);
    for (const Field& field : fields_) {
      if (field.width == 0) {
        check_hdf5(H5Tinsert(compound.get(), field.name, field.offset, H5T_STD_I64LE), "H5Tinsert", place);
        continue;
      }
      const Hdf5Handle text(check_hdf5(H5Tcopy(H5T_C_S1), "H5Tcopy", place), H5Tclose);
      check_hdf5(H5Tset_size(text.get(), field.width), "H5Tset_size", place);
      check_hdf5(H5Tset_strpad(text.get(), H5T_STR_NULLPAD), "H5Tset_strpad", place);
      check_hdf5(H5Tset_cset(text.get(), H5T_CSET_UTF8), "H5Tset_cset", place);
      check_hdf5(H5Tinsert(compound.get(), field.name, field.offset, text.get()), "H5Tinsert", place);
    }
    return compound;
  }

 private:
  char* at(std::size_t row, std::size_t field) {
    return bytes_.data() + row * row_bytes_ + fields_[field].offset;
  }

  std::vector<Field> fields_;
  std::size_t row_bytes_ = 0;
  std::vector<char> bytes_;
};

void write_table(hid_t file, std::string_view path, const char* name, TableRows& table) {
  const Hdf5Place place{path, name};
  const hsize_t extent = table.rows();
  const Hdf5Handle space(check_hdf5(H5Screate_simple(1, &extent, nullptr), "H5Screate_simple", place),
                         H5Sclose);
  const Hdf5Handle type = table.type(place);
  const Hdf5Handle dataset(
      check_hdf5(H5Dcreate2(file, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                 "H5Dcreate2", place),
      H5Dclose);
  if (extent > 0)
    check_hdf5(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, table.data()), "H5Dwrite",
               place);
  write_attribute({dataset.get(), place}, content_hash,
                  std::vector<std::uint64_t>{host_content_hash(table.bytes())});
}

/// Width of a text column of the file: member `name` of the compound type.
std::size_t text_width(hid_t type, const char* name, const Hdf5Place& place) {
  const int member = check_hdf5(H5Tget_member_index(type, name), "H5Tget_member_index", place);
  const Hdf5Handle text(
      check_hdf5(H5Tget_member_type(type, static_cast<unsigned>(member)), "H5Tget_member_type", place),
      H5Tclose);
  require(H5Tget_class(text.get()) == H5T_STRING && H5Tis_variable_str(text.get()) == 0,
          "trace {}, {}: column {} is no text of fixed length", place.file, place.object, name);
  return H5Tget_size(text.get());
}

/// Reads the columns by name; those of width other than 0 get the width that they have in the file.
TableRows read_table(hid_t file, std::string_view path, const char* name, std::vector<Field> fields) {
  const Hdf5Place place{path, name};
  const Hdf5Handle dataset = open_dataset(file, name, path);
  const Hdf5Handle file_type(check_hdf5(H5Dget_type(dataset.get()), "H5Dget_type", place), H5Tclose);
  require(H5Tget_class(file_type.get()) == H5T_COMPOUND, "trace {}, {}: is no table", path, name);
  for (Field& field : fields)
    if (field.width != 0) field.width = text_width(file_type.get(), field.name, place);
  const Hdf5Handle space(check_hdf5(H5Dget_space(dataset.get()), "H5Dget_space", place), H5Sclose);
  const auto rows =
      check_hdf5(H5Sget_simple_extent_npoints(space.get()), "H5Sget_simple_extent_npoints", place);
  TableRows table(std::move(fields), static_cast<std::size_t>(rows));
  if (rows > 0)
    check_hdf5(H5Dread(dataset.get(), table.type(place).get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, table.data()),
               "H5Dread", place);
  return table;
}

/// Bytes of the longest text, at least 1: HDF5 has no empty type.
template <class Rows, class Text>
std::size_t longest(const Rows& rows, const Text& text) {
  std::size_t width = 1;
  for (const auto& row : rows)
    width = std::max(width, text(row).size());
  return width;
}

}  // namespace

void write_trace_header(hid_t file, std::string_view path, const TraceHeader& header) {
  const Hdf5Object root{file, {path, "/"}};
  write_attribute(root, "format", std::string_view(format));
  write_attribute(root, "schema_version", schema_version);
  write_attribute(root, "program_version", std::string_view(header.program_version));
  write_attribute(root, "git_commit", std::string_view(header.git_commit));
  write_attribute(root, "created_utc", std::string_view(header.created_utc));
  write_attribute(root, "model", std::string_view(header.model));
  write_attribute(root, "deck", std::string_view(header.deck));
  write_attribute(root, "method", std::string_view(header.method));
  write_attribute(root, "world_size", std::int64_t{header.world_size});
  write_attribute(root, "ranks", std::int64_t{header.ranks});
  write_attribute(root, "content", content_words(header.content));

  const auto& tensors = header.tensors;
  TableRows tensor_rows({{"name", longest(tensors, [](const TraceTensor& t) { return t.name; })},
                         {"role", longest(tensors, [](const TraceTensor& t) { return t.role; })},
                         {"layer", 0},
                         {"rows", 0},
                         {"columns", 0},
                         {"input_site", longest(tensors, [](const TraceTensor& t) { return t.input_site; })}},
                        tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensor_rows.set(i, 0, tensors[i].name);
    tensor_rows.set(i, 1, tensors[i].role);
    tensor_rows.set(i, 2, tensors[i].layer);
    tensor_rows.set(i, 3, tensors[i].rows);
    tensor_rows.set(i, 4, tensors[i].columns);
    tensor_rows.set(i, 5, tensors[i].input_site);
  }
  write_table(file, path, tensors_path, tensor_rows);

  const auto& sites = header.sites;
  TableRows site_rows(
      {{"name", longest(sites, [](const TraceSite& s) { return s.name; })}, {"layer", 0}, {"width", 0}},
      sites.size());
  for (std::size_t i = 0; i < sites.size(); ++i) {
    site_rows.set(i, 0, sites[i].name);
    site_rows.set(i, 1, sites[i].layer);
    site_rows.set(i, 2, sites[i].width);
  }
  write_table(file, path, sites_path, site_rows);
}

TraceHeader read_trace_header(hid_t file, std::string_view path) {
  const Hdf5Object root{file, {path, "/"}};
  TraceHeader header;
  header.program_version = read_text(root, "program_version");
  header.git_commit = read_text(root, "git_commit");
  header.created_utc = read_text(root, "created_utc");
  header.model = read_text(root, "model");
  header.deck = read_text(root, "deck");
  header.method = read_text(root, "method");
  header.world_size = static_cast<int>(read_int64(root, "world_size"));
  header.ranks = static_cast<int>(read_int64(root, "ranks"));
  for (const std::string& word : read_texts(root, "content")) {
    header.content.gradient |= word == facts(ArrayKind::gradient).name;
    header.content.input_moment |= word == facts(ArrayKind::input_moment).name;
    header.content.output_moment |= word == facts(ArrayKind::output_moment).name;
    header.content.sketch |= word == facts(ArrayKind::sketch).name;
  }
  TableRows tensors =
      read_table(file, path, tensors_path,
                 {{"name", 1}, {"role", 1}, {"layer", 0}, {"rows", 0}, {"columns", 0}, {"input_site", 1}});
  for (std::size_t i = 0; i < tensors.rows(); ++i) {
    header.tensors.push_back({tensors.text(i, 0), tensors.text(i, 1), tensors.number(i, 2),
                              tensors.number(i, 3), tensors.number(i, 4), tensors.text(i, 5)});
  }
  TableRows sites = read_table(file, path, sites_path, {{"name", 1}, {"layer", 0}, {"width", 0}});
  for (std::size_t i = 0; i < sites.rows(); ++i)
    header.sites.push_back({sites.text(i, 0), sites.number(i, 1), sites.number(i, 2)});
  return header;
}

}  // namespace minigift
