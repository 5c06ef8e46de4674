// Bytes that one rank sends, counted by the transport, against closed forms written down here from the
// tensors' sizes:
//   native   2 (N-1)/N * padded codes * bytes per code + 2 (N-1)/N * 4 B per scale for the MAX of amax
//   a2a      2 (N-1) * (padded shard + 4 B per scale of a shard)
#include "tests/exchange/fixture.hpp"

#include <gtest/gtest.h>

namespace minigift {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

struct Expected {
  std::int64_t payload = 0;
  std::int64_t scales = 0;
};

/// One bucket that holds the whole model.
Expected closed_form(const ParameterRegistry& registry, const Method& method, std::int64_t ranks) {
  const bool blocks = method.granularity == Granularity::block;
  std::int64_t slots = 0, groups = 0;
  std::vector<std::int64_t> group_starts;
  for (const Parameter& p : registry) {
    const std::int64_t step = blocks ? method.scale_block : p.size();
    for (std::int64_t at = 0; at < p.size(); at += step)
      group_starts.push_back(slots + at);
    slots += blocks ? round_up(p.size(), method.scale_block) : p.size();
    groups += (p.size() + step - 1) / step;
  }
  const std::int64_t unit = blocks ? std::max<std::int64_t>(method.scale_block, 64) : 64;
  const std::int64_t shard = round_up((slots + ranks - 1) / ranks, unit);
  const std::int64_t code = bytes_per_code(method.format);
  Expected expected;
  if (method.reduction == Reduction::native) {
    expected.payload = 2 * (ranks - 1) * shard * code;
    if (has_scale(method.format)) expected.scales = 2 * (ranks - 1) * 4 * groups / ranks;
    return expected;
  }
  // Scales of a shard: the groups that begin in it, and one that reaches into it.
  std::int64_t most = 0;
  for (std::int64_t s = 0; s < ranks; ++s) {
    const std::int64_t begin = s * shard, end = std::min(begin + shard, slots);
    std::int64_t count = 0;
    for (std::size_t g = 0; g < group_starts.size(); ++g) {
      std::int64_t group_end = g + 1 < group_starts.size() ? group_starts[g + 1] : slots;
      // A block's slot may be padded behind the tensor's last element; padding is in no group.
      std::int64_t offset = 0;
      for (const Parameter& p : registry) {
        const std::int64_t slot = blocks ? round_up(p.size(), method.scale_block) : p.size();
        if (group_starts[g] >= offset && group_starts[g] < offset + slot)
          group_end = std::min(group_end, offset + p.size());
        offset += slot;
      }
      if (group_starts[g] < end && group_end > begin) ++count;
    }
    most = std::max(most, count);
  }
  expected.payload = 2 * (ranks - 1) * (shard * code + (has_scale(method.format) ? 4 * most : 0));
  return expected;
}

TEST(WireBytes, EqualTheClosedFormForEveryMethod) {
  Communicator communicator;
  for (const MethodDeck& deck : built_in_methods()) {
    const Method method = resolve_method(deck, ExchangeDeck{}, communicator.size());
    test::SyntheticStep step;
    CodecExchange exchange(method, step.registry, step.gradients, communicator, {.bucket_bytes = 1 << 30});
    // Steps without a refresh carry codes and scales alone.
    step.run(exchange, 0, communicator.rank());
    const TransportCounters before = communicator.counters();
    step.run(exchange, 1, communicator.rank());
    const TransportCounters used = communicator.counters() - before;

    const Expected expected = closed_form(step.registry, method, communicator.size());
    EXPECT_EQ(used.payload.bytes_sent, expected.payload) << method.name;
    EXPECT_EQ(exchange.plan().payload_wire_bytes(), expected.payload) << method.name;
    const bool synced = method.scale == ScaleRule::synchronised;
    EXPECT_EQ(used.metadata.bytes_sent, synced ? expected.scales : 0) << method.name;
  }
}

TEST(WireBytes, ARefreshCostsOneSketchPerSite) {
  Communicator communicator;
  const Method method =
      test::method_with("gift", communicator.size(), [](MethodDeck& deck) { deck.layers = {"all"}; });
  test::SyntheticStep step;
  CodecExchange exchange(method, step.registry, step.gradients, communicator, {.bucket_bytes = 1 << 30});
  const TransportCounters before = communicator.counters();
  step.run(exchange, 0, communicator.rank());
  const TransportCounters middle = communicator.counters();
  step.run(exchange, 1, communicator.rank());
  const TransportCounters after = communicator.counters();
  const std::int64_t more = (middle - before).metadata.bytes_sent - (after - middle).metadata.bytes_sent;

  // 2 (N-1)/N of each array: d x min(40, d) floats and two doubles per site, two doubles per tensor for
  // gamma.
  const std::int64_t n = communicator.size();
  std::int64_t expected = 0;
  for (std::size_t s = 0; s + 1 < step.registry.input_sites().size(); ++s) {  // the head is no hidden matrix
    const std::int64_t d = step.registry.input_sites()[s].width;
    expected += 2 * (n - 1) * 4 * d * std::min<std::int64_t>(40, d) / n + 2 * (n - 1) * 16 / n;
  }
  expected += 2 * (n - 1) * 16 * step.registry.size() / n;
  EXPECT_EQ(more, expected);
}

}  // namespace
}  // namespace minigift
