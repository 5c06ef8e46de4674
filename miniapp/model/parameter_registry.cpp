#include "miniapp/model/parameter_registry.hpp"

#include "kernels/error.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace minigift {

std::string_view name(Role role) {
  switch (role) {
    case Role::embedding:
      return "embedding";
    case Role::norm:
      return "norm";
    case Role::attention_q:
      return "attention_q";
    case Role::attention_k:
      return "attention_k";
    case Role::attention_v:
      return "attention_v";
    case Role::attention_o:
      return "attention_o";
    case Role::mlp_gate:
      return "mlp_gate";
    case Role::mlp_up:
      return "mlp_up";
    case Role::mlp_down:
      return "mlp_down";
    case Role::lm_head:
      return "lm_head";
  }
  throw RuntimeError("unknown parameter role");
}

Role role_from_name(std::string_view word) {
  for (int i = 0; i <= static_cast<int>(Role::lm_head); ++i) {
    const auto role = static_cast<Role>(i);
    if (name(role) == word) return role;
  }
  throw UsageError(fmt::format("'{}' is no role of a parameter", word));
}

bool is_hidden_matrix(Role role) {
  return role != Role::embedding && role != Role::norm && role != Role::lm_head;
}

std::vector<std::int64_t> Parameter::dimensions() const {
  if (one_dimensional) return {columns};
  return {rows, columns};
}

ParameterRegistry::ParameterRegistry(const LlamaShape& shape) {
  shape.check();
  const std::int64_t C = shape.hidden;
  const std::int64_t F = shape.feed_forward;
  const std::int64_t V = shape.vocabulary;
  const std::int64_t kv = shape.kv_width();
  add("model.embed_tokens.weight", Role::embedding, -1, V, C, -1);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    const int attention_input = add_site(prefix + "self_attn.q_proj:input", layer, C);
    const int output_input = add_site(prefix + "self_attn.o_proj:input", layer, C);
    const int mlp_input = add_site(prefix + "mlp.gate_proj:input", layer, C);
    const int down_input = add_site(prefix + "mlp.down_proj:input", layer, F);
    add(prefix + "input_layernorm.weight", Role::norm, layer, 1, C, -1);
    add(prefix + "self_attn.q_proj.weight", Role::attention_q, layer, C, C, attention_input);
    add(prefix + "self_attn.k_proj.weight", Role::attention_k, layer, kv, C, attention_input);
    add(prefix + "self_attn.v_proj.weight", Role::attention_v, layer, kv, C, attention_input);
    add(prefix + "self_attn.o_proj.weight", Role::attention_o, layer, C, C, output_input);
    add(prefix + "post_attention_layernorm.weight", Role::norm, layer, 1, C, -1);
    add(prefix + "mlp.gate_proj.weight", Role::mlp_gate, layer, F, C, mlp_input);
    add(prefix + "mlp.up_proj.weight", Role::mlp_up, layer, F, C, mlp_input);
    add(prefix + "mlp.down_proj.weight", Role::mlp_down, layer, C, F, down_input);
  }
  add("model.norm.weight", Role::norm, -1, 1, C, -1);
  add("lm_head.weight", Role::lm_head, -1, V, C, add_site("lm_head:input", -1, C));
}

ParameterRegistry::ParameterRegistry(const std::vector<ListedMatrix>& matrices) {
  for (const ListedMatrix& matrix : matrices) {
    int site = -1;
    for (int i = 0; i < static_cast<int>(input_sites_.size()); ++i) {
      if (input_sites_[static_cast<std::size_t>(i)].name == matrix.input_site) site = i;
    }
    if (site < 0 && !matrix.input_site.empty())
      site = add_site(matrix.input_site, matrix.layer, matrix.columns);
    require_usage(site < 0 || input_sites_[static_cast<std::size_t>(site)].width == matrix.columns,
                  "{}: {} columns, but its input {} has another width", matrix.name, matrix.columns,
                  matrix.input_site);
    add(matrix.name, matrix.role, matrix.layer, matrix.rows, matrix.columns, site);
  }
}

int ParameterRegistry::add(std::string name, Role role, std::int64_t layer, std::int64_t rows,
                           std::int64_t columns, int input_site) {
  const int index = size();
  parameters_.push_back({.name = std::move(name),
                         .role = role,
                         .layer = layer,
                         .rows = rows,
                         .columns = columns,
                         .one_dimensional = role == Role::norm,
                         .offset = flat_size_,
                         .input_site = input_site});
  total_ += rows * columns;
  flat_size_ += (rows * columns + alignment - 1) / alignment * alignment;
  if (input_site >= 0) input_sites_[static_cast<std::size_t>(input_site)].parameters.push_back(index);
  return index;
}

int ParameterRegistry::add_site(std::string name, std::int64_t layer, std::int64_t width) {
  input_sites_.push_back({.name = std::move(name), .layer = layer, .width = width, .parameters = {}});
  return static_cast<int>(input_sites_.size()) - 1;
}

namespace {
/// Levenshtein distance, to suggest the name that was probably meant.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, substituted}));
    }
  }
  return row.back();
}
}  // namespace

int ParameterRegistry::find(std::string_view name) const {
  const auto position =
      std::find_if(begin(), end(), [name](const Parameter& parameter) { return parameter.name == name; });
  if (position != end()) return static_cast<int>(position - begin());
  const auto nearest = std::min_element(begin(), end(), [name](const Parameter& a, const Parameter& b) {
    return edit_distance(a.name, name) < edit_distance(b.name, name);
  });
  throw UsageError(
      fmt::format("the model has no tensor '{}'; the nearest name is '{}'", name, nearest->name));
}

std::vector<int> ParameterRegistry::match(std::string_view pattern) const {
  std::vector<int> indices;
  for (int index = 0; index < size(); ++index)
    if (glob_match(pattern, (*this)[index].name)) indices.push_back(index);
  return indices;
}

std::string ParameterRegistry::table() const {
  std::string text =
      fmt::format("{:<50} {:<12} {:>16} {:>12} {:>12}\n", "tensor", "role", "shape", "elements", "offset");
  for (const Parameter& parameter : parameters_) {
    const std::string shape = parameter.one_dimensional
                                  ? fmt::format("[{}]", parameter.columns)
                                  : fmt::format("[{}, {}]", parameter.rows, parameter.columns);
    text += fmt::format("{:<50} {:<12} {:>16} {:>12} {:>12}\n", parameter.name,
                        minigift::name(parameter.role), shape, parameter.size(), parameter.offset);
  }
  text += fmt::format("{:<50} {:<12} {:>16} {:>12} {:>12}\n", "total", "", "", total_, flat_size_);
  return text;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  // On a mismatch go back to the last star and let it swallow one more character.
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

}  // namespace minigift
