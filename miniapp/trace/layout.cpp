#include "miniapp/trace/layout.hpp"

#include "kernels/error.hpp"

#include <algorithm>
#include <set>

namespace minigift::trace_layout {

const KindFacts& facts(ArrayKind kind) {
  static const KindFacts gradient{
      "gradient", "nat / weight", "output", "input", true, false, {{"amax", "nat / weight"}}};
  static const KindFacts input_moment{"input_moment", "activation^2",       "input", "input", true,
                                      true,           {{"tokens", "token"}}};
  static const KindFacts output_moment{"output_moment", "nat^2 / activation^2", "output", "output", true,
                                       false,           {{"tokens", "token"}}};
  static const KindFacts sketch{"sketch",
                                "activation^2 * token",
                                "input",
                                "sketch column",
                                true,
                                true,
                                {{"tokens", "token"}, {"trace_sum", "activation^2 * token"}}};
  static const KindFacts test_matrix{"test_matrix", "1", "input", "sketch column", false, true, {}};
  switch (kind) {
    case ArrayKind::gradient:
      return gradient;
    case ArrayKind::input_moment:
      return input_moment;
    case ArrayKind::output_moment:
      return output_moment;
    case ArrayKind::sketch:
      return sketch;
    case ArrayKind::test_matrix:
      break;
  }
  return test_matrix;
}

bool is_recorded(ArrayKind kind, const TraceContent& content) {
  switch (kind) {
    case ArrayKind::gradient:
      return content.gradient;
    case ArrayKind::input_moment:
      return content.input_moment;
    case ArrayKind::output_moment:
      return content.output_moment;
    case ArrayKind::sketch:
    case ArrayKind::test_matrix:
      break;
  }
  return content.sketch;
}

std::vector<std::string> content_words(const TraceContent& content) {
  std::vector<std::string> words;
  for (const ArrayKind kind : all_kinds)
    if (kind != ArrayKind::test_matrix && is_recorded(kind, content)) words.emplace_back(facts(kind).name);
  return words;
}

std::string step_path(std::int64_t step) {
  return fmt::format("{}/{:08}", steps_path, step);
}
std::string group_path(std::int64_t step, ArrayKind kind) {
  return fmt::format("{}/{}", step_path(step), facts(kind).name);
}
std::string array_path(std::int64_t step, ArrayKind kind, const std::string& owner) {
  return fmt::format("{}/{}", group_path(step, kind), owner);
}

ArrayPlan plan_of(const TraceHeader& header, ArrayKind kind, int owner) {
  ArrayPlan plan;
  plan.kind = kind;
  plan.owner = owner;
  if (facts(kind).of_sites) {
    const TraceSite& site = header.sites.at(static_cast<std::size_t>(owner));
    plan.owner_name = site.name;
    plan.rows = site.width;
    plan.columns = kind == ArrayKind::input_moment ? site.width : -1;
  } else {
    const TraceTensor& tensor = header.tensors.at(static_cast<std::size_t>(owner));
    plan.owner_name = tensor.name;
    plan.rows = tensor.rows;
    plan.columns = kind == ArrayKind::gradient ? tensor.columns : tensor.rows;
  }
  return plan;
}

std::vector<ArrayPlan> arrays_of_a_step(const TraceHeader& header) {
  std::vector<ArrayPlan> plans;
  for (const ArrayKind kind : all_kinds) {
    if (!is_recorded(kind, header.content)) continue;
    const std::size_t owners = facts(kind).of_sites ? header.sites.size() : header.tensors.size();
    for (std::size_t owner = 0; owner < owners; ++owner)
      plans.push_back(plan_of(header, kind, static_cast<int>(owner)));
  }
  return plans;
}

ChunkShape chunk_shape(std::int64_t rows, std::int64_t columns, std::int64_t chunk_bytes) {
  const std::int64_t elements = std::max<std::int64_t>(chunk_bytes / 4, 1);
  if (columns > elements) {
    const std::int64_t parts = (columns + elements - 1) / elements;
    return {1, (columns + parts - 1) / parts};
  }
  const std::int64_t most_rows = elements / columns;
  const std::int64_t parts = (rows + most_rows - 1) / most_rows;
  return {(rows + parts - 1) / parts, columns};
}

std::vector<Piece> pieces(std::int64_t rows, std::int64_t columns, const ChunkShape& chunk,
                          std::int64_t max_bytes) {
  const std::int64_t chunk_bytes = 4 * chunk.rows * chunk.columns;
  const std::int64_t chunks = std::max<std::int64_t>(max_bytes / chunk_bytes, 1);
  // Either whole rows of the array, or a part of one row of chunks.
  const bool whole_rows = chunk.columns >= columns;
  const std::int64_t high = whole_rows ? chunk.rows * chunks : chunk.rows;
  const std::int64_t wide = whole_rows ? columns : chunk.columns * chunks;
  std::vector<Piece> result;
  for (std::int64_t row = 0; row < rows; row += high)
    for (std::int64_t column = 0; column < columns; column += wide)
      result.push_back({row, column, std::min(high, rows - row), std::min(wide, columns - column)});
  return result;
}

namespace {

void check_name(std::set<std::string>& seen, const std::string& name, const char* what) {
  require_usage(!name.empty() && name.find('/') == std::string::npos && name != ".",
                "trace: {} name '{}' cannot name a dataset of HDF5: it is empty, '.' or holds a '/'", what,
                name);
  require_usage(seen.insert(name).second, "trace: two of the {}s are named {}", what, name);
}

}  // namespace

void check_header(const TraceHeader& header) {
  require_usage(header.world_size >= 1 && header.ranks >= 1 && header.ranks <= header.world_size,
                "trace: {} recorded ranks of {}; record at least 1 and at most all", header.ranks,
                header.world_size);
  require_usage(!content_words(header.content).empty(), "trace: nothing to record: content is empty");
  std::set<std::string> sites;
  for (const TraceSite& site : header.sites) {
    check_name(sites, site.name, "site");
    require_usage(site.width >= 1, "trace: site {} has width {}", site.name, site.width);
  }
  std::set<std::string> tensors;
  for (const TraceTensor& tensor : header.tensors) {
    check_name(tensors, tensor.name, "tensor");
    require_usage(tensor.rows >= 1 && tensor.columns >= 1, "trace: tensor {} has shape ({}, {})", tensor.name,
                  tensor.rows, tensor.columns);
    require_usage(tensor.input_site.empty() || sites.count(tensor.input_site) == 1,
                  "trace: tensor {} has input site {}, which is not among the recorded sites", tensor.name,
                  tensor.input_site);
  }
  require_usage(!header.tensors.empty() || !(header.content.gradient || header.content.output_moment),
                "trace: no tensors to record");
  require_usage(!header.sites.empty() || !(header.content.input_moment || header.content.sketch),
                "trace: no sites to record");
}

}  // namespace minigift::trace_layout
