#include "miniapp/trace/seal.hpp"

#include "miniapp/trace/digest.hpp"
#include "miniapp/trace/hdf5_attribute.hpp"
#include "miniapp/trace/hdf5_file.hpp"
#include "miniapp/trace/header_io.hpp"

namespace minigift {
namespace {

using namespace trace_layout;

void write_array_attributes(hid_t file, const std::string& path, std::int64_t step,
                            const SealedArray& array) {
  const KindFacts& kind = facts(array.plan.kind);
  const std::string name = array_path(step, array.plan.kind, array.plan.owner_name);
  const Hdf5Handle dataset = open_dataset(file, name, path);
  const Hdf5Object object{dataset.get(), {path, name}};
  write_attribute(object, "units", std::string_view(kind.units));
  std::vector<std::string> dimensions = {kind.row, kind.column};
  if (kind.per_rank) dimensions.insert(dimensions.begin(), "rank");
  write_attribute(object, "dimensions", dimensions);
  std::vector<std::uint64_t> hashes;
  for (const RankRecord& rank : array.ranks)
    hashes.push_back(rank.content_hash);
  if (!kind.per_rank) hashes.resize(1);
  write_attribute(object, content_hash, hashes);
  for (std::size_t i = 0; i < kind.numbers.size(); ++i) {
    std::vector<double> values;
    for (const RankRecord& rank : array.ranks)
      values.push_back(rank.numbers[i]);
    write_attribute(object, kind.numbers[i].name, values);
  }
}

void write_step_attributes(hid_t file, const std::string& path, const TraceStep& step) {
  const std::string name = step_path(step.step);
  const Hdf5Handle group = open_group(file, name, path);
  const Hdf5Object object{group.get(), {path, name}};
  write_attribute(object, "step", step.step);
  write_attribute(object, "learning_rate", step.learning_rate);
  write_attribute(object, "tokens_per_rank", step.tokens_per_rank);
  write_attribute(object, "loss", step.loss);
}

void write_digests(hid_t file, const std::string& path) {
  const std::vector<ObjectDigest> objects = object_digests(file, path);
  for (const ObjectDigest& each : objects) {
    const Hdf5Place place{path, each.path};
    const Hdf5Handle object(check_hdf5(H5Oopen(file, each.path.c_str(), H5P_DEFAULT), "H5Oopen", place),
                            H5Oclose);
    write_attribute({object.get(), place}, object_digest, each.digest);
  }
  write_attribute({file, {path, "/"}}, content_digest, content_digest_of(objects));
}

}  // namespace

void seal_trace(const std::string& path, const TraceHeader& header, const std::vector<SealedStep>& steps) {
  Hdf5Handle file = open_serial_file(path, Hdf5Access::change);
  write_trace_header(file.get(), path, header);
  for (const SealedStep& step : steps) {
    write_step_attributes(file.get(), path, step.step);
    for (const SealedArray& array : step.arrays)
      write_array_attributes(file.get(), path, step.step.step, array);
  }
  write_digests(file.get(), path);
  // HDF5 writes what it has collected in an order of its own: all else must have left before the mark can.
  check_hdf5(H5Fflush(file.get(), H5F_SCOPE_LOCAL), "H5Fflush", {path});
  write_attribute({file.get(), {path, "/"}}, complete, std::int64_t{1});
  file.close("H5Fclose", {path});
}

}  // namespace minigift
