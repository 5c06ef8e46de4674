#include "miniapp/report/results_folder.hpp"

#include "kernels/error.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <type_traits>
#include <unistd.h>

namespace minigift {
namespace {

constexpr const char* advice =
    "results are never overwritten; name another folder with --out or move the old one";

/// Opens a file that must not exist.
std::FILE* open_new(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wx");
  require_usage(file != nullptr || errno != EEXIST, "{} exists: {}", path, advice);
  require_usage(file != nullptr, "{}: cannot create: {}", path, std::strerror(errno));
  return file;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}
std::string csv_cell(std::int64_t value) {
  return fmt::format("{}", value);
}
std::string csv_cell(bool value) {
  return value ? "true" : "false";
}
std::string csv_cell(double value) {
  return std::isnan(value) ? "" : fmt::format("{}", value);
}

}  // namespace

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
  for (const char* name : {"run.json", "steps.csv", "fidelity.json", "profile.json"}) {
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
  std::FILE* file = open_new(path);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  require(written && closed, "{}: cannot write: {}", path, std::strerror(errno));
}

StepsFile::StepsFile(const std::string& directory)
    : path_((std::filesystem::path(directory) / "steps.csv").string()), file_(open_new(path_)) {
  const std::string text = header();
  require(std::fputs(text.c_str(), file_) >= 0 && std::fflush(file_) == 0, "{}: cannot write: {}", path_,
          std::strerror(errno));
}

StepsFile::~StepsFile() {
  std::fclose(file_);
}

void StepsFile::add(const StepRow& row) {
  const std::string text = line(row);  // in one call, so that a reader never sees half a row
  require(std::fwrite(text.data(), 1, text.size(), file_) == text.size() && std::fflush(file_) == 0,
          "{}: cannot write: {}", path_, std::strerror(errno));
}

std::string StepsFile::header() {
  std::string text;
  const StepRow row;
  StepRow::columns(row, [&](const auto&, const Column& column) {
    if (!text.empty()) text += ',';
    text += column.name;
  });
  return text + "\n";
}

std::string StepsFile::line(const StepRow& row) {
  std::string text;
  bool first = true;
  StepRow::columns(row, [&](const auto& value, const Column&) {
    if (!first) text += ',';
    first = false;
    text += csv_cell(value);
  });
  return text + "\n";
}

}  // namespace minigift
