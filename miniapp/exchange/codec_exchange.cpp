#include "miniapp/exchange/codec_exchange.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/linalg/gemm.hpp"
#include "kernels/linalg/reductions.hpp"
#include "kernels/slice.hpp"
#include "miniapp/report/region_timer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace minigift {
namespace {

std::vector<TensorExtent> extents(const ParameterRegistry& registry) {
  std::vector<TensorExtent> tensors;
  for (const Parameter& p : registry)
    tensors.push_back({p.name, p.rows, p.columns, p.offset});
  return tensors;
}

/// Widths of the input sites that some considered tensor reads, 0 for the others.
std::vector<std::int64_t> site_widths(const ParameterRegistry& registry, const LayerSelection& selection) {
  std::vector<std::int64_t> widths(registry.input_sites().size(), 0);
  for (int t = 0; t < registry.size(); ++t) {
    const Parameter& p = registry[t];
    if (p.input_site >= 0 && selection.considered(t))
      widths[static_cast<std::size_t>(p.input_site)] = p.columns;
  }
  return widths;
}

std::vector<int> tensor_sites(const ParameterRegistry& registry) {
  std::vector<int> sites;
  for (const Parameter& p : registry)
    sites.push_back(p.input_site);
  return sites;
}

}  // namespace

CodecExchange::CodecExchange(const Method& method, const ParameterRegistry& registry,
                             const Vector<float>& gradients, Communicator& communicator,
                             const ExchangeOptions& options)
    : method_(method),
      registry_(registry),
      gradients_(gradients),
      communicator_(communicator),
      options_(options),
      groups_(method.reduction == Reduction::hierarchical ? std::make_unique<NodeGroups>(communicator)
                                                          : nullptr),
      plan_(extents(registry), method, communicator.size(), options.bucket_bytes,
            communicator.ranks_on_node()),
      selection_(method, selection_candidates(registry)),
      moments_(method, site_widths(registry, selection_), options.seed),
      coordinates_(tensor_sites(registry)),
      pending_(plan_.buckets().size(), 0),
      guarded_(static_cast<std::size_t>(registry.size()), false),
      first_infinite_("minigift::first_infinite", plan_.buckets().size()),
      stream_(Stream::create(true)) {
  // A rank with another plan would send other bytes to the same place.
  const auto plans = communicator.gather_strings(fmt::format("{:016x}", plan_.hash()));
  for (std::size_t r = 1; r < plans.size(); ++r) {
    require(plans[r] == plans[0], "method {}: rank {} has bucket plan {}, rank 0 has {}", method.name, r,
            plans[r], plans[0]);
  }
  for (const Bucket& bucket : plan_.buckets()) {
    const auto index = static_cast<std::int64_t>(pipelines_.size());
    pipelines_.push_back(std::make_unique<BucketPipeline>(
        bucket, method_, slice(gradients, bucket.gradient_offset, bucket.gradient_size),
        slice(first_infinite_, index, 1), communicator, counters_, groups_.get()));
  }
  apply_selection();
}

Matrix<float> CodecExchange::gradient(int tensor) const {
  const Parameter& p = registry_[tensor];
  return slice(gradients_, p.offset, p.rows, p.columns);
}

void CodecExchange::apply_selection() {
  for (std::size_t b = 0; b < pipelines_.size(); ++b) {
    std::vector<bool> has_residual;
    for (const int tensor : plan_.buckets()[b].tensors) {
      has_residual.push_back(
          method_.error_feedback == ErrorFeedback::all ||
          (method_.error_feedback == ErrorFeedback::selected && selection_.selected(tensor)));
    }
    pipelines_[b]->set_error_feedback(has_residual);
  }
}

void CodecExchange::begin_step(std::int64_t step) {
  step_ = step;
  started_ = 0;
  counters_.reset();
  for (std::size_t b = 0; b < pending_.size(); ++b) {
    pending_[b] = static_cast<int>(plan_.buckets()[b].tensors.size());
  }
  if (!uses_coordinates()) return;
  refreshing_ = step % method_.refresh_period == 0;
  // The window is the refresh step and the sketch_window - 1 steps before it.
  const bool was_observing = observing_;
  observing_ = (step + method_.sketch_window - 1) % method_.refresh_period < method_.sketch_window;
  if (observing_ && !was_observing) moments_.reset();
}

void CodecExchange::observe_input(int site, const Matrix<const float>& x) {
  if (!observing_) return;
  const ScopedRegion region("refresh");
  const ScopedFp32Products exact(Fp32Products::ieee);  // whatever the model computes in
  moments_.observe(site, x);
}

