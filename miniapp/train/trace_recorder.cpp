#include "miniapp/train/trace_recorder.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/slice.hpp"
#include "miniapp/report/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace minigift {
namespace {

bool is_mlp(Role role) {
  return role == Role::mlp_gate || role == Role::mlp_up || role == Role::mlp_down;
}

bool chooses(const std::string& word, const Parameter& parameter) {
  const bool hidden = is_hidden_matrix(parameter.role);
  if (word == "all") return hidden;
  if (word == "mlp") return is_mlp(parameter.role);
  if (word == "attention") return hidden && !is_mlp(parameter.role);
  return glob_match(word, parameter.name);
}

TraceContent content_of(const std::vector<TraceChoice>& choices) {
  const auto has = [&](TraceChoice choice) {
    return std::find(choices.begin(), choices.end(), choice) != choices.end();
  };
  return {.gradient = has(TraceChoice::gradient),
          .input_moment = has(TraceChoice::input_moment),
          .output_moment = has(TraceChoice::output_moment),
          .sketch = has(TraceChoice::sketch)};
}

/// The parts of a method that say how a second moment is gathered.
Method gathering(CoordinateSystem coordinates, std::int64_t columns) {
  Method method;
  method.coordinates = coordinates;
  method.rank = columns;
  method.oversample = 0;
  return method;
}

/// Mean over tokens as floats on the host, times `factor`.
HostMatrix<float> host_moment(const SecondMoments& moments, int site, double factor) {
  const HostMatrix<double> mean = on_host(moments.dense_moment(site));
  HostMatrix<float> result(Kokkos::view_alloc(Kokkos::WithoutInitializing, "minigift::host_moment"),
                           mean.extent(0), mean.extent(1));
  for (std::size_t i = 0; i < mean.size(); ++i)
    result.data()[i] = static_cast<float>(factor * mean.data()[i]);
  return result;
}

}  // namespace

std::vector<int> traced_tensors(const std::vector<std::string>& words, const ParameterRegistry& registry) {
  std::set<int> chosen;
  for (const std::string& word : words) {
    const std::size_t before = chosen.size();
    bool any = false;
    for (int index = 0; index < registry.size(); ++index) {
      if (!chooses(word, registry[index])) continue;
      require_usage(is_hidden_matrix(registry[index].role),
                    "trace.tensors: \"{}\" chooses {}, which is no matrix of a decoder layer", word,
                    registry[index].name);
      chosen.insert(index);
      any = true;
    }
    require_usage(any || chosen.size() > before, "trace.tensors: \"{}\" chooses no tensor of the model",
                  word);
  }
  return {chosen.begin(), chosen.end()};
}

TraceRecorder::TraceRecorder(const Deck& deck, const std::string& method, const ParameterRegistry& registry,
                             const Vector<float>& gradients, Communicator& communicator)
    : registry_(registry),
      gradients_(gradients),
      communicator_(communicator),
      path_(deck.trace.file),
      steps_(deck.trace.steps),
      global_batch_(deck.trace.global_batch),
      ranks_(deck.trace.ranks > 0 ? deck.trace.ranks : communicator.size()),
      content_(content_of(deck.trace.content)),
      tensors_(traced_tensors(deck.trace.tensors, registry)),
      tensor_index_(static_cast<std::size_t>(registry.size()), -1) {
  if (steps_.empty()) steps_ = {deck.train.steps};
  TraceHeader header;
  header.program_version = program_version();
  header.git_commit = build_git_commit() + (build_git_dirty() ? "-changed" : "");
  header.created_utc = utc_now();
  header.model = deck.model.name;
  header.deck = to_toml(deck);
  header.method = method;
  header.world_size = communicator.size();
  header.ranks = static_cast<int>(ranks_);
  header.content = content_;

  const auto& sites = registry.input_sites();
  std::vector<std::int64_t> site_width(sites.size(), 0);
  std::vector<std::int64_t> output_width(static_cast<std::size_t>(registry.size()), 0);
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    const Parameter& parameter = registry[tensors_[t]];
    tensor_index_[static_cast<std::size_t>(tensors_[t])] = static_cast<int>(t);
    const auto site = static_cast<std::size_t>(parameter.input_site);
    header.tensors.push_back({.name = parameter.name,
                              .role = std::string(name(parameter.role)),
                              .layer = parameter.layer,
                              .rows = parameter.rows,
                              .columns = parameter.columns,
                              .input_site = sites[site].name});
    site_width[site] = sites[site].width;
    output_width[static_cast<std::size_t>(tensors_[t])] = parameter.rows;
  }
  for (std::size_t s = 0; s < sites.size(); ++s) {
    if (site_width[s] == 0) continue;
    sites_.push_back(static_cast<int>(s));
    header.sites.push_back({.name = sites[s].name, .layer = sites[s].layer, .width = sites[s].width});
  }
  const auto seed = static_cast<std::uint64_t>(deck.train.seed);
  const Method dense = gathering(CoordinateSystem::input_full, 0);
  if (content_.input_moment) inputs_ = std::make_unique<SecondMoments>(dense, site_width, seed);
  if (content_.output_moment) outputs_ = std::make_unique<SecondMoments>(dense, output_width, seed);
  if (content_.sketch) {
    sketches_ = std::make_unique<SecondMoments>(
        gathering(CoordinateSystem::input_low_rank, deck.trace.sketch_columns), site_width, seed);
  }
  local_.resize(tensors_.size());
  writer_ = std::make_unique<TraceWriter>(
      path_, header,
      TraceWriterOptions{.deflate = static_cast<int>(deck.trace.deflate), .shuffle = deck.trace.shuffle},
      communicator);
}

