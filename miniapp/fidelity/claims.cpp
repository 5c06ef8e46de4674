#include "miniapp/fidelity/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace minigift {
namespace {

ClaimVerdict verdict_of(bool agrees) {
  return agrees ? ClaimVerdict::agrees : ClaimVerdict::contradicts;
}

class Judge {
 public:
  Judge(const StudyResult& result, std::string format)
      : result_(result), format_(std::move(format)), summaries_(summarise(result.one_step)) {}

  std::vector<Claim> judge() {
    baseline();
    ratio("V-A", "the output side contributes nothing", "output-full", "euclidean", 0.98, 1.02,
          [this] { return alternative("absolute damping 1e-3", "output-full absolute 1e-3", "euclidean"); });
    ratio("V-A", "the input side alone matches both sides", "two-sided", "input-full", 0.95, 1.05);
    ratio("V-B", "a diagonal factor barely helps", "input-diag", "euclidean", 0.98, 1.02);
    ratio("V-B", "blocks of 128 keep less than half of the error", "input-block-128", "euclidean", 0.0, 0.5);
    ratio("V-B", "rank 32 is as good as the full factor", "input-lowrank-32", "input-full", 0.0, 1.05);
    ratio("abstract", "rank 32 removes up to 67.4 % of the error", "input-lowrank-32", "euclidean", 0.0,
          0.36);
    ratio("IV, Eqs. 9, 14", "Cholesky factors give these figures (ratio to the symmetric root)",
          "input-full cholesky", "input-full", 0.95, 1.05);
    down_projection();
    local_scaling();
    factor_age();
    return std::move(claims_);
  }

 private:
  double rel_l2(const std::string& transform) const {
    const OneStepSummary* summary = find(summaries_, transform, format_);
    return summary == nullptr ? -1.0 : summary->sums.relative_l2();
  }
  void add(std::string section, std::string claim, ClaimVerdict verdict, std::string figures) {
    claims_.push_back({std::move(section), std::move(claim), verdict, std::move(figures)});
  }

  void baseline() {
    const double value = rel_l2("euclidean");
    if (value < 0)
      return add("V-A", "the Euclidean error is 5.28e-2", ClaimVerdict::not_measured, "no such row");
    add("V-A", "the Euclidean error is 5.28e-2", verdict_of(value > 0.0515 && value < 0.0535),
        fmt::format("{:.3e} in {}; agrees within 5.15e-2 ... 5.35e-2", value, format_));
  }

  std::string alternative(const char* what, const std::string& first, const std::string& second) const {
    const double a = rel_l2(first), b = rel_l2(second);
    return a < 0 || b <= 0 ? std::string() : fmt::format("; with {}: ratio {:.3f}", what, a / b);
  }

  template <class More>
  void ratio(const std::string& section, const std::string& claim, const std::string& first,
             const std::string& second, double low, double high, const More& more) {
    const double a = rel_l2(first), b = rel_l2(second);
    if (a < 0 || b <= 0) return add(section, claim, ClaimVerdict::not_measured, "rows are missing");
    const double r = a / b;
    add(section, claim, verdict_of(r >= low && r <= high),
        fmt::format("{} {:.3e} / {} {:.3e} = {:.3f}; agrees within {} ... {}{}", first, a, second, b, r, low,
                    high, more()));
  }
  void ratio(const std::string& section, const std::string& claim, const std::string& first,
             const std::string& second, double low, double high) {
    ratio(section, claim, first, second, low, high, [] { return std::string(); });
  }

