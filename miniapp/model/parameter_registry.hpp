#pragma once
// The one list of the model's tensors. Allocation, buckets, optimizer routing, traces, checkpoints and
// printing all read it, so they cannot disagree about order, names or offsets.

#include "miniapp/model/shape.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minigift {

/// What a tensor does in the network.
enum class Role {
  embedding,    // (V,C)
  norm,         // (C)
  attention_q,  // (C,C)
  attention_k,  // (H_kv*D,C)
  attention_v,  // (H_kv*D,C)
  attention_o,  // (C,C)
  mlp_gate,     // (F,C)
  mlp_up,       // (F,C)
  mlp_down,     // (C,F)
  lm_head       // (V,C)
};
/// "embedding", "norm", "attention_q", ...
std::string_view name(Role role);
/// The inverse of name(). Throws UsageError for a word that is no role.
Role role_from_name(std::string_view word);
/// A weight matrix inside a decoder layer: what Muon updates. Embedding, head and norms are not.
bool is_hidden_matrix(Role role);

/// Position of a tensor within its decoder layer, counted from the layer's first.
enum LayerParameter : int {
  input_norm,
  q_proj,
  k_proj,
  v_proj,
  o_proj,
  post_attention_norm,
  gate_proj,
  up_proj,
  down_proj,
  parameters_per_layer
};
/// Position of a linear input within its decoder layer.
enum LayerInput : int { attention_input, output_input, mlp_input, down_input, inputs_per_layer };

/// One tensor. A linear layer's weight is (rows, columns) = (outputs, inputs), row-major: y = x w^T.
struct Parameter {
  std::string name;  // Hugging Face tensor name, e.g. model.layers.3.mlp.down_proj.weight
  Role role;
  std::int64_t layer;  // decoder layer, or -1
  std::int64_t rows;   // 1 for a one-dimensional tensor
  std::int64_t columns;
  bool one_dimensional;  // norms: the Hugging Face shape is [columns]
  std::int64_t offset;   // first element in the flat buffers, a multiple of ParameterRegistry::alignment
  int input_site;  // which distinct linear input feeds it (q, k, v share one; gate, up share one), or -1

  std::int64_t size() const { return rows * columns; }
  std::vector<std::int64_t> dimensions() const;  // {rows, columns} or {columns}
};

/// A distinct matrix x (R, width) that enters one or several linear layers y = x w^T. Its second moment A =
/// x^T x / R is the input-side curvature of each of those layers.
struct InputSite {
  std::string name;             // e.g. model.layers.3.mlp.down_proj:input
  std::int64_t layer;           // decoder layer, or -1 for the head
  std::int64_t width;           // columns of x
  std::vector<int> parameters;  // indices of the weights it feeds
};

/// A weight matrix of a list that is no whole model.
struct ListedMatrix {
  std::string name;
  Role role = Role::mlp_down;
  std::int64_t layer = -1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::string input_site;  ///< matrices of one name share their input; empty: none is known
};

/// Parameters in forward order: embedding, then per layer {input norm, q, k, v, o, post-attention norm, gate,
/// up, down}, then the final norm and the head. Backward finishes them in exactly the reverse order.
class ParameterRegistry {
 public:
  /// Elements; 64 bytes in FP32, so that each tensor starts on a cache line and a full vector register.
  static constexpr std::int64_t alignment = 16;

  explicit ParameterRegistry(const LlamaShape& shape);
  /// These matrices in this order: what a trace recorded of a model. embedding(), final_norm(), head() and
  /// index() have no meaning then.
  explicit ParameterRegistry(const std::vector<ListedMatrix>& matrices);

  int size() const { return static_cast<int>(parameters_.size()); }
  const Parameter& operator[](int index) const { return parameters_[static_cast<std::size_t>(index)]; }
  std::vector<Parameter>::const_iterator begin() const { return parameters_.begin(); }
  std::vector<Parameter>::const_iterator end() const { return parameters_.end(); }

  /// Index of a tensor of a decoder layer.
  static int index(std::int64_t layer, LayerParameter which) {
    return 1 + static_cast<int>(layer) * parameters_per_layer + which;
  }
  /// Index of a linear input of a decoder layer.
  static int input_site(std::int64_t layer, LayerInput which) {
    return static_cast<int>(layer) * inputs_per_layer + which;
  }
  int embedding() const { return 0; }
  int final_norm() const { return size() - 2; }
  int head() const { return size() - 1; }

  /// Index of the tensor with this name. Throws UsageError with the nearest name when there is none.
  int find(std::string_view name) const;
  /// Indices, ascending, of the names that match a glob: * any run of characters, ? one character. May be
  /// empty.
  std::vector<int> match(std::string_view pattern) const;

  const std::vector<InputSite>& input_sites() const { return input_sites_; }

  /// Exact parameter count, no padding.
  std::int64_t total() const { return total_; }
  /// Length of the flat buffers in elements: total() plus alignment padding, which is always zero.
  std::int64_t flat_size() const { return flat_size_; }

  /// Table of name, shape, size, offset and role, one line per tensor, ending with the total.
  std::string table() const;

 private:
  int add(std::string name, Role role, std::int64_t layer, std::int64_t rows, std::int64_t columns,
          int input_site);
  int add_site(std::string name, std::int64_t layer, std::int64_t width);

  std::vector<Parameter> parameters_;
  std::vector<InputSite> input_sites_;
  std::int64_t total_ = 0;
  std::int64_t flat_size_ = 0;
};

/// True when `text` matches the glob `pattern` (* and ? only).
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace minigift
