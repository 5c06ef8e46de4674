#include "miniapp/trace/read_back.hpp"

#include "kernels/error.hpp"
#include "miniapp/trace/array_summary.hpp"
#include "miniapp/trace/hdf5_file.hpp"
#include "miniapp/trace/stored_array.hpp"

namespace minigift {

using namespace trace_layout;

namespace {

/// Hash of rank `rank`'s part of an array in the file.
std::uint64_t stored_hash(hid_t file, const std::string& path, const std::string& name, bool per_rank,
                          int rank) {
  const HostMatrix<float> found = StoredArray(file, path, name, per_rank).read(rank);
  ArraySummary summary;
  summary.add(found.data(), size(found));
  return summary.content_hash();
}

}  // namespace

void read_back(const std::string& path, int rank, const std::vector<WrittenPart>& parts) {
  constexpr const char* advice = "what was written did not reach the file; is the disk full?";
  const Hdf5Handle file = open_serial_file(path, Hdf5Access::read);
  for (const WrittenPart& part : parts) {
    const bool per_rank = facts(part.plan.kind).per_rank;
    if (!per_rank && rank != 0) continue;
    const std::string name = array_path(part.step, part.plan.kind, part.plan.owner_name);
    std::uint64_t hash = 0;
    try {
      hash = stored_hash(file.get(), path, name, per_rank, rank);
    } catch (const RuntimeError& error) {
      throw RuntimeError(fmt::format("{}: {}", error.what(), advice));
    }
    require(hash == part.content_hash, "trace {}, {}: {}", path, name, advice);
  }
}

}  // namespace minigift
