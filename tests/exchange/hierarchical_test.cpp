// The hierarchical reduction on ranks that are told to count as several nodes: the same sum as a serial form
// of it, bit for bit; the bound, the bytes and overlap; one level alone is the all-to-all.
#include "kernels/reference/quantize.hpp"
#include "miniapp/exchange/error_bound.hpp"
#include "miniapp/exchange/exchange_check.hpp"
#include "miniapp/exchange/node_groups.hpp"
#include "tests/exchange/fixture.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <limits>

namespace minigift {
namespace {

using test::host;
using test::method_with;
using test::SyntheticStep;

/// All numbers of ranks per node that give whole nodes.
std::vector<int> layouts() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<int> sizes;
  for (int size = 1; size <= ranks; ++size) {
    if (ranks % size == 0) sizes.push_back(size);
  }
  return sizes;
}

/// Those with several nodes of several ranks. All others are the all-to-all: see OfOneLevelIsTheAllToAll.
std::vector<int> two_level_layouts() {
  const std::vector<int> sizes = layouts();
  if (sizes.size() < 3) return {};
  return {sizes.begin() + 1, sizes.end() - 1};
}

LlamaShape tiny_shape() {
  return {.layers = 1, .hidden = 32, .heads = 4, .kv_heads = 2, .feed_forward = 48, .vocabulary = 31};
}

/// The gradients of all ranks in the first steps: [step][rank].
std::vector<std::vector<std::vector<float>>> all_gradients(int steps, int ranks) {
  std::vector<std::vector<std::vector<float>>> all(static_cast<std::size_t>(steps));
  SyntheticStep local(tiny_shape());
  for (int s = 0; s < steps; ++s) {
    for (int rank = 0; rank < ranks; ++rank) {
      local.fill(s, rank);
      all[static_cast<std::size_t>(s)].push_back(host(local.gradients));
    }
  }
  return all;
}

CommunicatorOptions nodes_of(int ranks_per_node) {
  return {.self_test = false, .ranks_per_node = ranks_per_node};
}

struct Kind {
  Format format;
  std::int64_t block;  ///< elements per scale; 0: a tensor, or none
  Rounding rounding = Rounding::nearest_even;
};
const std::vector<Kind> kinds = {{Format::fp32, 0}, {Format::bf16, 0},   {Format::e4m3, 0},
                                 {Format::e5m2, 0}, {Format::e4m3, 128}, {Format::int8, 128}};

/// Euclidean, with error feedback wherever the format rounds.
Method hierarchical(const Kind& kind, int ranks) {
  return method_with("gift-hierarchical", ranks, [&](MethodDeck& deck) {
    deck.coordinates = CoordinatesChoice::euclidean;
    deck.format = kind.format;
    deck.rounding = kind.rounding;
    if (kind.block > 0) deck.granularity = GranularityChoice::block;
    if (kind.block > 0) deck.scale_block = kind.block;
    deck.error_feedback = kind.format == Format::fp32 ? ErrorFeedbackChoice::off : ErrorFeedbackChoice::all;
  });
}

std::string words(const Kind& kind, int ranks_per_node) {
  return fmt::format("{} in blocks of {}, {} ranks per node", name(kind.format), kind.block, ranks_per_node);
}

/// One bucket without messages: what ranks, nodes and owners do, in plain loops. No element is in two groups
/// and no group in two shards, so that which rank does it does not matter.
class SerialForm {
 public:
  SerialForm(const Bucket& bucket, const Method& method, int nodes, int ranks_per_node)
      : bucket_(bucket), method_(method), nodes_(nodes), ranks_per_node_(ranks_per_node) {
    const auto zeros = std::vector<float>(static_cast<std::size_t>(bucket.gradient_size), 0.0f);
    senders_.assign(static_cast<std::size_t>(nodes * ranks_per_node), zeros);
    partials_.assign(static_cast<std::size_t>(nodes), zeros);
    owner_ = zeros;
  }

  /// gradients[r]: the bucket's gradient of rank r. Returns the mean; advances the residuals.
  std::vector<float> step(const std::vector<std::vector<float>>& gradients) {
    const std::vector<float> zeros(owner_.size(), 0.0f);
    std::vector<float> sum = zeros;
    for (int n = 0; n < nodes_; ++n) {
      std::vector<float> partial = zeros;
      for (int l = 0; l < ranks_per_node_; ++l) {
        const auto rank = static_cast<std::size_t>(n * ranks_per_node_ + l);
        add(encode(gradients[rank], senders_[rank]), partial);
      }
      add(encode(partial, partials_[static_cast<std::size_t>(n)]), sum);
    }
    const Encoded result = encode(sum, owner_);
    std::vector<float> mean = zeros;
    reference::dequantize(method_.format, result.codes, bucket_.host_tiles, result.scale,
                          1.0f / static_cast<float>(nodes_ * ranks_per_node_), false, mean);
    return mean;
  }

 private:
  struct Encoded {
    std::vector<std::uint8_t> codes;
    std::vector<float> scale;
  };