std::int64_t TraceRecorder::global_batch(std::int64_t /*step*/, std::int64_t planned) const {
  return global_batch_ > 0 ? global_batch_ : planned;
}

bool TraceRecorder::begin_step(std::int64_t step) {
  if (std::find(steps_.begin(), steps_.end(), step) == steps_.end()) return false;
  for (SecondMoments* moments : {inputs_.get(), sketches_.get(), outputs_.get()}) {
    if (moments != nullptr) moments->reset();
  }
  return true;
}

template <class In>
void TraceRecorder::input(int site, const Matrix<const In>& x) {
  if (!recorded()) return;
  if (inputs_) inputs_->observe(site, x);
  if (sketches_) sketches_->observe(site, x);
}
void TraceRecorder::observe_input(int site, const Matrix<const float>& x) {
  input(site, x);
}
void TraceRecorder::observe_input(int site, const Matrix<const bfloat16>& x) {
  input(site, x);
}
void TraceRecorder::observe_output(int parameter, const Matrix<const float>& dy) {
  if (recorded()) outputs_->observe(parameter, dy);
}
void TraceRecorder::observe_output(int parameter, const Matrix<const bfloat16>& dy) {
  if (recorded()) outputs_->observe(parameter, dy);
}

void TraceRecorder::gradient_ready(int parameter) {
  const int tensor = tensor_index_[static_cast<std::size_t>(parameter)];
  if (tensor < 0 || !content_.gradient || !recorded()) return;
  const Parameter& p = registry_[parameter];
  local_[static_cast<std::size_t>(tensor)] = on_host(slice(gradients_, p.offset, p.rows, p.columns));
}

void TraceRecorder::end_step(const ObservedStep& step) {
  writer_->begin_step({.step = step.step,
                       .learning_rate = step.learning_rate,
                       .tokens_per_rank = step.tokens,
                       .loss = {step.local_loss}});
  if (content_.gradient) {
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      writer_->gradient(static_cast<int>(t), local_[t]);
      local_[t] = {};
    }
  }
  write_inputs();
  write_outputs(static_cast<double>(step.tokens));
  writer_->end_step();
  ++steps_written_;
}

void TraceRecorder::write_inputs() {
  for (std::size_t s = 0; s < sites_.size(); ++s) {
    const int site = sites_[s];
    const auto index = static_cast<int>(s);
    if (inputs_) {
      if (recorded()) {
        writer_->input_moment(index, host_moment(*inputs_, site, 1.0),
                              static_cast<double>(inputs_->tokens(site)));
      } else {
        writer_->input_moment(index, {}, 0.0);
      }
    }
    if (sketches_) {
      const Sketch& sketch = sketches_->sketch(site);
      const auto test_matrix = on_host(sketches_->test_matrix(site));
      const auto trace_count = on_host(sketch.trace_count);
      writer_->sketch(index, recorded() ? on_host(sketch.y) : HostMatrix<float>{}, trace_count(0),
                      trace_count(1), test_matrix);
    }
  }
}

void TraceRecorder::write_outputs(double tokens) {
  if (!outputs_) return;
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    if (recorded()) {
      // dy belongs to the mean over the step's tokens; d, to their sum, does not depend on the batch.
      writer_->output_moment(static_cast<int>(t), host_moment(*outputs_, tensors_[t], tokens * tokens),
                             tokens);
    } else {
      writer_->output_moment(static_cast<int>(t), {}, 0.0);
    }
  }
}

void TraceRecorder::finish() {
  writer_->finish();
}

}  // namespace minigift
