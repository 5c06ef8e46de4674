#include "miniapp/trace/trace_reader.hpp"

#include "kernels/error.hpp"
#include "miniapp/trace/hdf5_attribute.hpp"
#include "miniapp/trace/hdf5_file.hpp"
#include "miniapp/trace/header_io.hpp"
#include "miniapp/trace/stored_array.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace minigift {

using namespace trace_layout;

namespace {

/// Opens what may be anything, and says what it is not.
Hdf5Handle open_trace_file(const std::string& path) {
  std::error_code ignored;
  require_usage(!path.ends_with(temporary_suffix),
                "trace {}: is not finished: it is being written, or its writer was killed", path);
  require_usage(!std::filesystem::is_directory(path, ignored), "trace {}: is a folder", path);
  std::FILE* file = std::fopen(path.c_str(), "rb");
  require_usage(file != nullptr, "trace {}: cannot open: {}", path, std::strerror(errno));
  std::fclose(file);
  silence_hdf5();
  require_usage(H5Fis_hdf5(path.c_str()) > 0,
                "trace {}: is no HDF5 file (or one that was cut off or never finished)", path);
  try {
    return open_serial_file(path, Hdf5Access::read);
  } catch (const RuntimeError& error) {
    throw UsageError(
        fmt::format("{}; the file was cut off, damaged, or its writer was killed", error.what()));
  }
}

/// The root attributes that tell whether the rest can be read.
void check_root(hid_t file, const std::string& path) {
  const Hdf5Object root{file, {path, "/"}};
  try {
    require_usage(has_attribute(root, "format") || !has_attribute(root, complete),
                  "trace {}: an HDF5 file, but no trace of minigift: the root has no attribute format", path);
    require_usage(
        has_attribute(root, "format"),
        "trace {}: no trace of minigift, or one whose writer was killed: the root has no attribute format",
        path);
    require_usage(read_text(root, "format") == format,
                  "trace {}: no trace of minigift: its format is {} instead of {}", path,
                  read_text(root, "format"), format);
    const std::int64_t version = read_int64(root, "schema_version");
    require_usage(version == schema_version, "trace {}: has schema version {}, this program reads {}", path,
                  version, schema_version);
    require_usage(has_attribute(root, complete) && read_int64(root, complete) == 1,
                  "trace {}: is not complete: its writer was killed", path);
  } catch (const RuntimeError& error) {
    throw UsageError(error.what());
  }
}

TraceStep read_step(hid_t steps, const std::string& path, const std::string& name) {
  const Hdf5Handle group = open_group(steps, name, path);
  const std::string full = fmt::format("{}/{}", steps_path, name);
  const Hdf5Object object{group.get(), {path, full}};
  TraceStep step;
  step.step = read_int64(object, "step");
  step.learning_rate = read_double(object, "learning_rate");
  step.tokens_per_rank = read_int64(object, "tokens_per_rank");
  step.loss = read_doubles(object, "loss");
  require(step_path(step.step) == full, "trace {}: {} says that it is step {}", path, full, step.step);
  return step;
}

std::vector<TraceStep> read_steps(hid_t file, const std::string& path, int ranks) {
  const Hdf5Place place{path, steps_path};
  const Hdf5Handle group = open_group(file, steps_path, path);
  std::vector<TraceStep> steps;
  for (const std::string& name : link_names(group.get(), place)) {
    steps.push_back(read_step(group.get(), path, name));
    require(steps.back().loss.size() == static_cast<std::size_t>(ranks),
            "trace {}: step {} has the losses of {} ranks instead of {}", path, steps.back().step,
            steps.back().loss.size(), ranks);
  }
  std::sort(steps.begin(), steps.end(),
            [](const TraceStep& a, const TraceStep& b) { return a.step < b.step; });
  return steps;
}

template <class Owners>
int find_name(const Owners& owners, std::string_view name, const std::string& path, const char* what) {
  for (std::size_t i = 0; i < owners.size(); ++i)
    if (owners[i].name == name) return static_cast<int>(i);
  throw UsageError(fmt::format("trace {}: has no {} {}", path, what, name));
}

}  // namespace

struct TraceReader::State {
  std::string path;
  Hdf5Handle file;
  TraceHeader header;
  std::vector<TraceStep> steps;

  /// An array that the header promises, in the shape that it promises.
  StoredArray open(std::size_t step_index, ArrayKind kind, int owner) const;
};

TraceReader::TraceReader(const std::string& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  state_->file = open_trace_file(path);
  check_root(state_->file.get(), path);
  try {
    state_->header = read_trace_header(state_->file.get(), path);
    check_header(state_->header);
    state_->steps = read_steps(state_->file.get(), path, state_->header.ranks);
  } catch (const RuntimeError& error) {
    throw UsageError(error.what());
  }
}

TraceReader::~TraceReader() = default;
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;

const std::string& TraceReader::path() const {
  return state_->path;
}
const TraceHeader& TraceReader::header() const {
  return state_->header;
}
const std::vector<TraceStep>& TraceReader::steps() const {
  return state_->steps;
}
int TraceReader::find_tensor(std::string_view name) const {
  return find_name(state_->header.tensors, name, state_->path, "tensor");
}
int TraceReader::find_site(std::string_view name) const {
  return find_name(state_->header.sites, name, state_->path, "site");
}
std::int64_t TraceReader::hdf5_file() const {
  return state_->file.get();
}

