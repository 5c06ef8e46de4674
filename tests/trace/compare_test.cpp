// Measures of compare_traces against values known by construction.

#include "miniapp/trace/compare.hpp"

#include "tests/trace/fixture.hpp"

#include <cmath>
#include <limits>

namespace {

using namespace minigift;
using namespace minigift::test;

class Compare : public TraceTest {
 protected:
  /// A trace of one tensor "w" of the shape of `ranks[0]`, of steps 3, 4, ...: steps[s][rank].
  void write_gradients(const std::string& name, const std::vector<HostMatrix<float>>& steps,
                       const std::string& tensor = "w") {
    TraceHeader one = header();
    one.content = {true, false, false, false};
    one.sites.clear();
    one.tensors = {{tensor, "mlp_up", 0, static_cast<std::int64_t>(steps[0].extent(0)),
                    static_cast<std::int64_t>(steps[0].extent(1)), ""}};
    TraceWriter writer(file_name(name), one, {}, communicator);
    for (std::size_t s = 0; s < steps.size(); ++s) {
      TraceStep step = step_facts(3 + static_cast<std::int64_t>(s));
      step.loss = {1.0};
      writer.begin_step(step);
      writer.gradient(0, steps[s]);
      writer.end_step();
    }
    writer.finish();
  }
  TraceComparison compare(const std::string& a, const std::string& b) {
    return compare_traces(TraceReader(file_name(a)), TraceReader(file_name(b)));
  }
  HostMatrix<float> filled(std::int64_t rows, std::int64_t columns, float value) {
    HostMatrix<float> result("filled", static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
    Kokkos::deep_copy(result, value);
    return result;
  }
};

TEST_F(Compare, MeasuresWhatWasBuiltIn) {
  const HostMatrix<float> a = filled(30, 40, 2.0f);
  HostMatrix<float> b = filled(30, 40, 2.0f);
  b(29, 39) = 2.0f + 0.5f;
  write_gradients("a.h5", {a, a});
  write_gradients("b.h5", {b, a});
  const TraceComparison comparison = compare("a.h5", "b.h5");
  ASSERT_EQ(comparison.arrays.size(), 2u);
  EXPECT_TRUE(comparison.unmatched.empty());
  const ArrayComparison& changed = comparison.arrays[0];
  EXPECT_EQ(changed.step, 3);
  EXPECT_EQ(changed.owner, "w");
  EXPECT_EQ(changed.elements, 1200);
  // ||b - a|| = 0.5, ||a|| = 2 sqrt(1200); exact sums of few bits.
  EXPECT_DOUBLE_EQ(changed.relative_l2, 0.5 / (2.0 * std::sqrt(1200.0)));
  EXPECT_DOUBLE_EQ(changed.cosine, (1199 * 4.0 + 5.0) / (std::sqrt(4800.0) * std::sqrt(1199 * 4.0 + 6.25)));
  EXPECT_EQ(changed.max_difference, 0.5);
  EXPECT_FALSE(changed.equal_bits);
  const ArrayComparison& same = comparison.arrays[1];
  EXPECT_EQ(same.relative_l2, 0.0);
  EXPECT_EQ(same.cosine, 1.0);
  EXPECT_EQ(same.max_difference, 0.0);
  EXPECT_TRUE(same.equal_bits);
  EXPECT_TRUE(within(comparison, 0.01));
  EXPECT_FALSE(within(comparison, 0.001));
}

TEST_F(Compare, ZerosAndValuesThatAreNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  write_gradients("a.h5", {filled(2, 2, 0.0f), filled(2, 2, 0.0f), filled(2, 2, 0.0f), filled(2, 2, infinity),
                           filled(2, 2, 1.0f)});
  write_gradients("b.h5", {filled(2, 2, 0.0f), filled(2, 2, 1.0f), filled(2, 2, -0.0f),
                           filled(2, 2, infinity), filled(2, 2, std::numeric_limits<float>::quiet_NaN())});
  const std::vector<ArrayComparison> arrays = compare("a.h5", "b.h5").arrays;
  ASSERT_EQ(arrays.size(), 5u);
  EXPECT_TRUE(arrays[0].equal_bits && arrays[0].relative_l2 == 0.0 && arrays[0].cosine == 1.0);
  EXPECT_TRUE(std::isinf(arrays[1].relative_l2) && arrays[1].cosine == 0.0 &&
              arrays[1].max_difference == 1.0);
  EXPECT_TRUE(!arrays[2].equal_bits && arrays[2].relative_l2 == 0.0 && arrays[2].cosine == 1.0);
  EXPECT_TRUE(arrays[3].equal_bits && arrays[3].relative_l2 == 0.0 && arrays[3].max_difference == 0.0);
  EXPECT_TRUE(std::isnan(arrays[4].relative_l2) && std::isnan(arrays[4].max_difference));
  EXPECT_FALSE(within({{arrays[4]}, {}}, 1e30));
}

TEST_F(Compare, SaysWhatHasNoCounterpart) {
  write_gradients("a.h5", {filled(2, 2, 1.0f), filled(2, 2, 1.0f)});
  write_gradients("shorter.h5", {filled(2, 2, 1.0f)});
  write_gradients("other-name.h5", {filled(2, 2, 1.0f), filled(2, 2, 1.0f)}, "v");
  write_gradients("other-shape.h5", {filled(2, 3, 1.0f), filled(2, 3, 1.0f)});
  TraceComparison comparison = compare("a.h5", "shorter.h5");
  ASSERT_EQ(comparison.arrays.size(), 1u);
  ASSERT_EQ(comparison.unmatched.size(), 1u);
  EXPECT_NE(comparison.unmatched[0].find("/steps/00000004/gradient/w is only in"), std::string::npos);
  EXPECT_FALSE(within(comparison, 1.0));
  comparison = compare("a.h5", "other-name.h5");
  EXPECT_TRUE(comparison.arrays.empty());
  EXPECT_EQ(comparison.unmatched.size(), 4u);
  comparison = compare("a.h5", "other-shape.h5");
  EXPECT_TRUE(comparison.arrays.empty());
  ASSERT_EQ(comparison.unmatched.size(), 2u);
  EXPECT_NE(comparison.unmatched[0].find("shape (2, 2)"), std::string::npos);
}

TEST_F(Compare, EverythingOfAWholeTrace) {
  write(file_name("a.h5"), header(), {}, {1, 2});
  TraceWriterOptions deflated;
  deflated.deflate = 1;
  write(file_name("b.h5"), header(), deflated, {1, 2});
  const TraceComparison comparison = compare("a.h5", "b.h5");
  EXPECT_EQ(comparison.arrays.size(), 2u * (4 + 4 + 2 + 2 + 2));
  EXPECT_TRUE(within(comparison, 0.0));
  for (const ArrayComparison& array : comparison.arrays)
    EXPECT_TRUE(array.equal_bits) << array.owner;
}

}  // namespace
