#include "miniapp/step/step_benchmark.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/error.hpp"
#include "kernels/slice.hpp"
#include "miniapp/exchange/error_bound.hpp"
#include "miniapp/report/wait.hpp"
#include "miniapp/train/deck_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace minigift {

StepBenchmark::StepBenchmark(const Deck& deck, StepCompute& compute, Communicator& communicator,
                             RegionTimer& timer)
    : deck_(deck),
      compute_(compute),
      communicator_(communicator),
      timer_(timer),
      findings_(deck.methods.size()),
      iterations_(deck.methods.size(), 0) {
  for (std::size_t m = 0; m < deck.methods.size(); ++m) {
    const Method method = resolve_method(deck.methods[m], deck.exchange, communicator.size());
    exchanges_.push_back(std::make_unique<CodecExchange>(method, compute.registry(), compute.gradients(),
                                                         communicator, exchange_options(deck)));
    error_bounds_.push_back(exchange_error_bound(method, communicator.size()));
    findings_[m].allows_divergence = method.allow_divergence;
  }
  check_.emplace(compute.registry(), compute.gradients(), communicator);
}

void StepBenchmark::hang() {
  if (deck_.inject.hang == HangChoice::sleep && communicator_.rank() == deck_.inject.hang_rank)
    wait_for(10 + 2 * deck_.exchange.watchdog_seconds);
}

IterationRow StepBenchmark::run(int method) {
  const auto m = static_cast<std::size_t>(method);
  CodecExchange& exchange = *exchanges_[m];
  const std::int64_t iteration = ++iterations_[m];
  const auto& step = deck_.step;
  const bool first_measured = iteration == step.warmup + 1;
  const bool last = iteration == step.warmup + step.iterations;
  // The first iteration too: a wrong exchange should be known before it is measured.
  const bool check = step.check_every > 0 && (iteration == 1 || last || iteration % step.check_every == 0);

  exchange.begin_step(iteration - 1);
  const auto observe = [&exchange](int site, const auto& x) { exchange.observe_input(site, x); };
  const InputHook<float> inputs =
      exchange.observes_inputs() ? InputHook<float>{observe, observe} : InputHook<float>{};
  compute_.prepare(iteration - 1, inputs);

  const bool captured = check && compute_.prepares_gradients();
  if (captured) {
    for (int t = compute_.registry().size() - 1; t >= 0; --t)
      check_->capture(t);
  }

  const bool hangs = first_measured && method == 0;
  if (hangs) hang();
  const bool skips =
      hangs && deck_.inject.hang == HangChoice::skip && communicator_.rank() == deck_.inject.hang_rank;
  communicator_.synchronize();
  if (!skips) communicator_.barrier();

  const TransportCounters before = communicator_.counters();
  timer_.reset();
  const ExchangeResult result = timed_part(exchange, inputs, check && !captured);
  communicator_.synchronize();

  IterationRow row;
  row.method = exchange.method().name;
  row.ranks = communicator_.size();
  row.iteration = iteration;
  row.warmup = iteration <= step.warmup;
  collect_times(row);
  const TransportCounters used = after_exchange_ - before;
  const TransportCounters update = communicator_.counters() - after_exchange_;
  row.tokens = compute_.tokens();
  row.gradient_bytes = 4 * compute_.registry().total();
  row.payload_bytes = exchange.payload_bytes();
  row.wire_bytes = communicator_.max_over_ranks(used.payload.bytes_sent + used.metadata.bytes_sent);
  row.metadata_bytes = communicator_.max_over_ranks(used.metadata.bytes_sent);
  row.update_bytes = communicator_.max_over_ranks(update.metadata.bytes_sent);
  row.staged_bytes = communicator_.max_over_ranks(used.device_to_host_bytes + used.host_to_device_bytes);
  const bool planned = used.payload.bytes_sent == exchange.plan().payload_wire_bytes();
  if (communicator_.min_over_ranks(std::int64_t{planned}) == 0) findings_[m].wire_as_planned = false;
  row.selected_tensors = result.selected_tensors;
  row.fallback_tensors = result.fallback_tensors;
  const auto elements = static_cast<double>(communicator_.sum_over_ranks(result.counters.elements));
  const double saturated = static_cast<double>(communicator_.sum_over_ranks(result.counters.saturated));
  const double flushed = static_cast<double>(communicator_.sum_over_ranks(result.counters.flushed));
  if (elements > 0 && has_scale(exchange.method().format)) {
    row.saturated_fraction = saturated / elements;
    row.flushed_fraction = flushed / elements;
  }
  row.skipped = result.skipped;
  if (result.skipped) {
    findings_[m].skipped.push_back(fmt::format("{}, iteration {}: {}", row.method, iteration, result.reason));
    return row;
  }
  row.gradient_norm = result.gradient_norm;
  if (first_measured && method == 0) inject_fault();
  check_ranks(method, row);
  row.error_bound = error_bounds_[m];
  if (check) {
    row.relative_l2_error = check_->compare().relative_l2;
    ++findings_[m].compared;
  }
  return row;
}

