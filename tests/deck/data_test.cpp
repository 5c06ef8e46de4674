// Token sources: reading, cleaning, splitting, and every way in which a file can be wrong.

#include "kernels/error.hpp"
#include "miniapp/data/synthetic_source.hpp"
#include "miniapp/data/text_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <zlib.h>

namespace minigift {
namespace {

class DataTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("minigift_data_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return (folder_ / name).string();
  }
  std::string write_gzip(const std::string& name, const std::string& bytes) {
    const std::string path = (folder_ / name).string();
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path;
  }
  static DataDeck text_deck(const std::string& path) {
    DataDeck deck;
    deck.source = DataSource::text;
    deck.path = path;
    return deck;
  }
  static std::string problem(const DataDeck& deck, std::int64_t vocabulary = 256) {
    try {
      open_token_source(deck, vocabulary);
    } catch (const UsageError& error) {
      return error.what();
    }
    ADD_FAILURE() << "no UsageError";
    return "";
  }
  static std::vector<std::int32_t> all(const TokenSource& source, Split split) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(source.tokens(split)));
    source.read(split, 0, tokens);
    return tokens;
  }

  std::filesystem::path folder_;
};

std::string every_byte(std::size_t length) {
  std::string bytes(length, '\0');
  for (std::size_t i = 0; i < length; ++i)
    bytes[i] = static_cast<char>((i * 7 + i / 256) & 0xff);
  return bytes;
}

TEST_F(DataTest, BytesBecomeTokensAndTheLastPartIsHeldOut) {
  const std::string bytes = every_byte(1000);
  DataDeck deck = text_deck(write("plain.txt", bytes));
  deck.validation_fraction = 0.1;
  const auto source = open_token_source(deck, 256);
  EXPECT_EQ(source->tokens(Split::train), 900);
  EXPECT_EQ(source->tokens(Split::validation), 100);
  std::vector<std::int32_t> tokens = all(*source, Split::train);
  const std::vector<std::int32_t> held_out = all(*source, Split::validation);
  tokens.insert(tokens.end(), held_out.begin(), held_out.end());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_EQ(tokens[i], static_cast<unsigned char>(bytes[i])) << i;
  }
}

TEST_F(DataTest, GzipReadsAsThePlainText) {
  const std::string bytes = every_byte(3'000'000);  // longer than one piece
  const auto plain = open_token_source(text_deck(write("a.txt", bytes)), 256);
  const auto packed = open_token_source(text_deck(write_gzip("a.dict.dz", bytes)), 256);
  EXPECT_EQ(all(*packed, Split::train), all(*plain, Split::train));
  EXPECT_EQ(packed->content_hash(), plain->content_hash());
  EXPECT_LT(std::filesystem::file_size(folder_ / "a.dict.dz"), bytes.size() / 2);
}

TEST_F(DataTest, HashSeesEveryByteAndTheLength) {
  std::string bytes = every_byte(1001);
  const auto hash = [&](const std::string& text) {
    return open_token_source(text_deck(write("h.txt", text)), 256)->content_hash();
  };
  const std::uint64_t original = hash(bytes);
  for (const std::size_t at : {0, 8, 500, 999, 1000}) {
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] + 1);
    EXPECT_NE(hash(other), original) << at;
  }
  EXPECT_NE(hash(bytes + '\0'), original);
}

TEST_F(DataTest, WrongFiles) {
  EXPECT_NE(problem(text_deck((folder_ / "none.txt").string())).find("none.txt\": cannot open: No such file"),
            std::string::npos);
  EXPECT_NE(problem(text_deck(folder_.string())).find("is a folder"), std::string::npos);
  EXPECT_NE(problem(text_deck(write("empty.txt", ""))).find("empty.txt\" is empty"), std::string::npos);
  EXPECT_NE(problem(text_deck(write("one.txt", "x"))).find("one.txt\" holds 1 tokens"), std::string::npos);

  const std::string packed = write_gzip("cut.gz", every_byte(100000));
  std::filesystem::resize_file(packed, std::filesystem::file_size(packed) - 20);
  EXPECT_NE(problem(text_deck(packed)).find("cut.gz\": damaged after"), std::string::npos);

  const std::string flipped = write_gzip("flipped.gz", every_byte(100000));
  std::fstream file(flipped, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-6, std::ios::end);  // in the checksum
  file.put('\x55').put('\xaa');
  file.close();
  EXPECT_NE(problem(text_deck(flipped)).find("flipped.gz\": damaged after"), std::string::npos);
}

TEST_F(DataTest, TokenOutsideOfTheVocabularyIsNamedWithFileAndOffset) {
  const std::string message = problem(text_deck(write("wide.txt", std::string("abc\xc3\xa4", 5))), 128);
  EXPECT_NE(message.find("wide.txt\": byte 195 at offset 3"), std::string::npos) << message;
  EXPECT_NE(message.find("128"), std::string::npos) << message;
}

TEST_F(DataTest, GcideIsCleaned) {
  EXPECT_EQ(
      clean_gcide("Word\n   \\Word\\, n. [1913 Webster]\n\n  [1913 Webster]\n  a b  \n[1913 Webster] c"),
      "Word\n\\Word\\, n.\n\na b\nc\n");
  DataDeck deck = text_deck(write("g.txt", "   one [1913 Webster]\n two\n"));
  deck.clean = TextCleaning::gcide;
  const auto source = open_token_source(deck, 256);
  EXPECT_EQ(source->tokens(Split::train) + source->tokens(Split::validation), 8);  // "one\ntwo\n"
}

