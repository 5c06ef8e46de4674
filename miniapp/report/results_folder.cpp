#include "miniapp/report/results_folder.hpp"

#include "kernels/error.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace minigift {
namespace {

constexpr const char* advice =
    "results are never overwritten; name another folder with --out or move the old one";

}  // namespace

std::FILE* open_new_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wx");
  require_usage(file != nullptr || errno != EEXIST, "{} exists: {}", path, advice);
  require_usage(file != nullptr, "{}: cannot create: {}", path, std::strerror(errno));
  return file;
}

std::string_view StepRow::phase_column(std::size_t phase) {
  static const auto names = [] {
    std::array<std::string, phase_count> result;
    for (std::size_t i = 0; i < phase_count; ++i)
      result[i] = fmt::format("{}_seconds", phase_names[i]);
    return result;
  }();
  return names[phase];
}

void create_results_folder(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder(directory);
  require_usage(!fs::exists(folder, error) || fs::is_directory(folder, error),
                "output folder {}: a file of that name exists", directory);
  for (const char* name : {"run.json", "steps.csv", "comm.csv", "fidelity.json", "profile.json"}) {
    require_usage(!fs::exists(folder / name, error), "output folder {} holds {} already: {}", directory, name,
                  advice);
  }
  fs::create_directories(folder, error);
  require_usage(!error, "output folder {}: cannot create: {}", directory, error.message());
  // Permission bits do not tell what a read-only file system or a quota will say; a file does.
  const std::string probe = (folder / fmt::format(".writable-{}", getpid())).string();
  std::FILE* file = std::fopen(probe.c_str(), "wx");
  require_usage(file != nullptr, "output folder {}: cannot write there: {}", directory, std::strerror(errno));
  std::fclose(file);
  fs::remove(probe, error);
}

void write_new_file(const std::string& path, const std::string& text) {
  std::FILE* file = open_new_file(path);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  require(written && closed, "{}: cannot write: {}", path, std::strerror(errno));
}

StepsFile::StepsFile(const std::string& directory)
    : CsvFile<StepRow>((std::filesystem::path(directory) / "steps.csv").string()) {}

}  // namespace minigift
