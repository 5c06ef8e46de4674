#include "miniapp/trace/trace_writer.hpp"

#include "kernels/error.hpp"
#include "miniapp/trace/array_summary.hpp"
#include "miniapp/trace/hdf5_file.hpp"
#include "miniapp/trace/parallel_array.hpp"
#include "miniapp/trace/read_back.hpp"
#include "miniapp/trace/seal.hpp"
#include "miniapp/trace/temporary_file.hpp"
#include "miniapp/transport/mpi_handle.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <set>

namespace minigift {

using namespace trace_layout;

namespace {

void check_options(const TraceWriterOptions& options) {
  require_usage(options.deflate >= 0 && options.deflate <= 9, "trace: deflate level {} is not in 0 ... 9",
                options.deflate);
  require_usage(options.max_write_bytes >= 4 && options.max_write_bytes <= std::int64_t{1} << 30,
                "trace: max_write_bytes = {} is not in 4 ... 2^30", options.max_write_bytes);
  require_usage(options.chunk_bytes >= 4, "trace: chunk_bytes = {} is below 4", options.chunk_bytes);
  require_usage(options.alignment_bytes >= 1, "trace: alignment_bytes = {} is below 1",
                options.alignment_bytes);
}

/// What a rank says about itself at the end of a step, as bytes: what must be equal, its loss, its records.
std::string packed(const TraceStep& step, const std::vector<RankRecord>& records) {
  std::string bytes(3 * sizeof(double) + sizeof(double) + records.size() * sizeof(RankRecord), '\0');
  const double loss = step.loss.empty() ? 0.0 : step.loss.front();
  char* at = bytes.data();
  const auto put = [&](const void* data, std::size_t count) {
    if (count > 0) std::memcpy(at, data, count);
    at += count;
  };
  put(&step.step, sizeof(step.step));
  put(&step.learning_rate, sizeof(step.learning_rate));
  put(&step.tokens_per_rank, sizeof(step.tokens_per_rank));
  put(&loss, sizeof(loss));
  put(records.data(), records.size() * sizeof(RankRecord));
  return bytes;
}
constexpr std::size_t packed_loss = 3 * sizeof(double);
constexpr std::size_t packed_records = packed_loss + sizeof(double);

}  // namespace

struct TraceWriter::State {
  std::string path;
  std::string temporary;
  TraceHeader header;
  TraceWriterOptions options;
  Communicator& communicator;
  bool recorded;  ///< this rank is
  Hdf5Handle file;
  bool temporary_exists = false;
  int exceptions = std::uncaught_exceptions();
  std::optional<TraceStep> step;         ///< the open one
  std::set<std::int64_t> steps;          ///< all so far
  std::vector<ArrayPlan> plans;          ///< arrays written in the open step
  std::vector<RankRecord> records;       ///< this rank's, in the same order
  std::vector<SealedStep> sealed_steps;  ///< on rank 0
  std::vector<WrittenPart> parts;        ///< of this rank, in all steps, if it must read them back
  std::int64_t bytes = 0;

  State(const std::string& name, const TraceHeader& trace_header, const TraceWriterOptions& writer_options,
        Communicator& ranks)
      : path(name),
        temporary(name + temporary_suffix),
        header(trace_header),
        options(writer_options),
        communicator(ranks),
        recorded(ranks.rank() < trace_header.ranks) {}