TEST_F(DataTest, ReadingOutsideOfASplitIsRefused) {
  const auto source = open_token_source(text_deck(write("s.txt", every_byte(100))), 256);
  std::vector<std::int32_t> tokens(10);
  source->read(Split::train, 85, tokens);
  EXPECT_THROW(source->read(Split::train, 86, tokens), RuntimeError);
  EXPECT_THROW(source->read(Split::train, -1, tokens), RuntimeError);
  EXPECT_THROW(source->read(Split::validation, 0, tokens), RuntimeError);
}

TEST(TrainTokens, SplitsKeepOneTokenEach) {
  EXPECT_EQ(train_tokens(100, 0.05), 95);
  EXPECT_EQ(train_tokens(100, 1e-9), 99);
  EXPECT_EQ(train_tokens(std::int64_t{1} << 40, 0.5), std::int64_t{1} << 39);
}

TEST(SyntheticSource, AnyPieceEqualsTheWhole) {
  DataDeck deck;
  deck.synthetic_tokens = 5000;
  deck.synthetic_order = 3;
  const SyntheticSource source(deck, 256);
  std::vector<std::int32_t> whole(static_cast<std::size_t>(source.tokens(Split::train)));
  source.read(Split::train, 0, whole);
  for (const std::int64_t start : {0, 1, 255, 256, 257, 700, 4000}) {
    for (const std::size_t length : {1, 2, 255, 256, 513}) {
      std::vector<std::int32_t> piece(length);
      source.read(Split::train, start, piece);
      EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + start)) << start << " " << length;
    }
  }
}

TEST(SyntheticSource, PositionsBeyond32Bits) {
  DataDeck deck;
  deck.synthetic_tokens = (std::int64_t{1} << 33) + 10;
  deck.validation_fraction = 0.25;
  const SyntheticSource source(deck, 256);
  std::vector<std::int32_t> low(4096);
  std::vector<std::int32_t> high(4096);
  source.read(Split::train, 0, low);
  source.read(Split::train, std::int64_t{1} << 32, high);  // the same position modulo 2^32
  EXPECT_NE(low, high);
  source.read(Split::validation, source.tokens(Split::validation) - 4096, high);
  EXPECT_TRUE(std::all_of(high.begin(), high.end(), [](std::int32_t t) { return t >= 0 && t < 256; }));
}

TEST(SyntheticSource, FrequenciesAndTransitionsAreAsDocumented) {
  DataDeck deck;
  deck.synthetic_tokens = 1'000'000;
  deck.synthetic_vocabulary = 64;
  deck.synthetic_predictability = 0;
  std::vector<std::int32_t> tokens(500'000);
  SyntheticSource(deck, 64).read(Split::train, 0, tokens);
  // Without successors: p(k) = k^-s / sum, each count within five standard deviations.
  std::vector<double> count(64, 0);
  for (const std::int32_t token : tokens)
    ++count[static_cast<std::size_t>(token)];
  double sum = 0;
  for (int k = 1; k <= 64; ++k)
    sum += std::pow(k, -deck.synthetic_exponent);
  for (int k = 1; k <= 64; ++k) {
    const double p = std::pow(k, -deck.synthetic_exponent) / sum;
    const auto n = static_cast<double>(tokens.size());
    EXPECT_NEAR(count[static_cast<std::size_t>(k - 1)], n * p, 5 * std::sqrt(n * p)) << k;
  }
  // With them: no more than four followers of a token carry at least the predictable share of what follows
  // it.
  deck.synthetic_predictability = 0.75;
  SyntheticSource(deck, 64).read(Split::train, 0, tokens);
  std::map<std::int32_t, std::map<std::int32_t, double>> followers;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if ((i + 1) % SyntheticSource::block_tokens != 0) ++followers[tokens[i]][tokens[i + 1]];
  }
  for (const auto& [token, next] : followers) {
    std::vector<double> counts;
    double total = 0;
    for (const auto& [other, times] : next) {
      counts.push_back(times);
      total += times;
    }
    if (total < 5000) continue;
    std::sort(counts.rbegin(), counts.rend());
    const double top = std::accumulate(counts.begin(),
                                       counts.begin() + std::min<std::ptrdiff_t>(4, std::ssize(counts)), 0.0);
    EXPECT_GT(top / total, 0.75 - 5 * std::sqrt(0.25 / total)) << token;
  }
}

TEST(SyntheticSource, SeedAndOptionsChangeTokensAndHash) {
  DataDeck deck;
  const SyntheticSource original(deck, 256);
  std::vector<std::int32_t> first(512);
  original.read(Split::train, 0, first);
  const auto check = [&](auto change) {
    DataDeck other = deck;
    change(other);
    const SyntheticSource source(other, 256);
    std::vector<std::int32_t> tokens(512);
    source.read(Split::train, 0, tokens);
    EXPECT_NE(tokens, first);
    EXPECT_NE(source.content_hash(), original.content_hash());
  };
  check([](DataDeck& d) { d.synthetic_seed = 2; });
  check([](DataDeck& d) { d.synthetic_vocabulary = 255; });
  check([](DataDeck& d) { d.synthetic_order = 2; });
  check([](DataDeck& d) { d.synthetic_exponent = 1.2; });
  check([](DataDeck& d) { d.synthetic_predictability = 0.5; });
  EXPECT_THROW(SyntheticSource(deck, 255), UsageError);
}

}  // namespace
}  // namespace minigift
