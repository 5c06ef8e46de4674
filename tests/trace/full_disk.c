/* A disk that is full beyond MINIGIFT_DISK_BYTES of a file, for LD_PRELOAD: writes there fail with ENOSPC.
 * Only on the rank MINIGIFT_FULL_RANK, so that one rank meets it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_full(int file, off_t at) {
  const char* limit = getenv("MINIGIFT_DISK_BYTES");
  const char* full = getenv("MINIGIFT_FULL_RANK");
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (rank == NULL) rank = getenv("PMI_RANK");
  struct stat status;
  if (limit == NULL || full == NULL || rank == NULL || strcmp(full, rank) != 0) return 0;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || at < atol(limit)) return 0;
  errno = ENOSPC;
  return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void* data, size_t count) {
  if (is_full(file, lseek(file, 0, SEEK_CUR))) return -1;
  return NEXT(write)(file, data, count);
}
ssize_t writev(int file, const struct iovec* parts, int count) {
  if (is_full(file, lseek(file, 0, SEEK_CUR))) return -1;
  return NEXT(writev)(file, parts, count);
}
ssize_t pwrite64(int file, const void* data, size_t count, off64_t at) {
  if (is_full(file, at)) return -1;
  return NEXT(pwrite64)(file, data, count, at);
}
ssize_t pwrite(int file, const void* data, size_t count, off_t at) {
  return pwrite64(file, data, count, at);
}
ssize_t pwritev(int file, const struct iovec* parts, int count, off_t at) {
  if (is_full(file, at)) return -1;
  return NEXT(pwritev)(file, parts, count, at);
}
ssize_t pwritev64(int file, const struct iovec* parts, int count, off64_t at) {
  return pwritev(file, parts, count, at);
}