  bool is_filtered() const { return options.deflate > 0 || options.shuffle; }
  void write(ArrayPlan plan, const HostMatrix<const float>& matrix, std::array<double, 2> numbers);
  void write_pieces(const ArrayPlan& plan, const HostMatrix<const float>& matrix, ArraySummary& summary);
  ArrayPlan checked_plan(ArrayKind kind, int owner) const;
  void check_step_is_complete() const;
  void gather_step();
};

TraceWriter::TraceWriter(const std::string& path, const TraceHeader& header,
                         const TraceWriterOptions& options, Communicator& communicator)
    : state_(std::make_unique<State>(path, header, options, communicator)) {
  State& state = *state_;
  communicator.together([&] {
    check_options(options);
    check_header(header);
    require_usage(header.world_size == communicator.size(), "trace: world_size = {} on {} ranks",
                  header.world_size, communicator.size());
  });
  communicator.together([&] {
    if (communicator.rank() == 0) create_temporary(state.temporary, path);
  });
  state.temporary_exists = true;
  try {
    state.file =
        create_parallel_file(state.temporary, mpi_communicator(communicator), options.alignment_bytes);
    create_group(state.file.get(), steps_path, state.temporary);
  } catch (...) {  // the destructor will not run
    remove_temporary(state.temporary);
    throw;
  }
}

TraceWriter::~TraceWriter() {
  State& state = *state_;
  if (!state.temporary_exists) return;
  if (std::uncaught_exceptions() > state.exceptions) {
    state.file.leave();
  } else {
    state.file = {};
    if (state.communicator.rank() != 0) return;
  }
  remove_temporary(state.temporary);
}

std::int64_t TraceWriter::bytes_written() const {
  return state_->bytes;
}

void TraceWriter::begin_step(const TraceStep& mine) {
  State& state = *state_;
  require(state.file.is_open() && !state.step, "trace {}: begin_step({}) {}", state.path, mine.step,
          state.step ? "within a step" : "after finish");
  require(mine.step >= 0 && state.steps.insert(mine.step).second,
          "trace {}: step {} is negative or was begun before", state.path, mine.step);
  require(!state.recorded || mine.loss.size() == 1,
          "trace {}: step {} of a rank with {} losses instead of one", state.path, mine.step,
          mine.loss.size());
  create_group(state.file.get(), step_path(mine.step), state.temporary);
  for (const ArrayKind kind : all_kinds)
    if (is_recorded(kind, state.header.content))
      create_group(state.file.get(), group_path(mine.step, kind), state.temporary);
  state.step = mine;
}

ArrayPlan TraceWriter::State::checked_plan(ArrayKind kind, int owner) const {
  const KindFacts& kind_facts = facts(kind);
  require(step.has_value(), "trace {}: {} outside a step", path, kind_facts.name);
  require(is_recorded(kind, header.content), "trace {}: {} is not in the header's content", path,
          kind_facts.name);
  const std::size_t owners = kind_facts.of_sites ? header.sites.size() : header.tensors.size();
  require(owner >= 0 && static_cast<std::size_t>(owner) < owners, "trace {}: no {} of {} {} among {}", path,
          kind_facts.name, kind_facts.of_sites ? "site" : "tensor", owner, owners);
  ArrayPlan plan = plan_of(header, kind, owner);
  const bool again = std::any_of(plans.begin(), plans.end(), [&](const ArrayPlan& other) {
    return other.kind == kind && other.owner == owner;
  });
  require(!again, "trace {}: {} of {} written twice in step {}", path, kind_facts.name, plan.owner_name,
          step->step);
  return plan;
}

void TraceWriter::State::write(ArrayPlan plan, const HostMatrix<const float>& matrix,
                               std::array<double, 2> numbers) {
  const KindFacts& kind = facts(plan.kind);
  if (recorded) {
    require(extent(matrix, 0) == plan.rows && extent(matrix, 1) == plan.columns,
            "trace {}: {} of {} has shape ({}, {}) instead of ({}, {})", path, kind.name, plan.owner_name,
            extent(matrix, 0), extent(matrix, 1), plan.rows, plan.columns);
    require(matrix.span_is_contiguous(), "trace {}: {} of {} is not contiguous in memory", path, kind.name,
            plan.owner_name);
  } else {
    require(matrix.size() == 0, "trace {}: {} of {} from rank {}, of which only the first {} are recorded",
            path, kind.name, plan.owner_name, communicator.rank(), header.ranks);
  }
  ArraySummary summary;
  write_pieces(plan, matrix, summary);
  if (plan.kind == ArrayKind::gradient) numbers[0] = summary.amax();
  plans.push_back(plan);
  records.push_back({summary.content_hash(), numbers});
  if (recorded && is_filtered()) parts.push_back({step->step, plan, summary.content_hash()});
}

void TraceWriter::State::write_pieces(const ArrayPlan& plan, const HostMatrix<const float>& matrix,
                                      ArraySummary& summary) {
  const KindFacts& kind = facts(plan.kind);
  const ChunkShape chunk =
      chunk_shape(plan.rows, plan.columns, std::min(options.chunk_bytes, options.max_write_bytes));
  ParallelArray array(
      file.get(), temporary, array_path(step->step, plan.kind, plan.owner_name),
      {kind.per_rank ? header.ranks : 0, plan.rows, plan.columns, chunk, options.deflate, options.shuffle});
  const bool writes = kind.per_rank ? recorded : communicator.rank() == 0;
  for (const Piece& piece : pieces(plan.rows, plan.columns, chunk, options.max_write_bytes)) {
    // The rows that this piece completes.
    if (recorded && piece.column + piece.columns == plan.columns)
      summary.add(&matrix(piece.row, 0), piece.rows * plan.columns);
    if (writes) {
      array.write(communicator.rank(), piece, matrix.data());
      bytes += 4 * piece.rows * piece.columns;
    } else if (is_filtered()) {
      array.write_nothing();  // collective
    }
  }
  array.close();
}

void TraceWriter::gradient(int tensor, const HostMatrix<const float>& w) {
  state_->write(state_->checked_plan(ArrayKind::gradient, tensor), w, {});
}

void TraceWriter::input_moment(int site, const HostMatrix<const float>& a, double tokens) {
  state_->write(state_->checked_plan(ArrayKind::input_moment, site), a, {tokens});
}

void TraceWriter::output_moment(int tensor, const HostMatrix<const float>& g, double tokens) {
  state_->write(state_->checked_plan(ArrayKind::output_moment, tensor), g, {tokens});
}

void TraceWriter::sketch(int site, const HostMatrix<const float>& y, double trace_sum, double tokens,
                         const HostMatrix<const float>& test_matrix) {
  State& state = *state_;
  ArrayPlan y_plan = state.checked_plan(ArrayKind::sketch, site);
  ArrayPlan test_plan = state.checked_plan(ArrayKind::test_matrix, site);
  // Ranks that are not recorded may not know k.
  y_plan.columns = state.communicator.max_over_ranks(state.recorded ? extent(y, 1) : std::int64_t{0});
  test_plan.columns = y_plan.columns;
  require(y_plan.columns > 0, "trace {}: sketch of {} without columns", state.path, y_plan.owner_name);
  state.write(y_plan, y, {tokens, trace_sum});
  state.write(test_plan, state.recorded ? test_matrix : HostMatrix<const float>(), {});
}

void TraceWriter::State::check_step_is_complete() const {
  for (const ArrayPlan& plan : arrays_of_a_step(header)) {
    const bool written = std::any_of(plans.begin(), plans.end(), [&](const ArrayPlan& other) {
      return other.kind == plan.kind && other.owner == plan.owner;
    });
    require(written, "trace {}: step {} ends without the {} of {}", path, step->step, facts(plan.kind).name,
            plan.owner_name);
  }
}

void TraceWriter::State::gather_step() {
  const std::vector<std::string> all = communicator.gather_strings(packed(*step, records));
  SealedStep sealed{*step, {}};
  sealed.step.loss.clear();
  for (const ArrayPlan& plan : plans)
    sealed.arrays.push_back({plan, {}});
  for (int rank = 0; rank < header.ranks; ++rank) {
    const std::string& bytes = all[static_cast<std::size_t>(rank)];
    require(
        bytes.size() == all.front().size() && bytes.compare(0, packed_loss, all.front(), 0, packed_loss) == 0,
        "trace {}: step, learning rate or tokens of step {} differ between rank 0 and rank {}", path,
        step->step, rank);
    double loss = 0.0;
    std::memcpy(&loss, bytes.data() + packed_loss, sizeof(loss));
    sealed.step.loss.push_back(loss);
    for (std::size_t i = 0; i < plans.size(); ++i) {
      RankRecord record;
      std::memcpy(&record, bytes.data() + packed_records + i * sizeof(RankRecord), sizeof(record));
      SealedArray& array = sealed.arrays[i];
      array.ranks.push_back(record);
      require(facts(plans[i].kind).per_rank || record.content_hash == array.ranks.front().content_hash,
              "trace {}: step {}: {} of {} differs between rank 0 and rank {}", path, step->step,
              facts(plans[i].kind).name, plans[i].owner_name, rank);
    }
  }
  if (communicator.rank() == 0) sealed_steps.push_back(std::move(sealed));
}

void TraceWriter::end_step() {
  State& state = *state_;
  require(state.step.has_value(), "trace {}: end_step without begin_step", state.path);
  state.check_step_is_complete();
  state.gather_step();
  state.step.reset();
  state.plans.clear();
  state.records.clear();
}

void TraceWriter::finish() {
  State& state = *state_;
  require(state.file.is_open() && !state.step, "trace {}: finish {}", state.path,
          state.step ? "within a step" : "called twice");
  state.file.close("H5Fclose", {state.temporary});
  if (state.is_filtered())
    state.communicator.together([&] { read_back(state.temporary, state.communicator.rank(), state.parts); });
  const bool seals = state.communicator.rank() == 0;
  state.communicator.together([&] {
    if (seals) seal_trace(state.temporary, state.header, state.sealed_steps);
  });
  state.temporary_exists = false;  // whole: it stays even if it cannot get its name
  state.communicator.together([&] {
    if (seals) publish(state.temporary, state.path);
  });
}

}  // namespace minigift
