#pragma once
// A file that appears under its name only when it is complete. Not collective: one rank does this for all.

#include <string>

namespace minigift {

/// Creates the empty file `temporary`, from which `path` is to be made. Throws UsageError if either exists or
/// the file cannot be created there.
void create_temporary(const std::string& temporary, const std::string& path);

/// Makes the contents durable, then gives the file its name. Throws RuntimeError if that fails, or if a file
/// of that name has appeared meanwhile: it is never replaced.
void publish(const std::string& temporary, const std::string& path);

/// Removes the file if it is there.
void remove_temporary(const std::string& temporary) noexcept;

}  // namespace minigift
