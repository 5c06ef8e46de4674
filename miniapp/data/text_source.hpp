#pragma once
// A text as tokens: its bytes, 0 ... 255.

#include "miniapp/data/token_source.hpp"

namespace minigift {

class TextSource : public TokenSource {
 public:
  /// Reads deck.path, plain or compressed with gzip or dictzip, and cleans it as deck.clean says.
  TextSource(const DataDeck& deck, std::int64_t vocabulary);

  std::int64_t tokens(Split split) const override;
  void read(Split split, std::int64_t position, std::span<std::int32_t> out) const override;
  std::int64_t vocabulary() const override { return 256; }
  std::uint64_t content_hash() const override { return hash_; }
  std::string description() const override;

 private:
  std::string path_;
  std::string bytes_;
  std::int64_t train_tokens_;
  std::uint64_t hash_;
};

/// The whole of a file, decompressed where it is compressed. Throws UsageError: missing, unreadable, damaged,
/// empty.
std::string read_text(const std::string& path);

/// Debian's dict-gcide as plain prose: without the "[1913 Webster]" tags, and without blanks at either end of
/// a line.
std::string clean_gcide(const std::string& text);

}  // namespace minigift