void CodecExchange::observe_input(int site, const Matrix<const bfloat16>& x) {
  if (!observing_) return;
  const ScopedRegion region("refresh");
  moments_.observe(site, x);
}

void CodecExchange::begin_backward() {
  deferred_ = !options_.overlap;
  if (!refreshing_) return;
  const ScopedRegion exposed{std::string(exchange_region)};
  const ScopedRegion region("refresh");
  moments_.all_reduce(communicator_);
  if (!moments_.finite()) {
    // Activations that are not finite give gradients that are not: the verdict of finish() will name them.
    refreshing_ = false;
    moments_.reset();
    return;
  }
  coordinates_.refresh(method_, moments_);
  moments_.reset_warm();
  // The automatic choice looks at all gradients before any is sent.
  if (selection_.is_profiling()) deferred_ = true;
}

void CodecExchange::ready(int tensor) {
  const auto bucket = static_cast<std::size_t>(plan_.bucket_of(tensor));
  --pending_[bucket];
  if (deferred_) return;
  communicator_.progress();
  // Tensors become ready in descending order, buckets therefore in plan order.
  if (started_ == pipelines_.size() || pending_[started_] != 0) return;
  const ScopedRegion exposed{std::string(exchange_region)};
  follow_caller();
  const ScopedStream stream(stream_);
  const ScopedFp32Products exact(Fp32Products::ieee);
  while (started_ < pipelines_.size() && pending_[started_] == 0)
    start_bucket(started_++);
}

void CodecExchange::follow_caller() {
  caller_.record();
  const ScopedStream stream(stream_);
  caller_.wait();
}

void CodecExchange::start_bucket(std::size_t index) {
  const Bucket& bucket = plan_.buckets()[index];
  BucketPipeline& pipeline = *pipelines_[index];
  if (refreshing_) adopt_coordinates(bucket, pipeline);
  if (uses_coordinates()) {
    const ScopedRegion region("coordinates");
    for (const int tensor : bucket.tensors)
      coordinates_.to_communication(tensor, gradient(tensor));
  }
  const PhiloxKey key =
      philox_key(options_.seed, static_cast<std::uint64_t>(step_), static_cast<std::uint32_t>(index),
                 static_cast<std::uint32_t>(communicator_.rank()));
  pipeline.start(key, method_.scale_sync_period > 0 && step_ % method_.scale_sync_period == 0);
  for (std::size_t earlier = 0; earlier < index; ++earlier)
    pipelines_[earlier]->proceed();
}

std::vector<GammaTerms> CodecExchange::gamma_over_ranks(
    const std::vector<int>& tensors, const std::vector<const ColumnTransform*>& candidates) {
  std::vector<GammaTerms> result(tensors.size());
  Vector<double> terms("minigift::gamma_terms", 2 * tensors.size());
  const auto host = host_like(terms);
  std::fill(host.data(), host.data() + host.size(), 0.0);
  bool any = false;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (candidates[i] == nullptr) continue;
    const GammaTerms local = candidates[i]->gamma_terms(gradient(tensors[i]), coordinates_.workspace());
    host(2 * i) = local.numerator;
    host(2 * i + 1) = local.norm_squared;
    any = true;
  }
  if (!any) return result;
  copy(terms, host);
  communicator_.all_reduce_sum(terms, Traffic::metadata).wait();
  communicator_.synchronize();  // under the watchdog, before the host reads
  copy(host, terms);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    result[i] = {host(2 * i), host(2 * i + 1)};
  return result;
}

void CodecExchange::adopt_coordinates(const Bucket& bucket, BucketPipeline& pipeline) {
  const ScopedRegion region("refresh");
  std::vector<const ColumnTransform*> candidates;
  for (const int tensor : bucket.tensors) {
    candidates.push_back(selection_.selected(tensor) ? coordinates_.candidate(tensor) : nullptr);
  }
  // Of the gradients that are about to be sent, over all ranks: the same verdict everywhere.
  const std::vector<GammaTerms> terms = gamma_over_ranks(bucket.tensors, candidates);
  pipeline.fold_sum_residuals();
  for (std::size_t i = 0; i < bucket.tensors.size(); ++i) {
    const int tensor = bucket.tensors[i];
    // Written as <=, so that a gamma that is not a number does not pass.
    const bool use = candidates[i] != nullptr && minigift::gamma(terms[i]) <= method_.guard;
    guarded_[static_cast<std::size_t>(tensor)] = selection_.selected(tensor) && !use;
    if (coordinates_.is_identity(tensor) && !use) continue;
    const Parameter& p = registry_[tensor];
    const Vector<float> residual = pipeline.residual(p.offset - bucket.gradient_offset, p.size());
    coordinates_.adopt(tensor, use,
                       residual.size() > 0 ? slice(residual, 0, p.rows, p.columns) : Matrix<float>());
  }
}

