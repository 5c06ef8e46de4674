#include "miniapp/trace/verify.hpp"

#include "kernels/error.hpp"
#include "miniapp/trace/array_summary.hpp"
#include "miniapp/trace/digest.hpp"
#include "miniapp/trace/hdf5_attribute.hpp"
#include "miniapp/trace/layout.hpp"
#include "miniapp/trace/trace_reader.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

namespace minigift {
namespace {

using namespace trace_layout;

/// Collects what is wrong; the text names the first few.
class Faults {
 public:
  explicit Faults(std::string name) : name_(std::move(name)) {}

  void add(std::string text) {
    constexpr std::size_t named = 3;
    if (texts_.size() < named) texts_.push_back(std::move(text));
    ++count_;
  }
  TraceCheck check(std::string passed) const {
    if (count_ == 0) return {name_, true, std::move(passed)};
    const std::size_t more = count_ - texts_.size();
    return {name_, false,
            fmt::format("{}{}", fmt::join(texts_, "; "), more > 0 ? fmt::format("; and {} more", more) : "")};
  }

 private:
  std::string name_;
  std::vector<std::string> texts_;
  std::size_t count_ = 0;
};

/// Errors name the trace; a line of its report need not.
std::string without_path(const std::string& text, const std::string& path) {
  const std::string start = "trace " + path;
  if (!text.starts_with(start)) return text;
  const std::size_t begin = text.find_first_not_of(":, ", start.size());
  return begin == std::string::npos ? text : text.substr(begin);
}

std::optional<std::uint64_t> stored_digest(const Hdf5Object& object, const char* name) {
  if (!has_attribute(object, name)) return std::nullopt;
  return read_uint64(object, name);
}

TraceCheck check_seal(const TraceReader& trace) {
  Faults faults("seal");
  const auto file = static_cast<hid_t>(trace.hdf5_file());
  std::size_t objects = 0;
  try {
    const std::vector<ObjectDigest> digests = object_digests(file, trace.path());
    objects = digests.size();
    bool each_agrees = true;
    for (const ObjectDigest& each : digests) {
      const Hdf5Place place{trace.path(), each.path};
      const Hdf5Handle object(check_hdf5(H5Oopen(file, each.path.c_str(), H5P_DEFAULT), "H5Oopen", place),
                              H5Oclose);
      if (stored_digest({object.get(), place}, object_digest) == each.digest) continue;
      each_agrees = false;
      faults.add(fmt::format("{}: type, shape or an attribute was changed after it was sealed", each.path));
    }
    const bool whole =
        stored_digest({file, {trace.path(), "/"}}, content_digest) == content_digest_of(digests);
    if (!whole && each_agrees)
      faults.add("an object was added, removed or renamed after the file was sealed");
  } catch (const RuntimeError& error) {
    faults.add(without_path(error.what(), trace.path()));
  }
  return faults.check(
      fmt::format("{} objects have the names, types, shapes and attributes of the writer", objects));
}

/// Paths that a trace with this header and these steps has.
std::set<std::string> promised_paths(const TraceReader& trace) {
  std::set<std::string> paths = {"/", tensors_path, sites_path, steps_path};
  for (const TraceStep& step : trace.steps()) {
    paths.insert(step_path(step.step));
    for (const ArrayPlan& plan : arrays_of_a_step(trace.header())) {
      paths.insert(group_path(step.step, plan.kind));
      paths.insert(array_path(step.step, plan.kind, plan.owner_name));
    }
  }
  return paths;
}

/// One pass over all arrays for everything that needs their elements or numbers.
class ArrayChecks {
 public:
  explicit ArrayChecks(const TraceReader& trace) : trace_(trace) {}

  void check_step(std::size_t step_index) {
    const TraceStep& step = trace_.steps()[step_index];
    for (std::size_t rank = 0; rank < step.loss.size(); ++rank)
      if (!std::isfinite(step.loss[rank]))
        finite_.add(fmt::format("step {}: loss of rank {} is {}", step.step, rank, step.loss[rank]));
    for (const ArrayPlan& plan : arrays_of_a_step(trace_.header()))
      check_array(step_index, plan);
  }

  void check_paths() {
    try {
      const std::set<std::string> promised = promised_paths(trace_);
      for (const ObjectDigest& object : object_digests(static_cast<hid_t>(trace_.hdf5_file()), trace_.path()))
        if (promised.count(object.path) == 0) shapes_.add(fmt::format("{} is not a trace's", object.path));
    } catch (const RuntimeError& error) {
      shapes_.add(without_path(error.what(), trace_.path()));
    }
  }

