#include "miniapp/fidelity/transform_catalog.hpp"

#include "kernels/error.hpp"
#include "miniapp/deck/deck.hpp"

#include <fmt/format.h>

namespace minigift {
namespace {

/// Damping relative to the mean eigenvalue.
WhiteningOptions relative(double exponent, double damping, Completion completion = Completion::edge) {
  return {.exponent = exponent, .completion = completion, .damping = damping};
}

WhiteningOptions absolute(double damping) {
  return {.exponent = 0.5, .completion = Completion::edge, .damping = damping, .absolute_damping = true};
}

std::vector<TransformSpecification> make_catalog() {
  constexpr double half = 0.5, three_eighths = 0.375, quarter = 0.25;
  std::vector<TransformSpecification> list;
  const auto add = [&](std::string name, std::string group, Side side, Form form, std::int64_t size,
                       const WhiteningOptions& options, std::string meaning) -> TransformSpecification& {
    list.push_back({.name = std::move(name),
                    .group = std::move(group),
                    .side = side,
                    .form = form,
                    .size = size,
                    .options = options,
                    .meaning = std::move(meaning)});
    return list.back();
  };
  add("euclidean", "paper", Side::none, Form::identity, 0, {}, "no change of coordinates");
  add("output-full", "paper", Side::output, Form::full, 0, relative(half, 0.1),
      "G^-1/2 W, damping 0.1 of the mean");
  add("input-full", "paper", Side::input, Form::full, 0, relative(half, 0.1),
      "W A^-1/2, damping 0.1 of the mean");
  add("two-sided", "paper", Side::both, Form::full, 0, relative(half, 0.1),
      "K-FAC: G^-1/2 W A^-1/2, damping 0.1 of the means");
  add("input-diag", "paper", Side::input, Form::diagonal, 0, relative(half, 1e-3), "W diag(A)^-1/2");
  for (const std::int64_t width : {32, 64, 128})
    add(fmt::format("input-block-{}", width), "paper", Side::input, Form::block, width, relative(half, 0.01),
        "diagonal blocks of A, damping 0.01");
  for (const std::int64_t rank : {8, 16, 32})
    add(fmt::format("input-lowrank-{}", rank), "paper", Side::input, Form::low_rank, rank, relative(half, 0),
        "leading eigenpairs, completed by the smallest of them");

  add("input-full cholesky", "root", Side::input, Form::full, 0, relative(half, 0.1),
      "W L^-T as printed in Eq. 14")
      .root = Root::cholesky;
  add("two-sided cholesky", "root", Side::both, Form::full, 0, relative(half, 0.1),
      "as printed in Eqs. 9 to 13")
      .root = Root::cholesky;
  add("input-block-128 cholesky", "root", Side::input, Form::block, 128, relative(half, 0.01),
      "Cholesky root of each block")
      .root = Root::cholesky;

  add("output-full absolute 1e-3", "damping", Side::output, Form::full, 0, absolute(1e-3),
      "a K-FAC package's default damping, far above G's eigenvalues");
  add("two-sided absolute 1e-3", "damping", Side::both, Form::full, 0, absolute(1e-3),
      "the same on both sides");
  add("input-full absolute 1e-3", "damping", Side::input, Form::full, 0, absolute(1e-3), "the same on A");
  add("input-full damping 1e-3", "damping", Side::input, Form::full, 0, relative(half, 1e-3),
      "less damping than the table's 0.1");
  add("input-full damping 1", "damping", Side::input, Form::full, 0, relative(half, 1), "more damping");

  add("input-full p=3/8", "exponent", Side::input, Form::full, 0, relative(three_eighths, 1e-3), "W A^-3/8");
  add("input-full p=1/4", "exponent", Side::input, Form::full, 0, relative(quarter, 1e-3), "W A^-1/4");
  add("two-sided p=1/4", "exponent", Side::both, Form::full, 0, relative(quarter, 1e-3), "G^-1/4 W A^-1/4");
  add("input-lowrank-32 p=3/8 tail", "exponent", Side::input, Form::low_rank, 32,
      relative(three_eighths, 0, Completion::tail), "exponent 3/8, completed by the mean of the rest");
  add("input-lowrank-32 p=1/4 tail", "exponent", Side::input, Form::low_rank, 32,
      relative(quarter, 0, Completion::tail), "the default of this program");

  add("input-lowrank-32 mean", "completion", Side::input, Form::low_rank, 32,
      relative(half, 0, Completion::mean), "completed by the mean eigenvalue");
  for (const std::int64_t rank : {8, 16, 32})
    add(fmt::format("input-lowrank-{} tail", rank), "completion", Side::input, Form::low_rank, rank,
        relative(half, 0, Completion::tail), "completed by the mean of the rest");
  add("input-lowrank-32 p=1/4 edge", "completion", Side::input, Form::low_rank, 32, relative(quarter, 0),
      "exponent 1/4, completed by the smallest kept");

  add("euclidean hadamard", "rotation", Side::none, Form::identity, 0, {}, "rotation alone").hadamard = true;
  add("input-lowrank-32 p=1/4 tail hadamard", "rotation", Side::input, Form::low_rank, 32,
      relative(quarter, 0, Completion::tail), "rotated after the root")
      .hadamard = true;
  add("input-full p=1/4 hadamard", "rotation", Side::input, Form::full, 0, relative(quarter, 1e-3),
      "rotated after the root")
      .hadamard = true;
  return list;
}

}  // namespace

const std::vector<TransformSpecification>& transform_catalog() {
  static const std::vector<TransformSpecification> list = make_catalog();
  return list;
}

const TransformSpecification& find_transform(const std::string& name) {
  std::vector<std::string> names;
  for (const TransformSpecification& specification : transform_catalog()) {
    if (specification.name == name) return specification;
    names.push_back(specification.name);
  }
  throw UsageError(
      fmt::format("transform \"{}\" is unknown{}; --list names them all", name, nearest_name(name, names)));
}

}  // namespace minigift
