#include "miniapp/exchange/selection.hpp"

#include "kernels/error.hpp"

#include <algorithm>
#include <fstream>
#include <numeric>

namespace minigift {
namespace {

std::vector<std::string> read_patterns(const std::string& path) {
  std::ifstream file(path);
  require_usage(file.good(), "exchange layers: cannot read selection file {}", path);
  std::vector<std::string> patterns;
  for (std::string line; std::getline(file, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    line.erase(0, std::min(line.find_first_not_of(" \t\r"), line.size()));
    const auto last = line.find_last_not_of(" \t\r");
    if (last == std::string::npos) continue;
    patterns.push_back(line.substr(0, last + 1));
  }
  require_usage(!patterns.empty(), "exchange layers: selection file {} names no tensor", path);
  return patterns;
}

}  // namespace

std::vector<SelectionCandidate> selection_candidates(const ParameterRegistry& registry) {
  std::vector<SelectionCandidate> list;
  for (const Parameter& p : registry) {
    list.push_back({p.name, p.size(), p.input_site >= 0, is_hidden_matrix(p.role)});
  }
  return list;
}

LayerSelection::LayerSelection(const Method& method, const std::vector<SelectionCandidate>& candidates)
    : method_(method),
      candidates_(candidates),
      selected_(candidates.size(), false),
      considered_(candidates.size(), false),
      score_(candidates.size(), 0.0) {
  if (method.coordinates == CoordinateSystem::euclidean) return;
  std::vector<std::string> patterns;
  for (const std::string& entry : method.layers) {
    if (entry == "auto") {
      require_usage(method.layers.size() == 1, "method {}: layers = \"auto\" cannot be combined with others",
                    method.name);
      auto_ = true;
    } else if (entry.rfind("file:", 0) == 0) {
      const auto from_file = read_patterns(entry.substr(5));
      patterns.insert(patterns.end(), from_file.begin(), from_file.end());
    } else {
      patterns.push_back(entry);
    }
  }
  for (const std::string& pattern : patterns) {
    bool matched = false;
    for (std::size_t t = 0; t < candidates.size(); ++t) {
      const auto& candidate = candidates[t];
      if (pattern == "all" ? !candidate.is_hidden_matrix : !glob_match(pattern, candidate.name)) continue;
      require_usage(candidate.has_input_site,
                    "method {}: layers entry \"{}\" selects {}, which is no linear layer's weight",
                    method.name, pattern, candidate.name);
      selected_[t] = true;
      matched = true;
    }
    require_usage(matched, "method {}: layers entry \"{}\" matches no tensor of the model", method.name,
                  pattern);
  }
  for (std::size_t t = 0; t < candidates.size(); ++t) {
    considered_[t] = auto_ ? candidates[t].is_hidden_matrix : selected_[t];
  }
}

void LayerSelection::report(int tensor, const GammaTerms& terms) {
  const auto t = static_cast<std::size_t>(tensor);
  const double gamma_squared = terms.norm_squared > 0.0 ? terms.numerator / terms.norm_squared : 1.0;
  score_[t] += (1.0 - gamma_squared) * terms.norm_squared / static_cast<double>(candidates_[t].size);
}

void LayerSelection::choose() {
  ++refreshes_;
  std::vector<std::size_t> order(candidates_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Ties by index: every rank must choose alike.
  std::stable_sort(order.begin(), order.end(),
                   [this](std::size_t a, std::size_t b) { return score_[a] > score_[b]; });
  std::int64_t total = 0;
  for (std::size_t t = 0; t < candidates_.size(); ++t) {
    if (considered_[t]) total += candidates_[t].size;
  }
  std::fill(selected_.begin(), selected_.end(), false);
  std::int64_t taken = 0;
  for (const std::size_t t : order) {
    if (!considered_[t] || score_[t] <= 0.0) continue;
    if (taken > 0 && static_cast<double>(taken + candidates_[t].size) >
                         method_.auto_fraction * static_cast<double>(total)) {
      break;
    }
    taken += candidates_[t].size;
    selected_[t] = true;
  }
  if (!is_profiling()) considered_ = selected_;
}

std::int64_t LayerSelection::selected_parameters() const {
  std::int64_t sum = 0;
  for (std::size_t t = 0; t < candidates_.size(); ++t) {
    if (selected_[t]) sum += candidates_[t].size;
  }
  return sum;
}

int LayerSelection::selected_tensors() const {
  return static_cast<int>(std::count(selected_.begin(), selected_.end(), true));
}

}  // namespace minigift
