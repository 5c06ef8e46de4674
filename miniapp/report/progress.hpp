#pragma once
// A progress line with the time left. On a terminal it is rewritten in place; elsewhere one line per
// interval.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace minigift {

class ProgressLine {
 public:
  /// Writes to `stream`, which must outlive this. `interval_seconds` applies where the stream is no terminal.
  explicit ProgressLine(std::FILE* stream, double interval_seconds = 10.0);
  ProgressLine(std::FILE* stream, double interval_seconds, bool terminal);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// `fraction` of the whole work is done; `text` says what is going on. The time left is elapsed (1/fraction
  /// - 1).
  void update(double fraction, const std::string& text);
  /// Prints a whole line without disturbing the progress line.
  void message(const std::string& line);
  /// Removes the progress line from a terminal.
  void finish();

 private:
  std::FILE* stream_;
  bool terminal_;
  double interval_seconds_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_print_;
  bool printed_ = false;
  std::string shown_;
};

}  // namespace minigift
