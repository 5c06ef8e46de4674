// Every transform of the catalogue, applied and undone in FP32, is the identity.

#include "kernels/device/memory.hpp"
#include "kernels/linalg/comparison.hpp"
#include "kernels/slice.hpp"
#include "miniapp/fidelity/layer_transform.hpp"
#include "tests/kernels/gradient_generator.hpp"

#include <gtest/gtest.h>

#include <set>

namespace minigift {
namespace {

LayerGeometry geometry_of(const test::GeneratedGradient& generated, double tokens) {
  LayerGeometry geometry;
  geometry.input = std::make_shared<MomentGeometry>(second_moment(generated.inputs));
  geometry.output = std::make_shared<MomentGeometry>(second_moment(generated.output_gradients));
  geometry.tokens = tokens;
  return geometry;
}

TEST(LayerTransform, ForwardThenInverseIsTheIdentity) {
  const auto generated = test::generate_gradient({.d_in = 384, .d_out = 256, .tokens = 1024});
  const LayerGeometry geometry = geometry_of(generated, 1024);
  const Matrix<const float> w = generated.gradient;
  const Matrix<float> u("u", w.extent(0), w.extent(1));
  TransformWorkspace workspace;
  for (const TransformSpecification& specification : transform_catalog()) {
    ASSERT_EQ(missing_moment(specification, geometry), "");
    const LayerTransform transform(specification, geometry);
    EXPECT_EQ(transform.is_identity(), specification.form == Form::identity) << specification.name;
    transform.forward(TransformInput(w, geometry, workspace), u, workspace);
    if (specification.form != Form::identity || specification.hadamard) {
      EXPECT_GT(compare<float>(flatten(Matrix<const float>(u)), flatten(w)).relative_l2(), 1e-3)
          << specification.name;
    }
    transform.inverse(u, workspace);
    EXPECT_LE(compare<float>(flatten(Matrix<const float>(u)), flatten(w)).relative_l2(), 1e-5)
        << specification.name;
  }
}

TEST(LayerTransform, MissingMomentsAreNamed) {
  const LayerGeometry nothing;
  EXPECT_EQ(missing_moment(find_transform("euclidean"), nothing), "");
  EXPECT_EQ(missing_moment(find_transform("output-full"), nothing), "the trace has no output-moment");
  EXPECT_EQ(missing_moment(find_transform("input-full"), nothing), "the trace has no input-moment");
  EXPECT_EQ(missing_moment(find_transform("input-lowrank-8"), nothing),
            "the trace has neither input-moment nor sketch");
}

/// Coordinates from a sketch of the same inputs are at most 5 % worse than those of the whole moment.
TEST(LayerTransform, ASketchServesLowRanks) {
  const auto generated = test::generate_gradient({.d_in = 384, .d_out = 256, .tokens = 1024});
  LayerGeometry dense = geometry_of(generated, 1024), sketched;
  auto sketch = std::make_shared<SketchGeometry>();
  sketch->test_matrix = sketch_test_matrix(384, 40, 1);
  sketch->sketch = make_sketch(384, 40);
  sketch_accumulate<float>(generated.inputs, sketch->test_matrix, sketch->sketch);
  sketched.sketch = sketch;
  EXPECT_EQ(missing_moment(find_transform("input-lowrank-32"), sketched), "");
  EXPECT_NE(missing_moment(find_transform("input-full"), sketched), "");
  const Matrix<const float> w = generated.gradient;
  TransformWorkspace workspace;
  const auto gamma_with = [&](const LayerGeometry& geometry) {
    const LayerTransform transform(find_transform("input-lowrank-16 tail"), geometry);
    return gamma(transform.gamma_terms(TransformInput(w, geometry, workspace), w, workspace));
  };
  EXPECT_LE(gamma_with(sketched), 1.05 * gamma_with(dense));
  EXPECT_LE(gamma_with(dense), 0.6);
}

TEST(Catalogue, NamesAreUniqueAndFoundAndErrorsNameTheNearest) {
  std::set<std::string> names;
  for (const TransformSpecification& specification : transform_catalog()) {
    EXPECT_TRUE(names.insert(specification.name).second) << specification.name;
    EXPECT_EQ(&find_transform(specification.name), &specification);
    EXPECT_FALSE(specification.meaning.empty()) << specification.name;
  }
  try {
    find_transform("input-lowrank-33");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("input-lowrank-32"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace minigift