  void down_projection() {
    const std::string claim = "the layers that gain are fc2 (down projections)";
    std::map<std::string, double> reduction;
    for (const OneStepRow& row : result_.one_step)
      reduction.emplace(row.label.role, 0.0);
    for (auto& [role, value] : reduction) {
      const auto of_role = summarise(
          result_.one_step, [&role = role](const OneStepRow& row) { return row.label.role == role; });
      const OneStepSummary* with = find(of_role, "input-lowrank-32", format_);
      const OneStepSummary* without = find(of_role, "euclidean", format_);
      if (with == nullptr || without == nullptr) continue;
      value = 1.0 - with->sums.relative_l2() / without->sums.relative_l2();
    }
    if (reduction.count("mlp_down") == 0 || reduction.size() < 2)
      return add("V-C", claim, ClaimVerdict::not_measured,
                 "the trace lacks other roles or the down projections");
    std::string figures;
    double largest = -1;
    for (const auto& [role, value] : reduction) {
      figures += fmt::format("{}{} {:.0f} %", figures.empty() ? "error removed by rank 32: " : ", ", role,
                             100 * value);
      if (role != "mlp_down") largest = std::max(largest, value);
    }
    add("V-C", claim, verdict_of(reduction["mlp_down"] >= largest),
        figures + "; agrees if mlp_down gains most");
  }

  /// RelL2 of a scheme at the most recorded ranks.
  double summed(const std::string& transform, SumScheme scheme) const {
    int most = 0;
    for (const SumRow& row : result_.sums) {
      if (!row.resampled) most = std::max(most, row.ranks);
    }
    ComparisonSums sums;
    for (const SumRow& row : result_.sums) {
      if (row.ranks == most && row.transform == transform && row.format == format_ &&
          row.scheme == name(scheme))
        sums += row.sums;
    }
    return sums.elements > 0 ? sums.relative_l2() : -1.0;
  }

  void local_scaling() {
    const std::string claim = "scales of the ranks' own give better fidelity than a synchronised one";
    const std::string transform = "input-lowrank-32";
    const double local = summed(transform, SumScheme::ring_local),
                 synced = summed(transform, SumScheme::ring_synced);
    const double carried = summed(transform, SumScheme::all_to_all);
    if (local < 0 || synced < 0) return add("V-E", claim, ClaimVerdict::not_measured, "no summed gradients");
    add("V-E", claim, verdict_of(local < synced),
        fmt::format("sum over the recorded ranks, rank 32: own scale as in Algorithm 1 {:.3e}, synchronised "
                    "{:.3e}; own "
                    "scale sent along (a2a) {:.3e}",
                    local, synced, carried));
  }

  /// Errors of rank 32 with the factor of an earlier step, pair by pair: pooling gradients of several steps
  /// would let the largest decide.
  void factor_age() {
    const std::string claim = "a factor every 50 steps is fresh enough";
    std::map<std::pair<std::int64_t, std::int64_t>, ComparisonSums> pairs;  // gradient's step, factor's step
    for (const AgeRow& age : result_.age) {
      if (age.tokens == "all" && age.row.transform == "input-lowrank-32")
        pairs[{age.row.label.step, age.factor_step}] += age.row.sums;
    }
    std::string figures;
    bool holds = true, judged = false;
    for (const auto& [steps, sums] : pairs) {
      const auto& [step, factor] = steps;
      if (step == factor || step - factor > 60) continue;  // the paper's age, as near as the trace has it
      judged = true;
      const double value = sums.relative_l2(), fresh = pairs.at({step, step}).relative_l2();
      const double euclidean = rel_l2("euclidean") > 0 ? rel_l2("euclidean") : 0.0527;
      holds = holds && value <= 0.5 * (fresh + euclidean);
      figures += fmt::format("{}step {} with the factor of step {}: {:.3e}, fresh {:.3e}",
                             figures.empty() ? "" : "; ", step, factor, value, fresh);
    }
    if (!judged)
      return add("V-E", claim, ClaimVerdict::not_measured, "the trace has no two steps at most 60 apart");
    add("V-E", claim, verdict_of(holds), figures + "; agrees if half of the gain is left");
  }

  const StudyResult& result_;
  std::string format_;
  std::vector<OneStepSummary> summaries_;
  std::vector<Claim> claims_;
};

}  // namespace

std::string_view claim_word(ClaimVerdict verdict) {
  switch (verdict) {
    case ClaimVerdict::agrees:
      return "AGREES";
    case ClaimVerdict::contradicts:
      return "CONTRADICTS";
    case ClaimVerdict::not_measured:
      break;
  }
  return "NOT MEASURED";
}

std::vector<Claim> judge_claims(const StudyResult& result, const std::string& format) {
  return Judge(result, format).judge();
}

}  // namespace minigift
