#pragma once
// What a result must say about where it came from. Only names on an allow-list are read from the process
// environment: a whole environment may hold secrets, and results are shared.

#include <nlohmann/json.hpp>

#include <string>

namespace minigift {

/// Facts that only the program knows.
struct LibraryVersions {
  std::string mpi;     ///< MPI_Get_library_version
  std::string linalg;  ///< linalg_backend()
};

/// True if the environment variable `name` may appear in results.
bool environment_name_allowed(std::string_view name);

/// git commit and dirty flag, compiler, flags, build type, Kokkos version and backend, libraries, CPU model,
/// cores, threads, memory, allowed environment variables.
nlohmann::ordered_json environment_record(const LibraryVersions& libraries);

/// Where this rank runs: rank, host, process id, the CPUs it may use, and its GPU as `device` tells it (null:
/// none). To be gathered from all ranks as text.
nlohmann::ordered_json placement_record(int rank, const nlohmann::ordered_json& device = nullptr);

/// "2026-01-31T12:34:56Z"
std::string utc_now();

/// Version of the program, such as "0.1.0".
std::string program_version();

/// Git commit of the sources this program was built from ("unknown" outside a repository), and whether they
/// had changes.
std::string build_git_commit();
bool build_git_dirty();

}  // namespace minigift
