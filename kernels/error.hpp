#pragma once
// Errors carry a category that becomes the exit status: 1 run time, 2 usage or deck.

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace minigift {

/// Something failed while running: numbers, memory, files, the network. Exit status 1.
class RuntimeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The user asked for something that cannot be: unknown key, impossible combination, missing input. Exit
/// status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws RuntimeError unless `condition` holds. The message says what was wrong, where, and what to do.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw RuntimeError(fmt::format(format, std::forward<Args>(args)...));
}

/// Throws UsageError unless `condition` holds.
template <class... Args>
void require_usage(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace minigift
