#include "miniapp/comm/comm_record.hpp"

#include "miniapp/report/json_number.hpp"

#include <fmt/format.h>

#include <cmath>

namespace minigift {
namespace {

using Json = nlohmann::ordered_json;

Json summary_of(const CommRow& row) {
  if (!row.skipped.empty()) return {{"verdict", row.verdict_text()}, {"reason", row.skipped}};
  const CommTimes times = times_of(row);
  const bool compared = row.comparisons > 0;
  Json summary = {{"seconds_first", json_number(row.seconds_first)},
                  {"seconds_minimum", json_number(times.minimum)},
                  {"seconds_median", json_number(times.median)},
                  {"seconds_p95", json_number(times.p95)},
                  {"seconds_maximum", json_number(times.maximum)},
                  {"algorithm_bandwidth", json_number(algorithm_bandwidth(row, times.median))},
                  {"bus_bandwidth", json_number(bus_bandwidth(row, times.median))},
                  {"wire_bytes", row.wire_bytes},
                  {"wire_counted", row.wire_counted},
                  {"maximum_relative_error", compared ? json_number(row.error) : Json(nullptr)},
                  {"error_bound", compared ? json_number(row.bound) : Json(nullptr)},
                  {"comparisons", row.comparisons},
                  {"verdict", row.verdict_text()}};
  for (const std::string* reason : {&row.error_failure, &row.checksum_failure, &row.wire_failure}) {
    if (!reason->empty() && !summary.contains("reason")) summary["reason"] = *reason;
  }
  return summary;
}

}  // namespace

Measurement to_measurement(const CommRow& row, const CommSurroundings& surroundings) {
  Measurement measurement;
  measurement.comparable = {{"command", "comm"},
                            {"collective", std::string(name_of(row.wanted.collective))},
                            {"format", name(row.wanted.format)},
                            {"count", row.wanted.count},
                            {"size", row.wanted.size()},
                            {"scale_block", row.wanted.scale_block},
                            {"hot", surroundings.hot},
                            {"transport", surroundings.transport},
                            {"ranks", surroundings.ranks},
                            {"nodes", surroundings.nodes},
                            {"ranks_per_node", surroundings.ranks_per_node},
                            {"ranks_per_host", surroundings.ranks_per_host},
                            {"threads", surroundings.threads},
                            {"device", surroundings.device}};
  Metric seconds{"seconds", "s", Better::lower, row.seconds};
  Metric algorithm{"algorithm_bandwidth", "B/s", Better::higher, {}};
  Metric bus{"bus_bandwidth", "B/s", Better::higher, {}};
  for (const double sample : row.seconds) {
    algorithm.samples.push_back(algorithm_bandwidth(row, sample));
    bus.samples.push_back(bus_bandwidth(row, sample));
  }
  if (row.skipped.empty()) measurement.metrics = {seconds, algorithm, bus};
  measurement.summary = summary_of(row);
  return measurement;
}

std::string comm_csv(std::span<const CommRow> rows) {
  std::string text =
      "size,count,format,collective,iteration,seconds,algorithm_bandwidth,bus_bandwidth,wire_bytes,verdict\n";
  for (const CommRow& row : rows) {
    for (std::size_t i = 0; i < row.seconds.size(); ++i) {
      const double seconds = row.seconds[i];
      text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", row.wanted.size(), row.wanted.count,
                          name(row.wanted.format), name_of(row.wanted.collective), i + 1, seconds,
                          algorithm_bandwidth(row, seconds), bus_bandwidth(row, seconds), row.wire_bytes,
                          row.verdict_text());
    }
  }
  return text;
}

}  // namespace minigift
