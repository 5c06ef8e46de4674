#include "miniapp/fidelity/study_tables.hpp"

#include "miniapp/fidelity/paper_rows.hpp"
#include "miniapp/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace minigift {
namespace {

std::string section(const std::string& title, const std::string& note, const Table& table, bool markdown) {
  std::string text = markdown ? fmt::format("\n### {}\n", title) : fmt::format("\n{}\n", title);
  if (!note.empty()) text += markdown ? fmt::format("\n{}\n", note) : fmt::format("{}\n", note);
  text += markdown ? fmt::format("\n{}\n", table.markdown()) : fmt::format("{}\n", table.text());
  return text;
}

/// A reduction against a baseline, in percent.
std::string percent_less(double value, double baseline) {
  return baseline > 0 ? fmt::format("{:+.1f}", 100 * (value / baseline - 1)) : "-";
}

std::string paper_table(int number, const std::vector<OneStepSummary>& all, const std::string& format,
                        bool markdown) {
  Table table({{"method", "", Align::left},
               {"RelL2 paper"},
               {"RelL2 ours"},
               {"Cos paper"},
               {"Cos ours"},
               {"MaxErr paper"},
               {"MaxErr ours"},
               {"MSE paper"},
               {"MSE ours"},
               {"gamma"},
               {"Muon err"}});
  for (const PaperRow& row : paper_rows()) {
    if (row.table != number) continue;
    const OneStepSummary* ours = find(all, row.transform, format);
    if (ours == nullptr) continue;
    table.add_row({row.method, cell_scientific(row.rel_l2, 3), cell_scientific(ours->sums.relative_l2(), 3),
                   cell_fixed(row.cosine, 6), cell_fixed(ours->sums.cosine(), 6),
                   cell_scientific(row.max_error, 2), cell_scientific(ours->sums.maximum, 2),
                   cell_scientific(row.mse, 2), cell_scientific(ours->sums.mean_square(), 2),
                   cell_fixed(gamma_or_nan(ours->gamma), 3), cell_fixed(ours->muon_error, 3)});
  }
  return section(fmt::format("Table {}: one-step round trip in {}, all tensors together",
                             number == 1 ? "I" : "II", format),
                 "paper: arXiv:2607.07494, another model; MaxErr and MSE scale with its gradients", table,
                 markdown);
}

std::string all_transforms(const std::vector<OneStepSummary>& all, const StudyOptions& options,
                           bool markdown) {
  std::vector<TableColumn> columns = {{"transform", "", Align::left}, {"group", "", Align::left}};
  for (const std::string& format : options.formats)
    columns.push_back({format});
  columns.push_back({"vs euclidean", "%"});
  columns.push_back({"gamma"});
  columns.push_back({"eps gamma / RelL2"});
  columns.push_back({"Muon err"});
  Table table(columns);
  const OneStepSummary* euclidean = find(all, "euclidean", options.formats.front());
  for (const TransformSpecification& specification : transform_catalog()) {
    const OneStepSummary* first = find(all, specification.name, options.formats.front());
    if (first == nullptr) continue;
    std::vector<std::string> cells = {specification.name, specification.group};
    for (const std::string& format : options.formats)
      cells.push_back(cell_scientific(find(all, specification.name, format)->sums.relative_l2(), 3));
    const double floor = euclidean == nullptr ? 0.0 : euclidean->sums.relative_l2();
    const double closed = gamma_or_nan(first->gamma);
    cells.push_back(percent_less(first->sums.relative_l2(), floor));
    cells.push_back(cell_fixed(closed, 3));
    cells.push_back(cell_fixed(floor * closed / first->sums.relative_l2(), 3));
    cells.push_back(cell_fixed(first->muon_error, 3));
    table.add_row(std::move(cells));
  }
  return section("RelL2 of every transform and format",
                 fmt::format("gamma, eps gamma (eps: the Euclidean RelL2) and Muon err are {}'s",
                             options.formats.front()),
                 table, markdown);
}

std::string roles(const StudyResult& result, const std::string& format, bool markdown) {
  std::vector<std::string> names;
  for (const OneStepRow& row : result.one_step) {
    if (std::find(names.begin(), names.end(), row.label.role) == names.end()) names.push_back(row.label.role);
  }
  if (names.size() < 2) return "";
  std::vector<TableColumn> columns = {{"transform", "", Align::left}};
  std::vector<std::vector<OneStepSummary>> by_role;
  for (const std::string& role : names) {
    columns.push_back({role});
    by_role.push_back(
        summarise(result.one_step, [&](const OneStepRow& row) { return row.label.role == role; }));
  }
  Table table(columns);
  for (const TransformSpecification& specification : transform_catalog()) {
    if (find(by_role.front(), specification.name, format) == nullptr) continue;
    std::vector<std::string> cells = {specification.name};
    for (const auto& summaries : by_role) {
      const OneStepSummary* summary = find(summaries, specification.name, format);
      cells.push_back(summary == nullptr ? "-" : cell_scientific(summary->sums.relative_l2(), 3));
    }
    table.add_row(std::move(cells));
  }
  return section(fmt::format("RelL2 by role, {}", format), "", table, markdown);
}

std::string steps(const StudyResult& result, const std::string& format, bool markdown) {
  std::vector<std::int64_t> list;
  for (const OneStepRow& row : result.one_step) {
    if (std::find(list.begin(), list.end(), row.label.step) == list.end()) list.push_back(row.label.step);
  }
  std::sort(list.begin(), list.end());
  if (list.size() < 2) return "";
  std::vector<TableColumn> columns = {{"transform", "", Align::left}};
  std::vector<std::vector<OneStepSummary>> by_step;
  for (const std::int64_t step : list) {
    columns.push_back({fmt::format("step {}", step)});
    by_step.push_back(
        summarise(result.one_step, [&](const OneStepRow& row) { return row.label.step == step; }));
  }
  Table table(columns);
  for (const TransformSpecification& specification : transform_catalog()) {
    if (find(by_step.front(), specification.name, format) == nullptr) continue;
    std::vector<std::string> cells = {specification.name};
    for (const auto& summaries : by_step)
      cells.push_back(cell_scientific(find(summaries, specification.name, format)->sums.relative_l2(), 3));
    table.add_row(std::move(cells));
  }
  return section(fmt::format("RelL2 by step, {}", format), "", table, markdown);
}

std::string ages(const StudyResult& result, bool markdown) {
  Table table({{"transform", "", Align::left},
               {"gradient", "step"},
               {"factor", "step"},
               {"age", "steps"},
               {"tokens of the factor", "", Align::left},
               {"RelL2"},
               {"gamma"}});
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, std::string>;
  std::map<Key, OneStepSummary> groups;
  std::vector<Key> order;
  for (const AgeRow& age : result.age) {
    const Key key{age.row.transform, age.row.label.step, -age.factor_step, age.tokens};
    if (groups.count(key) == 0) order.push_back(key);
    OneStepSummary& group = groups[key];
    group.sums += age.row.sums;
    group.gamma.numerator += age.row.gamma.numerator;
    group.gamma.norm_squared += age.row.gamma.norm_squared;
  }
  std::sort(order.begin(), order.end());
  for (const Key& key : order) {
    const auto& [transform, step, minus_factor, tokens] = key;
    const OneStepSummary& group = groups[key];
    table.add_row({transform, fmt::format("{}", step), fmt::format("{}", -minus_factor),
                   fmt::format("{}", step + minus_factor), tokens,
                   cell_scientific(group.sums.relative_l2(), 3), cell_fixed(gamma_or_nan(group.gamma), 3)});
  }
  return section("Age of the factor",
                 "all: gradient and factor of all ranks; same, other: gradient of the first half of the "
                 "ranks, factor of "
                 "the same or of the second half",
                 table, markdown);
}

std::string sums(const StudyResult& result, bool markdown) {
  Table table({{"N"},
               {"ranks", "", Align::left},
               {"transform", "", Align::left},
               {"format", "", Align::left},
               {"scheme", "", Align::left},
               {"RelL2"},
               {"Cos"},
               {"norm ratio"},
               {"divergence"}});
  using Key = std::tuple<int, bool, std::string, std::string, std::string>;
  std::map<Key, std::pair<ComparisonSums, double>> groups;
  std::vector<Key> order;
  for (const SumRow& row : result.sums) {
    const Key key{row.ranks, row.resampled, row.transform, row.format, row.scheme};
    if (groups.count(key) == 0) order.push_back(key);
    groups[key].first += row.sums;
    groups[key].second = std::max(groups[key].second, row.divergence);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Key& a, const Key& b) { return std::get<0>(a) < std::get<0>(b); });
  for (const Key& key : order) {
    const auto& [ranks, resampled, transform, format, scheme] = key;
    const auto& [total, divergence] = groups[key];
    table.add_row({fmt::format("{}", ranks), resampled ? "drawn" : "recorded", transform, format, scheme,
                   cell_scientific(total.relative_l2(), 3), cell_fixed(total.cosine(), 6),
                   cell_fixed(total.norm_ratio(), 4), cell_scientific(divergence, 1)});
  }
  std::string note =
      "mean over N ranks against the FP64 mean of the same local gradients; divergence: how far ranks end up "
      "apart, worst tensor";
  for (const SumScheme scheme : sum_schemes())
    note += fmt::format("\n{}{}: {}", markdown ? "* " : "  ", name(scheme), meaning(scheme));
  return section("Error of the summed gradient", note, table, markdown);
}

std::string claims(const StudyResult& result, const std::string& format, bool markdown) {
  Table table({{"section", "", Align::left},
               {"verdict", "", Align::left},
               {"claim", "", Align::left},
               {"measured here", "", Align::left}});
  for (const Claim& claim : judge_claims(result, format))
    table.add_row({claim.section, std::string(claim_word(claim.verdict)), claim.claim, claim.figures});
  return section("What the paper says, and what this trace says", "", table, markdown);
}

}  // namespace

std::string study_text(const StudyResult& result, const StudyOptions& options, bool markdown) {
  const std::string& format = options.formats.front();
  std::string text;
  if (!result.one_step.empty()) {
    const auto all = summarise(result.one_step);
    text += paper_table(1, all, format, markdown) + paper_table(2, all, format, markdown);
    text += all_transforms(all, options, markdown);
    text += roles(result, format, markdown) + steps(result, format, markdown);
  }
  if (!result.age.empty()) text += ages(result, markdown);
  if (!result.sums.empty()) text += sums(result, markdown);
  text += claims(result, format, markdown);
  for (const std::string& line : result.left_out)
    text += fmt::format("\nleft out: {}", line);
  if (!result.left_out.empty()) text += "\n";
  return text;
}

}  // namespace minigift
