#pragma once
// Where everything lies in a trace file: names, paths, shapes, chunks. Writer, reader and checks all ask
// here. README.md shows the same for people.

#include "miniapp/trace/trace.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minigift::trace_layout {

inline constexpr const char* format = "minigift-trace";  ///< root attribute "format"
inline constexpr std::int64_t schema_version = 1;
inline constexpr const char* temporary_suffix = ".partial";

inline constexpr const char* tensors_path = "/tensors";  ///< table, one row per tensor
inline constexpr const char* sites_path = "/sites";      ///< table, one row per site
inline constexpr const char* steps_path = "/steps";

/// Root attributes that are written last.
inline constexpr const char* content_digest = "content_digest";
inline constexpr const char* complete = "complete";
/// Attribute of every object: digest of its type, shape and attributes.
inline constexpr const char* object_digest = "object_digest";
/// Attribute of every array: content_hash of each recorded rank's part (or of the whole where ranks share
/// it).
inline constexpr const char* content_hash = "content_hash";

/// The arrays of a step.
enum class ArrayKind { gradient, input_moment, output_moment, sketch, test_matrix };
inline constexpr std::array all_kinds = {ArrayKind::gradient, ArrayKind::input_moment,
                                         ArrayKind::output_moment, ArrayKind::sketch, ArrayKind::test_matrix};

/// One number per recorded rank beside an array, as an attribute of its dataset.
struct RankNumber {
  const char* name;
  const char* units;
};

struct KindFacts {
  const char* name;   ///< of the group that holds these arrays
  const char* units;  ///< of the elements
  const char* row;    ///< name of the axis
  const char* column;
  bool per_rank;  ///< the first axis is "rank"; else one array for all ranks
  bool of_sites;  ///< one per site; else one per tensor
  std::vector<RankNumber> numbers;
};
const KindFacts& facts(ArrayKind kind);
bool is_recorded(ArrayKind kind, const TraceContent& content);
/// The values of the root attribute "content".
std::vector<std::string> content_words(const TraceContent& content);

std::string step_path(std::int64_t step);                   // /steps/00000050
std::string group_path(std::int64_t step, ArrayKind kind);  // /steps/00000050/gradient
std::string array_path(std::int64_t step, ArrayKind kind, const std::string& owner);  // .../<tensor or site>

/// An array that each step of a trace has.
struct ArrayPlan {
  ArrayKind kind = ArrayKind::gradient;
  int owner = 0;  ///< index of the tensor or site
  std::string owner_name;
  std::int64_t rows = 0;
  std::int64_t columns = 0;  ///< -1: whatever the sketch has
};
/// In the order of all_kinds, then of tensors or sites.
std::vector<ArrayPlan> arrays_of_a_step(const TraceHeader& header);
ArrayPlan plan_of(const TraceHeader& header, ArrayKind kind, int owner);

/// Chunks are (1, rows, columns): a chunk never belongs to two ranks.
struct ChunkShape {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
};
/// Chunks of at most `chunk_bytes` of an array (rows, columns) of floats: whole rows if one fits, in equal
/// numbers as far as possible, so that the last chunk wastes little.
ChunkShape chunk_shape(std::int64_t rows, std::int64_t columns, std::int64_t chunk_bytes);

/// A rectangle of an array.
struct Piece {
  std::int64_t row = 0, column = 0, rows = 0, columns = 0;
};
/// Cuts an array into rectangles of whole chunks and at most `max_bytes` (or one chunk), row by row. They are
/// contiguous in memory unless a chunk has less than a row.
std::vector<Piece> pieces(std::int64_t rows, std::int64_t columns, const ChunkShape& chunk,
                          std::int64_t max_bytes);

/// Throws UsageError unless names are unique and usable as HDF5 names, shapes are positive and ranks are in
/// order.
void check_header(const TraceHeader& header);

}  // namespace minigift::trace_layout
