#include "miniapp/data/text_source.hpp"

#include "kernels/error.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <zlib.h>

namespace minigift {
namespace {

/// FNV-1a over eight bytes at a time: one pass over a text of tens of megabytes costs milliseconds.
std::uint64_t hash_bytes(const std::string& bytes) {
  std::uint64_t state = 0xcbf29ce484222325u ^ bytes.size();
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min(sizeof(word), bytes.size() - i));
    state = (state ^ word) * 0x100000001b3u;
    state ^= state >> 32;
  }
  return state;
}

}  // namespace

std::string read_text(const std::string& path) {
  std::error_code error;
  require_usage(!std::filesystem::is_directory(path, error), "data.path = \"{}\" is a folder, not a file",
                path);
  errno = 0;
  // gzread passes plain files through unchanged; dictzip is gzip with an index in the header.
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), &gzclose);
  require_usage(file != nullptr, "data.path = \"{}\": cannot open: {} (working folder {})", path,
                errno != 0 ? std::strerror(errno) : "out of memory",
                std::filesystem::current_path(error).string());
  constexpr unsigned piece = 1u << 20;
  gzbuffer(file.get(), piece);
  std::string text;
  std::size_t length = 0;
  while (true) {
    text.resize(length + piece);
    const int read = gzread(file.get(), text.data() + length, piece);
    int code = Z_OK;
    const char* message = gzerror(file.get(), &code);
    // A file cut short gives Z_BUF_ERROR together with the bytes there were.
    require_usage(read >= 0 && (code == Z_OK || code == Z_STREAM_END),
                  "data.path = \"{}\": damaged after {} bytes of text: {}", path, length, message);
    length += static_cast<std::size_t>(read);
    if (read == 0) break;
  }
  text.resize(length);
  require_usage(!text.empty(), "data.path = \"{}\" is empty", path);
  return text;
}

std::string clean_gcide(const std::string& text) {
  static constexpr std::string_view tag = "[1913 Webster]";
  std::string result;
  result.reserve(text.size());
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const bool was_blank = line.find_first_not_of(' ') == std::string::npos;
    for (std::size_t at = line.find(tag); at != std::string::npos; at = line.find(tag, at))
      line.erase(at, tag.size());
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos) {
      if (was_blank) result += '\n';  // a line that held nothing but a tag is dropped
      continue;
    }
    result.append(line, first, line.find_last_not_of(' ') - first + 1);
    result += '\n';
  }
  return result;
}

TextSource::TextSource(const DataDeck& deck, std::int64_t vocabulary)
    : path_(deck.path), bytes_(read_text(deck.path)) {
  for (std::size_t i = 0; vocabulary < 256 && i < bytes_.size(); ++i) {
    const auto token = static_cast<unsigned char>(bytes_[i]);
    require_usage(token < vocabulary,
                  "data.path = \"{}\": byte {} at offset {} is no token of a vocabulary of {}", path_, token,
                  i, vocabulary);
  }
  if (deck.clean == TextCleaning::gcide) bytes_ = clean_gcide(bytes_);
  require_usage(bytes_.size() >= 2,
                "data.path = \"{}\" holds {} tokens; training and validation need one each", path_,
                bytes_.size());
  train_tokens_ = train_tokens(static_cast<std::int64_t>(bytes_.size()), deck.validation_fraction);
  hash_ = hash_bytes(bytes_);
}

std::int64_t TextSource::tokens(Split split) const {
  return split == Split::train ? train_tokens_ : static_cast<std::int64_t>(bytes_.size()) - train_tokens_;
}

void TextSource::read(Split split, std::int64_t position, std::span<std::int32_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  require(position >= 0 && position <= tokens(split) - count, "tokens {} ... {} of {} read", position,
          position + count, tokens(split));
  const std::int64_t offset = position + (split == Split::train ? 0 : train_tokens_);
  for (std::int64_t i = 0; i < count; ++i) {
    out[static_cast<std::size_t>(i)] =
        static_cast<unsigned char>(bytes_[static_cast<std::size_t>(offset + i)]);
  }
}

std::string TextSource::description() const {
  return fmt::format("text {}: {} bytes for training, {} held out", path_, tokens(Split::train),
                     tokens(Split::validation));
}

}  // namespace minigift
