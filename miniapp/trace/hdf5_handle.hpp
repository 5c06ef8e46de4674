#pragma once
// HDF5's C API: every result is looked at, every identifier has an owner.

#include <hdf5.h>
#include <string>
#include <string_view>
#include <vector>

namespace minigift {

/// What a call works on, for messages. Refers to text that the caller keeps.
struct Hdf5Place {
  std::string_view file;
  std::string_view object = {};  ///< path within the file; empty: the file itself
};

/// The innermost message of HDF5's error stack (the cause, not the calls on its way), in one line.
std::string hdf5_error_text();

[[noreturn]] void throw_hdf5_error(const char* call, const Hdf5Place& place);

/// Returns `result`, or throws RuntimeError "trace out.h5, /steps: H5Gopen2 failed: <HDF5's innermost
/// message>" if it is negative.
template <class Result>
Result check_hdf5(Result result, const char* call, const Hdf5Place& place) {
  if (result < 0) throw_hdf5_error(call, place);
  return result;
}

/// HDF5 prints no error stacks from now on: its messages reach the user inside our own.
void silence_hdf5();

/// What a handle does if an exception of one rank alone may be on its way. Closing is collective for what
/// belongs to a file of several ranks: the others may never come, so such a handle leaves it to the end of
/// the process.
enum class Unwinding { close, leave };

/// Owns an identifier.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, Close close, Unwinding unwinding = Unwinding::close);
  ~Hdf5Handle();
  Hdf5Handle(Hdf5Handle&& other) noexcept;
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept;

  hid_t get() const { return id_; }
  bool is_open() const { return id_ >= 0; }
  /// Closes now, and throws RuntimeError if that fails: closing is where buffered data meet the disk.
  void close(const char* call, const Hdf5Place& place);
  /// Forgets the identifier without closing it.
  void leave() { id_ = H5I_INVALID_HID; }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
  Unwinding unwinding_ = Unwinding::close;
  int exceptions_ = 0;
};

/// Names of a group's links, sorted.
std::vector<std::string> link_names(hid_t group, const Hdf5Place& place);

/// Opens groups and datasets; throw RuntimeError with HDF5's words.
Hdf5Handle open_group(hid_t parent, const std::string& path, std::string_view file);
Hdf5Handle open_dataset(hid_t parent, const std::string& path, std::string_view file);

}  // namespace minigift