void CodecExchange::profile_selection() {
  const ScopedRegion region("refresh");
  std::vector<int> tensors;
  std::vector<const ColumnTransform*> candidates;
  for (int t = 0; t < registry_.size(); ++t) {
    if (!selection_.considered(t) || coordinates_.candidate(t) == nullptr) continue;
    tensors.push_back(t);
    candidates.push_back(coordinates_.candidate(t));
  }
  const std::vector<GammaTerms> terms = gamma_over_ranks(tensors, candidates);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    selection_.report(tensors[i], terms[i]);
  selection_.choose();
  apply_selection();
}

ExchangeResult CodecExchange::finish() {
  const ScopedRegion exposed{std::string(exchange_region)};
  follow_caller();
  ExchangeResult result;
  {
    const ScopedStream stream(stream_);
    result = finish_on_stream();
    done_.record();
  }
  done_.wait();
  return result;
}

ExchangeResult CodecExchange::finish_on_stream() {
  if (refreshing_ && selection_.is_profiling()) profile_selection();
  for (std::size_t b = 0; b < pipelines_.size(); ++b) {
    require(pending_[b] == 0, "method {}: {} gradients of bucket {} were never ready", method_.name,
            pending_[b], b);
    if (b < started_) continue;
    start_bucket(b);
    pipelines_[b]->complete();
  }
  // With overlap the last buckets still have collectives to start: in the order of the buckets, one each in
  // turn, then wait.
  for (bool more = true; more;) {
    more = false;
    for (const auto& pipeline : pipelines_)
      more = pipeline->proceed() || more;
  }
  for (const auto& pipeline : pipelines_)
    pipeline->complete();

  ExchangeResult result = verdict();
  if (result.skipped) return result;
  for (const auto& pipeline : pipelines_)
    pipeline->decode();
  if (uses_coordinates()) {
    const ScopedRegion region("coordinates");
    for (int t = 0; t < registry_.size(); ++t)
      coordinates_.from_communication(t, gradient(t));
  }
  judge_sum(result);
  if (result.skipped) return result;
  for (const auto& pipeline : pipelines_)
    pipeline->commit();
  return result;
}

void CodecExchange::judge_sum(ExchangeResult& result) {
  const ScopedRegion region("optimizer");  // clipping needs the norm in any case
  result.gradient_norm = std::sqrt(sum_of_squares<float>(gradients_));
  // Finite gradients may still add up to an infinity. Replicas hold the same bits and come to the same
  // verdict; where they may differ they have to agree.
  std::int64_t finite = std::isfinite(result.gradient_norm) ? 1 : 0;
  if (method_.allow_divergence) finite = communicator_.min_over_ranks(finite);
  if (finite != 0) return;
  result.skipped = true;
  result.reason = "the sum over ranks";
}

ExchangeResult CodecExchange::verdict() {
  ExchangeResult result;
  result.selected_tensors = selection_.selected_tensors();
  result.selected_parameters = selection_.selected_parameters();
  result.fallback_tensors = std::count(guarded_.begin(), guarded_.end(), true);

  const ScopedRegion region("wire");
  communicator_.synchronize();  // from here on the host reads what the device found
  result.counters = counters_.read();
  const auto groups = on_host(first_infinite_);
  int first_bad = -1;
  for (std::size_t b = 0; b < pipelines_.size() && first_bad < 0; ++b)
    first_bad = pipelines_[b]->tensor_of(groups(b));
  if (communicator_.max_over_ranks(static_cast<std::int64_t>(first_bad)) < 0) return result;
  result.skipped = true;
  const auto names = communicator_.gather_strings(first_bad < 0 ? std::string() : registry_[first_bad].name);
  for (std::size_t r = 0; r < names.size(); ++r) {
    if (names[r].empty()) continue;
    result.reason += fmt::format("{}{} on rank {}", result.reason.empty() ? "" : ", ", names[r], r);
  }
  return result;
}

std::int64_t CodecExchange::memory_bytes() const {
  std::int64_t bytes = moments_.bytes() + coordinates_.bytes();
  for (const auto& pipeline : pipelines_)
    bytes += pipeline->bytes();
  return bytes;
}

}  // namespace minigift
