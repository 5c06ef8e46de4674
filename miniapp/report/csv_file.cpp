#include "miniapp/report/csv_file.hpp"

#include "kernels/error.hpp"
#include "miniapp/report/results_folder.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>

namespace minigift {

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

GrowingFile::GrowingFile(const std::string& path) : path_(path), file_(open_new_file(path)) {}

GrowingFile::~GrowingFile() {
  std::fclose(file_);
}

void GrowingFile::append(const std::string& text) {
  require(std::fwrite(text.data(), 1, text.size(), file_) == text.size() && std::fflush(file_) == 0,
          "{}: cannot write: {}", path_, std::strerror(errno));
}

}  // namespace minigift