ExchangeResult StepBenchmark::timed_part(CodecExchange& exchange, const InputHook<float>& inputs,
                                         bool capture) {
  const GradientHook ready = [&](int tensor) {
    if (capture) check_->capture(tensor);
    exchange.ready(tensor);
  };
  for (std::int64_t b = 0; b < compute_.micro_batches(); ++b) {
    compute_.forward(b, inputs);
    const bool last = b + 1 == compute_.micro_batches();
    if (last) exchange.begin_backward();
    compute_.backward(last ? ready : GradientHook{});
  }
  const ExchangeResult result = exchange.finish();
  after_exchange_ = communicator_.counters();
  if (!result.skipped) {
    const double clip = deck_.train.clip_norm;
    compute_.update(clip > 0 && result.gradient_norm > clip ? clip / result.gradient_norm : 1.0);
  }
  return result;
}

void StepBenchmark::collect_times(IterationRow& row) {
  const double seconds = timer_.step_seconds();
  const PhaseSeconds phases = timer_.phase_seconds();
  const double exposed = timer_.inclusive_seconds(exchange_region);
  row.step_seconds = communicator_.max_over_ranks(seconds);
  row.step_seconds_minimum = communicator_.min_over_ranks(seconds);
  double busy = 0;
  for (std::size_t i = 0; i < phase_count; ++i) {
    row.phases[i] = communicator_.max_over_ranks(phases[i]);
    if (phase_names[i] != "wire") busy += phases[i];
  }
  row.exposed_seconds = communicator_.max_over_ranks(exposed);
  const std::vector<double> all = communicator_.gather_values(busy);
  const auto slowest = std::max_element(all.begin(), all.end());
  row.busy_seconds = *slowest;
  row.busy_seconds_minimum = *std::min_element(all.begin(), all.end());
  row.slowest_rank = slowest - all.begin();
}

void StepBenchmark::inject_fault() {
  if (deck_.inject.fault == FaultPlace::none || communicator_.rank() != deck_.inject.fault_rank) return;
  const ParameterRegistry& tensors = compute_.registry();
  const Parameter& tensor = deck_.inject.fault == FaultPlace::first  ? tensors[0]
                            : deck_.inject.fault == FaultPlace::last ? tensors[tensors.size() - 1]
                                                                     : tensors[tensors.size() / 2];
  const std::int64_t element = deck_.inject.fault == FaultPlace::first  ? 0
                               : deck_.inject.fault == FaultPlace::last ? tensor.size() - 1
                                                                        : tensor.size() / 2;
  const Vector<float> place = slice(compute_.gradients(), tensor.offset + element, 1);
  const auto value = on_host(place);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value(0), sizeof(bits));
  bits ^= 1u;  // the smallest fault there is
  std::memcpy(&value(0), &bits, sizeof(bits));
  copy(place, value);
}

void StepBenchmark::check_ranks(int method, IterationRow& row) {
  const std::vector<std::string> hashes = gather_hashes(compute_.gradients(), communicator_);
  row.checksum = hashes.front();
  row.ranks_agree =
      std::all_of(hashes.begin(), hashes.end(), [&](const std::string& h) { return h == hashes.front(); });
  StepFindings& findings = findings_[static_cast<std::size_t>(method)];
  ++findings.exchanges;
  if (row.ranks_agree || findings.allows_divergence) return;
  std::string ranks;
  for (std::size_t r = 1; r < hashes.size(); ++r) {
    if (hashes[r] != hashes.front()) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", r);
  }
  findings.disagreeing.push_back(
      fmt::format("{}, iteration {}: rank {} against rank 0", row.method, row.iteration, ranks));
}

}  // namespace minigift
