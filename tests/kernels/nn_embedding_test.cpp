#include "kernels/error.hpp"
#include "kernels/nn/embedding.hpp"
#include "kernels/reference/embedding.hpp"
#include "tests/kernels/nn_support.hpp"

namespace minigift {
namespace {

using namespace test;

const std::vector<std::int32_t> tokens{3, 0, 6, 3, 3, 1, 6, 0, 3};
constexpr std::int64_t V = 7;

template <class S>
class Embedding : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Embedding, Scalars);

TYPED_TEST(Embedding, ForwardCopiesRows) {
  for (const std::int64_t C : {1, 5, 33}) {
    const Sample<TypeParam> table(V * C, 1);
    const auto R = static_cast<std::int64_t>(tokens.size());
    const Matrix<TypeParam> out("out", static_cast<std::size_t>(R), static_cast<std::size_t>(C));
    embedding_forward(Vector<const std::int32_t>(to_vector(tokens)), to_matrix(table.values, V, C), out);
    EXPECT_EQ(to_double(values_of(out)), reference::embedding_forward(tokens, C, table.exact));
  }
}

TYPED_TEST(Embedding, BackwardAddsInRowOrder) {
  for (const std::int64_t C : {1, 5, 33}) {
    const auto R = static_cast<std::int64_t>(tokens.size());
    const Sample<TypeParam> d_out(R * C, 2), before(V * C, 3);
    const Matrix<TypeParam> d_table = to_matrix(before.values, V, C);
    embedding_backward(Vector<const std::int32_t>(to_vector(tokens)), to_matrix(d_out.values, R, C), d_table);
    std::vector<TypeParam> expected = before.values;  // the same sums in the same order, so the same bits
    for (std::int64_t r = 0; r < R; ++r)
      for (std::int64_t c = 0; c < C; ++c)
        expected[static_cast<std::size_t>(tokens[static_cast<std::size_t>(r)] * C + c)] +=
            d_out.values[static_cast<std::size_t>(r * C + c)];
    EXPECT_TRUE(same_bits(values_of(d_table), expected));

    std::vector<double> exact = before.exact, bound(exact.size(), 0.0);
    reference::embedding_backward(tokens, C, d_out.exact, exact);
    for (double& b : bound)
      b = 5 * unit_roundoff<TypeParam> * 20;  // at most 4 additions, partial sums below 20
    expect_within(values_of(d_table), exact, bound);
  }
}

TEST(EmbeddingErrors, TokenOutsideTheTable) {
  const Matrix<float> table("table", 7, 4), out("out", 3, 4);
  for (const std::int32_t bad : {-1, 7}) {
    const Vector<const std::int32_t> wrong = to_vector(std::vector<std::int32_t>{2, bad, bad});
    for (const bool forward : {true, false}) {
      try {
        if (forward) embedding_forward(wrong, table, out);
        if (!forward) embedding_backward(wrong, out, table);
        ADD_FAILURE() << "accepted " << bad;
      } catch (const RuntimeError& error) {
        const std::string message = error.what();
        EXPECT_NE(message.find("row 1"), std::string::npos) << message;
        EXPECT_NE(message.find(std::to_string(bad)), std::string::npos) << message;
      }
    }
  }
}

TEST(EmbeddingErrors, NoRowsAndWrongShape) {
  const Matrix<float> table("table", 7, 4), none("none", 0, 4), narrow("narrow", 2, 3);
  const Vector<const std::int32_t> no_tokens = Vector<std::int32_t>("tokens", 0);
  embedding_forward(no_tokens, table, none);
  embedding_backward(no_tokens, none, table);
  const Vector<const std::int32_t> two = Vector<std::int32_t>("tokens", 2);
  EXPECT_THROW(embedding_forward(two, table, narrow), RuntimeError);
}

}  // namespace
}  // namespace minigift
