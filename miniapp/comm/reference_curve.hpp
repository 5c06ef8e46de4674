#pragma once
// Curves of other tools, to be seen beside ours: the JSON file of nccl-tests (option -J, version 3), and the
// text that the OSU micro-benchmarks print.

#include "miniapp/comm/row.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace minigift {

/// What a curve is of, in our words.
enum class ReferenceOperation { all_reduce, reduce_scatter, all_gather, all_to_all };
constexpr std::array<std::string_view, 4> names_of(ReferenceOperation) {
  return {"all-reduce", "reduce-scatter", "all-gather", "all-to-all"};
}

struct ReferencePoint {
  std::int64_t size = 0;  ///< [B] of the buffer of all parts, as in CommCase::size()
  double seconds = 0;
  double bus_bandwidth = 0;  ///< [B/s]
};

struct ReferenceCurve {
  std::string file;
  std::string tool;  ///< "nccl-tests" or "osu"
  ReferenceOperation operation = ReferenceOperation::all_reduce;
  std::string type;  ///< the tool's word, such as "float"; empty: it says none
  std::vector<ReferencePoint> points;
};

/// Reads one file; nccl-tests' JSON may hold several types, each a curve of its own. OSU's text says neither
/// its number of ranks nor a bandwidth: sizes of its all-gather and all-to-all, which count one part, and bus
/// bandwidths are formed with `ranks`, this run's. Throws UsageError of one line that names file and line, or
/// key.
std::vector<ReferenceCurve> read_reference(const std::string& path, int ranks);
/// The same from text; `file` is its name.
std::vector<ReferenceCurve> parse_nccl_tests(const std::string& text, const std::string& file);
std::vector<ReferenceCurve> parse_osu(const std::string& text, const std::string& file, int ranks);

/// What a row can be compared with.
ReferenceOperation operation_of(CollectiveChoice collective);
/// The point of equal size in a curve of the row's operation.
std::optional<ReferencePoint> point_for(const CommRow& row, const ReferenceCurve& curve);

nlohmann::ordered_json to_json(const ReferenceCurve& curve);

}  // namespace minigift
