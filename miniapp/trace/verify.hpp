#pragma once
// Whether a trace is what its writer sealed. Serial; reads every array once.

#include <string>
#include <vector>

namespace minigift {

struct TraceCheck {
  std::string name;
  bool passed = false;
  std::string text;  ///< what was checked, or what is wrong: the first faults by name, and how many there are
};

/// In this order:
///   open      it is a complete trace of this schema version, with a header and steps that can be read
///   seal      names, types, shapes and attributes are those that the digests were made of
///   shapes    every step has every array that the header promises, in the header's shape, and no other
///   contents  every rank's part of every array can be read and has the hash that its writer recorded
///   numbers   recorded amax are the arrays'; numbers of tokens are positive
///   finite    no element, loss or number is infinite or NaN
/// After a failed `open` there is nothing else. Throws UsageError only if there is no such file.
std::vector<TraceCheck> verify_trace(const std::string& path);

}  // namespace minigift
