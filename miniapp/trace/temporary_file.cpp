#include "miniapp/trace/temporary_file.hpp"

#include "kernels/error.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace minigift {
namespace {

void synchronize(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags);
  require(file >= 0, "trace {}: cannot open it to make it durable: {}", path, std::strerror(errno));
  const int failed = fsync(file);
  const int reason = errno;
  close(file);
  require(failed == 0, "trace {}: cannot write all of it to the disk: {}", path, std::strerror(reason));
}

/// Renames unless the new name is taken.
int rename_new(const char* from, const char* to) {
#ifdef RENAME_NOREPLACE
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
#endif
  // File systems without that: a second name is refused where it exists, too.
  if (link(from, to) != 0) return errno;
  return unlink(from) == 0 ? 0 : errno;
}

}  // namespace

void create_temporary(const std::string& temporary, const std::string& path) {
  std::error_code ignored;
  require_usage(!std::filesystem::exists(path, ignored),
                "trace {} exists: traces are never overwritten; name another file or move the old one", path);
  const int file = open(temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0666);
  require_usage(file >= 0 || errno != EEXIST,
                "trace {} exists: another run is writing this trace, or was killed; remove it if none is",
                temporary);
  require_usage(file >= 0, "trace {}: cannot create it: {}", temporary, std::strerror(errno));
  close(file);
}

void publish(const std::string& temporary, const std::string& path) {
  synchronize(temporary, O_RDWR);
  const int failure = rename_new(temporary.c_str(), path.c_str());
  require(failure != EEXIST, "trace {} has appeared while it was written; the new trace stays in {}", path,
          temporary);
  require(failure == 0, "trace {}: cannot rename {} to it: {}", path, temporary, std::strerror(failure));
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  synchronize(folder.empty() ? "." : folder.string(), O_RDONLY | O_DIRECTORY);
}

void remove_temporary(const std::string& temporary) noexcept {
  unlink(temporary.c_str());
}

}  // namespace minigift