  /// values + residual, encoded; residual <- what that drops.
  Encoded encode(std::vector<float> values, std::vector<float>& residual) const {
    const bool feedback = method_.error_feedback != ErrorFeedback::off;
    for (std::size_t i = 0; feedback && i < values.size(); ++i)
      values[i] += residual[i];
    const auto amax = reference::group_amax(values, bucket_.host_tiles, bucket_.groups);
    Encoded encoded;
    encoded.scale = scales(amax);
    encoded.codes.resize(static_cast<std::size_t>(bucket_.code_elements * bytes_per_code(method_.format)));
    reference::quantize(method_.format, values, bucket_.host_tiles, encoded.scale, encoded.codes,
                        feedback ? &residual : nullptr);
    return encoded;
  }

  std::vector<float> scales(const std::vector<float>& amax) const {
    const Vector<float> from("amax", amax.size()), to("scale", amax.size());
    Kokkos::deep_copy(from, HostVector<const float>(amax.data(), amax.size()));
    scales_from_amax(method_.format, 1.0f, from, to);
    return host(to);
  }

  void add(const Encoded& encoded, std::vector<float>& sum) const {
    reference::dequantize(method_.format, encoded.codes, bucket_.host_tiles, encoded.scale, 1.0f, true, sum);
  }

  const Bucket& bucket_;
  const Method& method_;
  int nodes_;
  int ranks_per_node_;
  std::vector<std::vector<float>> senders_;   // residual of each rank
  std::vector<std::vector<float>> partials_;  // of each node
  std::vector<float> owner_;                  // of the owners, together
};

TEST(Hierarchical, IsTheSerialFormBitForBit) {
  constexpr int steps = 3;
  std::vector<std::vector<std::vector<float>>> gradients;
  ASSERT_FALSE(two_level_layouts().empty());
  for (const int ranks_per_node : two_level_layouts()) {
    Communicator communicator(nodes_of(ranks_per_node));
    const int ranks = communicator.size();
    if (gradients.empty()) gradients = all_gradients(steps, ranks);
    for (const Kind& kind : kinds) {
      SyntheticStep step(tiny_shape());
      CodecExchange exchange(hierarchical(kind, ranks), step.registry, step.gradients, communicator,
                             {.bucket_bytes = 15'000});
      std::vector<SerialForm> forms;
      for (const Bucket& bucket : exchange.plan().buckets())
        forms.emplace_back(bucket, exchange.method(), ranks / ranks_per_node, ranks_per_node);
      ASSERT_GT(forms.size(), 1u);

      for (int s = 0; s < steps; ++s) {
        ASSERT_FALSE(step.run(exchange, s, communicator.rank()).skipped);
        const std::vector<float> result = host(step.gradients);
        for (std::size_t b = 0; b < forms.size(); ++b) {
          const Bucket& bucket = exchange.plan().buckets()[b];
          const auto part = [&](const std::vector<float>& values) {
            const auto begin = values.begin() + bucket.gradient_offset;
            return std::vector<float>(begin, begin + bucket.gradient_size);
          };
          std::vector<std::vector<float>> parts;
          for (const auto& gradient : gradients[static_cast<std::size_t>(s)])
            parts.push_back(part(gradient));
          ASSERT_EQ(part(result), forms[b].step(parts))
              << words(kind, ranks_per_node) << ", step " << s << ", bucket " << b;
        }
      }
    }
  }
}

/// FP64 mean over the ranks of a step's gradients.
std::vector<double> exact_mean(int step, int ranks) {
  std::vector<double> mean;
  const auto all = all_gradients(step + 1, ranks);
  for (const auto& gradient : all.back()) {
    mean.resize(gradient.size(), 0.0);
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += static_cast<double>(gradient[i]) / ranks;
  }
  return mean;
}

TEST(Hierarchical, GivesTheMeanWithinTheBoundTheSameBitsAndThePlannedBytes) {
  std::vector<Kind> all = kinds;
  all.push_back({Format::e4m3, 0, Rounding::stochastic});
  std::vector<double> exact;
  for (const int ranks_per_node : layouts()) {
    Communicator communicator(nodes_of(ranks_per_node));
    const std::int64_t ranks = communicator.size(), nodes = ranks / ranks_per_node;
    if (exact.empty()) exact = exact_mean(1, communicator.size());
    for (const Kind& kind : all) {
      const Method method = hierarchical(kind, communicator.size());
      SyntheticStep step(tiny_shape());
      CodecExchange exchange(method, step.registry, step.gradients, communicator, {.bucket_bytes = 15'000});
      step.run(exchange, 0, communicator.rank());
      const TransportCounters before = communicator.counters();
      step.run(exchange, 1, communicator.rank());
      const TransportCounters used = communicator.counters() - before;
      const auto result = host(step.gradients);
      double error = 0.0, norm = 0.0;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        error += (result[i] - exact[i]) * (result[i] - exact[i]);
        norm += exact[i] * exact[i];
      }
      error = std::sqrt(error / norm);
      EXPECT_LE(error, exchange_error_bound(method, communicator.size())) << words(kind, ranks_per_node);
      EXPECT_EQ(error > 1e-5, kind.format != Format::fp32) << error << " " << words(kind, ranks_per_node);
      EXPECT_TRUE(compare_replicas(step.gradients, communicator).identical) << words(kind, ranks_per_node);

      std::int64_t message = 0;
      for (const Bucket& bucket : exchange.plan().buckets())
        message += bucket.message_bytes;
      const std::int64_t sent = 2 * ((ranks_per_node - 1) * nodes + nodes - 1) * message;
      EXPECT_EQ(used.payload.bytes_sent, sent) << words(kind, ranks_per_node);
      EXPECT_EQ(exchange.plan().payload_wire_bytes(), sent) << words(kind, ranks_per_node);
      EXPECT_EQ(exchange.plan().wire_bytes_between_nodes(), 2 * (nodes - 1) * message);
      EXPECT_EQ(used.metadata.bytes_sent, 0);
    }
  }
}

TEST(Hierarchical, OverlapChangesNoBit) {
  for (const int ranks_per_node : two_level_layouts()) {
    Communicator communicator(nodes_of(ranks_per_node));
    const Method method = test::method_named("gift-hierarchical", communicator.size());
    SyntheticStep one(tiny_shape()), two(tiny_shape());
    CodecExchange serial(method, one.registry, one.gradients, communicator, {.bucket_bytes = 6'000});
    CodecExchange overlapped(method, two.registry, two.gradients, communicator,
                             {.bucket_bytes = 6'000, .overlap = true});
    ASSERT_GT(serial.plan().buckets().size(), 5u);
    for (std::int64_t s = 0; s < 12; ++s) {  // past a refresh at step 10
      one.run(serial, s, communicator.rank());
      two.run(overlapped, s, communicator.rank());
      EXPECT_EQ(host(one.gradients), host(two.gradients)) << ranks_per_node << " per node, step " << s;
    }
  }
}

TEST(Hierarchical, OfOneLevelIsTheAllToAll) {
  Communicator plain({.self_test = false});
  const int ranks = plain.size();
  for (const int ranks_per_node : {1, ranks}) {
    Communicator levels(nodes_of(ranks_per_node));
    for (const Rounding rounding : {Rounding::nearest_even, Rounding::stochastic}) {
      const auto edit = [rounding](MethodDeck& deck) { deck.rounding = rounding; };
      SyntheticStep one(tiny_shape()), two(tiny_shape());
      CodecExchange a2a(method_with("gift-a2a", ranks, edit), one.registry, one.gradients, plain, {});
      CodecExchange hierarchical(method_with("gift-hierarchical", ranks, edit), two.registry, two.gradients,
                                 levels, {});
      for (std::int64_t s = 0; s < 3; ++s) {
        one.run(a2a, s, plain.rank());
        two.run(hierarchical, s, plain.rank());
        EXPECT_EQ(host(one.gradients), host(two.gradients)) << ranks_per_node << " per node, step " << s;
      }
      EXPECT_EQ(a2a.plan().payload_wire_bytes(), hierarchical.plan().payload_wire_bytes());
    }
  }
}

/// Residuals of all three roundings stay as they were when a step is skipped.
TEST(Hierarchical, ASkippedStepLeavesNoTrace) {
  for (const int ranks_per_node : two_level_layouts()) {
    Communicator communicator(nodes_of(ranks_per_node));
    const Method method = hierarchical({Format::e4m3, 0}, communicator.size());
    SyntheticStep step(tiny_shape()), clean(tiny_shape());
    CodecExchange exchange(method, step.registry, step.gradients, communicator, {.overlap = true});
    CodecExchange reference(method, clean.registry, clean.gradients, communicator, {.overlap = true});
    ASSERT_FALSE(step.run(exchange, 1, communicator.rank()).skipped);
    ASSERT_FALSE(clean.run(reference, 1, communicator.rank()).skipped);
    const float poison = communicator.rank() == 0 ? std::numeric_limits<float>::infinity() : 1.0f;
    EXPECT_TRUE(step.run(exchange, 2, communicator.rank(), poison).skipped);
    ASSERT_FALSE(step.run(exchange, 3, communicator.rank()).skipped);
    ASSERT_FALSE(clean.run(reference, 3, communicator.rank()).skipped);
    EXPECT_EQ(host(step.gradients), host(clean.gradients)) << ranks_per_node << " per node";
  }
}

TEST(Hierarchical, NodesOfDifferentSizeAreRefused) {
  Communicator communicator(nodes_of(2));
  ASSERT_GT(communicator.size(), 2);
  EXPECT_EQ(even_ranks_per_node(communicator), 2);
  // All but the last rank: its node has one rank less.
  const bool last = communicator.rank() == communicator.size() - 1;
  const auto group = communicator.split(last ? 1 : 0, 0, last ? "the last" : "all but the last");
  if (last) return;
  try {
    even_ranks_per_node(*group);
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("2, 1 on nodes"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace minigift
