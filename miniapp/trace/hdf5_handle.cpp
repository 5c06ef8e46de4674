#include "miniapp/trace/hdf5_handle.hpp"

#include "kernels/error.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

namespace minigift {
namespace {

/// Takes the text of the first, innermost entry.
herr_t take_first(unsigned number, const H5E_error2_t* entry, void* text) {
  if (number != 0) return 0;
  auto& result = *static_cast<std::string*>(text);
  if (entry->desc != nullptr) result = entry->desc;
  if (result.empty()) {
    std::array<char, 256> minor{};
    if (H5Eget_msg(entry->min_num, nullptr, minor.data(), minor.size()) > 0) result = minor.data();
  }
  return 0;
}

herr_t take_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

}  // namespace

std::string hdf5_error_text() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &text);
  if (text.empty()) return "no reason given";
  std::string line;  // HDF5 breaks some of its texts into lines that begin with a comma
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\r';
    if (c == ',' && line.ends_with(' ')) line.pop_back();
    if (!blank || !line.ends_with(' ')) line += blank ? ' ' : c;
  }
  return line;
}

void throw_hdf5_error(const char* call, const Hdf5Place& place) {
  const std::string reason = hdf5_error_text();
  throw RuntimeError(fmt::format("trace {}{}{}: {} failed: {}", place.file, place.object.empty() ? "" : ", ",
                                 place.object, call, reason));
}

void silence_hdf5() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Handle::Hdf5Handle(hid_t id, Close close, Unwinding unwinding)
    : id_(id), close_(close), unwinding_(unwinding), exceptions_(std::uncaught_exceptions()) {}

Hdf5Handle::~Hdf5Handle() {
  if (!is_open()) return;
  if (unwinding_ == Unwinding::leave && std::uncaught_exceptions() > exceptions_) return;
  close_(id_);
}

Hdf5Handle::Hdf5Handle(Hdf5Handle&& other) noexcept
    : id_(std::exchange(other.id_, H5I_INVALID_HID)),
      close_(other.close_),
      unwinding_(other.unwinding_),
      exceptions_(other.exceptions_) {}

Hdf5Handle& Hdf5Handle::operator=(Hdf5Handle&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(close_, other.close_);
  std::swap(unwinding_, other.unwinding_);
  std::swap(exceptions_, other.exceptions_);
  return *this;
}

void Hdf5Handle::close(const char* call, const Hdf5Place& place) {
  if (!is_open()) return;
  check_hdf5(close_(std::exchange(id_, H5I_INVALID_HID)), call, place);
}

std::vector<std::string> link_names(hid_t group, const Hdf5Place& place) {
  std::vector<std::string> names;
  hsize_t position = 0;
  check_hdf5(H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, &position, take_name, &names), "H5Literate",
             place);
  std::sort(names.begin(), names.end());
  return names;
}

Hdf5Handle open_group(hid_t parent, const std::string& path, std::string_view file) {
  return {check_hdf5(H5Gopen2(parent, path.c_str(), H5P_DEFAULT), "H5Gopen2", {file, path}), H5Gclose};
}

Hdf5Handle open_dataset(hid_t parent, const std::string& path, std::string_view file) {
  return {check_hdf5(H5Dopen2(parent, path.c_str(), H5P_DEFAULT), "H5Dopen2", {file, path}), H5Dclose};
}

}  // namespace minigift