StoredArray TraceReader::State::open(std::size_t step_index, ArrayKind kind, int owner) const {
  const KindFacts& kind_facts = facts(kind);
  require(is_recorded(kind, header.content), "trace {}: holds no {}", path, kind_facts.name);
  require(step_index < steps.size(), "trace {}: no step of index {} among {}", path, step_index,
          steps.size());
  const std::size_t owners = kind_facts.of_sites ? header.sites.size() : header.tensors.size();
  require(owner >= 0 && static_cast<std::size_t>(owner) < owners, "trace {}: no {} of {} {} among {}", path,
          kind_facts.name, kind_facts.of_sites ? "site" : "tensor", owner, owners);
  const ArrayPlan plan = plan_of(header, kind, owner);
  StoredArray array(file.get(), path, array_path(steps[step_index].step, kind, plan.owner_name),
                    kind_facts.per_rank);
  const std::int64_t ranks = kind_facts.per_rank ? header.ranks : 1;
  const std::int64_t columns = plan.columns < 0 ? array.columns() : plan.columns;
  require(array.ranks() == ranks && array.rows() == plan.rows && array.columns() == columns,
          "trace {}, {}: has shape ({}, {}) of {} ranks instead of ({}, {}) of {}", path, array.name(),
          array.rows(), array.columns(), array.ranks(), plan.rows, columns, ranks);
  return array;
}

TraceArrayInfo TraceReader::info(std::size_t step_index, ArrayKind kind, int owner) const {
  const StoredArray array = state_->open(step_index, kind, owner);
  TraceArrayInfo result{array.ranks(), array.rows(), array.columns(), 0, {}};
  result.stored_bytes = static_cast<std::int64_t>(H5Dget_storage_size(array.get()));
  result.content_hash = read_uint64s({array.get(), array.place()}, content_hash);
  require(std::ssize(result.content_hash) == array.ranks(),
          "trace {}, {}: has content hashes of {} ranks instead of {}", state_->path, array.name(),
          result.content_hash.size(), array.ranks());
  return result;
}

HostMatrix<float> TraceReader::array(std::size_t step_index, ArrayKind kind, int owner, int rank) const {
  require(rank >= 0 && rank < state_->header.ranks, "trace {}: no rank {} among the {} recorded",
          state_->path, rank, state_->header.ranks);
  return state_->open(step_index, kind, owner).read(rank);
}

std::vector<double> TraceReader::numbers(std::size_t step_index, ArrayKind kind, int owner,
                                         const char* name) const {
  const StoredArray array = state_->open(step_index, kind, owner);
  std::vector<double> values = read_doubles({array.get(), array.place()}, name);
  require(std::ssize(values) == array.ranks(), "trace {}, {}: has {} of {} ranks instead of {}", state_->path,
          array.name(), name, values.size(), array.ranks());
  return values;
}

HostMatrix<float> TraceReader::gradient(std::size_t step_index, int tensor, int rank) const {
  return array(step_index, ArrayKind::gradient, tensor, rank);
}
double TraceReader::amax(std::size_t step_index, int tensor, int rank) const {
  return numbers(step_index, ArrayKind::gradient, tensor, "amax").at(static_cast<std::size_t>(rank));
}
HostMatrix<float> TraceReader::input_moment(std::size_t step_index, int site, int rank) const {
  return array(step_index, ArrayKind::input_moment, site, rank);
}
double TraceReader::input_tokens(std::size_t step_index, int site, int rank) const {
  return numbers(step_index, ArrayKind::input_moment, site, "tokens").at(static_cast<std::size_t>(rank));
}
HostMatrix<float> TraceReader::output_moment(std::size_t step_index, int tensor, int rank) const {
  return array(step_index, ArrayKind::output_moment, tensor, rank);
}
double TraceReader::output_tokens(std::size_t step_index, int tensor, int rank) const {
  return numbers(step_index, ArrayKind::output_moment, tensor, "tokens").at(static_cast<std::size_t>(rank));
}

TraceSketch TraceReader::sketch(std::size_t step_index, int site, int rank) const {
  TraceSketch result;
  result.y = array(step_index, ArrayKind::sketch, site, rank);
  result.test_matrix = array(step_index, ArrayKind::test_matrix, site, rank);
  require(result.test_matrix.extent(1) == result.y.extent(1),
          "trace {}: step {}: sketch of {} has {} columns, its test matrix {}", state_->path,
          state_->steps[step_index].step, state_->header.sites[static_cast<std::size_t>(site)].name,
          result.y.extent(1), result.test_matrix.extent(1));
  const auto at = static_cast<std::size_t>(rank);
  result.tokens = numbers(step_index, ArrayKind::sketch, site, "tokens").at(at);
  result.trace_sum = numbers(step_index, ArrayKind::sketch, site, "trace_sum").at(at);
  return result;
}

}  // namespace minigift