  std::vector<TraceCheck> checks() const {
    const std::size_t steps = trace_.steps().size();
    return {shapes_.check(fmt::format("{} arrays in {} step{}, of {} rank{}", arrays_, steps,
                                      steps == 1 ? "" : "s", trace_.header().ranks,
                                      trace_.header().ranks == 1 ? "" : "s")),
            contents_.check(fmt::format("{} parts of arrays, {} bytes, have the hashes of the writer", parts_,
                                        4 * elements_)),
            numbers_.check("amax and numbers of tokens are those of the arrays"),
            finite_.check(fmt::format("{} elements, all losses and numbers are finite", elements_))};
  }

 private:
  void check_array(std::size_t step_index, const ArrayPlan& plan) {
    const std::string path = array_path(trace_.steps()[step_index].step, plan.kind, plan.owner_name);
    TraceArrayInfo info;
    try {
      info = trace_.info(step_index, plan.kind, plan.owner);
      if (plan.kind == ArrayKind::sketch)
        require(info.columns == trace_.info(step_index, ArrayKind::test_matrix, plan.owner).columns,
                "{}: has another number of columns than its test matrix", path);
    } catch (const RuntimeError& error) {
      shapes_.add(without_path(error.what(), trace_.path()));
      return;
    }
    ++arrays_;
    check_numbers(step_index, plan, path);
    for (int rank = 0; rank < info.ranks; ++rank)
      check_part(step_index, plan, path, rank, info.content_hash[static_cast<std::size_t>(rank)]);
  }

  void check_numbers(std::size_t step_index, const ArrayPlan& plan, const std::string& path) {
    amax_.clear();
    for (const RankNumber& number : facts(plan.kind).numbers) {
      try {
        const std::vector<double> values = trace_.numbers(step_index, plan.kind, plan.owner, number.name);
        if (std::string_view(number.name) == "amax") amax_ = values;
        for (std::size_t rank = 0; rank < values.size(); ++rank) {
          if (!std::isfinite(values[rank]))
            finite_.add(fmt::format("{}: {} of rank {} is {}", path, number.name, rank, values[rank]));
          else if (std::string_view(number.name) == "tokens" && values[rank] <= 0.0)
            numbers_.add(fmt::format("{}: rank {} has {} tokens", path, rank, values[rank]));
        }
      } catch (const RuntimeError& error) {
        numbers_.add(without_path(error.what(), trace_.path()));
      }
    }
  }

  void check_part(std::size_t step_index, const ArrayPlan& plan, const std::string& path, int rank,
                  std::uint64_t hash) {
    ArraySummary summary;
    try {
      const HostMatrix<float> part = trace_.array(step_index, plan.kind, plan.owner, rank);
      summary.add(part.data(), size(part));
      elements_ += size(part);
      ++parts_;
    } catch (const RuntimeError& error) {
      contents_.add(fmt::format("rank {}: {}", rank, without_path(error.what(), trace_.path())));
      return;
    }
    if (summary.content_hash() != hash)
      contents_.add(fmt::format("{}: elements of rank {} were changed", path, rank));
    if (summary.non_finite() > 0)
      finite_.add(
          fmt::format("{}: {} elements of rank {} are infinite or NaN", path, summary.non_finite(), rank));
    const auto at = static_cast<std::size_t>(rank);
    if (at < amax_.size() && amax_[at] != static_cast<double>(summary.amax()))
      numbers_.add(fmt::format("{}: amax of rank {} is recorded as {}, but is {}", path, rank, amax_[at],
                               summary.amax()));
  }

  const TraceReader& trace_;
  Faults shapes_{"shapes"};
  Faults contents_{"contents"};
  Faults numbers_{"numbers"};
  Faults finite_{"finite"};
  std::vector<double> amax_;  ///< of the array in hand
  std::int64_t arrays_ = 0;
  std::int64_t parts_ = 0;
  std::int64_t elements_ = 0;
};

}  // namespace

std::vector<TraceCheck> verify_trace(const std::string& path) {
  std::error_code ignored;
  require_usage(std::filesystem::exists(path, ignored), "trace {}: there is no such file", path);
  std::optional<TraceReader> trace;
  try {
    trace.emplace(path);
  } catch (const UsageError& error) {
    return {{"open", false, without_path(error.what(), path)}};
  }
  const TraceHeader& header = trace->header();
  std::vector<TraceCheck> checks = {
      {"open", true,
       fmt::format("a complete trace of schema version {}: {} tensors, {} sites, {} step{}", schema_version,
                   header.tensors.size(), header.sites.size(), trace->steps().size(),
                   trace->steps().size() == 1 ? "" : "s")},
      check_seal(*trace)};
  ArrayChecks arrays(*trace);
  arrays.check_paths();
  for (std::size_t i = 0; i < trace->steps().size(); ++i)
    arrays.check_step(i);
  const std::vector<TraceCheck> rest = arrays.checks();
  checks.insert(checks.end(), rest.begin(), rest.end());
  return checks;
}

}  // namespace minigift
