#include "miniapp/report/progress.hpp"

#include "miniapp/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unistd.h>

namespace minigift {

ProgressLine::ProgressLine(std::FILE* stream, double interval_seconds)
    : ProgressLine(stream, interval_seconds, isatty(fileno(stream)) == 1) {}

ProgressLine::ProgressLine(std::FILE* stream, double interval_seconds, bool terminal)
    : stream_(stream),
      terminal_(terminal),
      interval_seconds_(terminal ? 0.1
                                 : interval_seconds),  // a terminal is not redrawn faster than the eye reads
      start_(std::chrono::steady_clock::now()),
      last_print_(start_) {}

ProgressLine::~ProgressLine() {
  finish();
}

void ProgressLine::update(double fraction, const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (printed_ && std::chrono::duration<double>(now - last_print_).count() < interval_seconds_) return;
  last_print_ = now;
  printed_ = true;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double done = std::clamp(fraction, 0.0, 1.0);
  const std::string left = done > 0 ? cell_duration(elapsed * (1 - done) / done) : "unknown";
  const std::string line = fmt::format("{:3.0f} %  {}  elapsed {}  left {}", std::floor(100 * done), text,
                                       cell_duration(elapsed), left);
  if (!terminal_) {
    fmt::print(stream_, "{}\n", line);
  } else {
    fmt::print(stream_, "\r\x1b[K{}", line);  // to the start of the line, erase it, write
    shown_ = line;
  }
  std::fflush(stream_);
}

void ProgressLine::message(const std::string& line) {
  fmt::print(stream_, "{}{}\n", terminal_ && !shown_.empty() ? "\r\x1b[K" : "", line);
  if (terminal_ && !shown_.empty()) fmt::print(stream_, "{}", shown_);
  std::fflush(stream_);
}

void ProgressLine::finish() {
  if (!terminal_ || shown_.empty()) return;
  fmt::print(stream_, "\r\x1b[K");
  std::fflush(stream_);
  shown_.clear();
}

}  // namespace minigift
