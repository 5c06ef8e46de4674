#include "miniapp/transport/mpi_check.hpp"

#include "kernels/error.hpp"

#include <mpi.h>

#include <array>

namespace minigift {

std::string OperationLabel::text() const {
  return fmt::format("{} #{}{}{}", name, sequence, group.empty() ? "" : " of ", group);
}

void check_mpi(int code, const char* call, const OperationLabel& label) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  const std::string reason(text.data(), static_cast<std::size_t>(length));
  const std::string rank = label.rank < 0 ? "" : fmt::format("rank {}: ", label.rank);
  throw RuntimeError(
      fmt::format("{}{} in {} failed with code {}: {}", rank, call, label.text(), code, reason));
}

std::string mpi_library_string() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check_mpi(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  std::string line(text.data(), static_cast<std::size_t>(length));
  // Some libraries answer with a paragraph; the first line names library and version.
  return line.substr(0, line.find_first_of("\n\r"));
}

}  // namespace minigift
