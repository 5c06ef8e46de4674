#pragma once
// The exchange of every method that is a composition of coordinates, codec, scale rule, reduction and error
// feedback.
//
// On a GPU the exchange has a stream of its own: a bucket waits there for the gradients that the backward
// pass enqueued on the caller's stream, and finish() lets the caller's stream wait for the result. The host
// waits once per step, for the verdict and the norm.
//
// Per bucket, in the order of the paper's Figure 4:
//   1 coordinates   X = W T + R
//   2 scale         amax per group, MAX over ranks where the method synchronises it
//   3 cast          q = cast(X / s), R' = X - s q
//   4 reduction     sum of codes over the ranks
//   5 decode        X' = s q / N,  W' = X' T^{-1}
// With overlap a bucket starts when its last gradient is ready, and the buckets before it then start their
// next collective: fixed places, so that all ranks start all collectives in one order. Without, buckets run
// one after the other in finish(). The arithmetic and its order within a bucket are the same, so the results
// are the same bits.

#include "kernels/device/stream.hpp"
#include "miniapp/exchange/bucket_pipeline.hpp"
#include "miniapp/exchange/bucket_plan.hpp"
#include "miniapp/exchange/coordinates.hpp"
#include "miniapp/exchange/gradient_exchange.hpp"
#include "miniapp/exchange/method.hpp"
#include "miniapp/exchange/node_groups.hpp"
#include "miniapp/exchange/second_moments.hpp"
#include "miniapp/exchange/selection.hpp"
#include "miniapp/model/parameter_registry.hpp"
#include "miniapp/transport/communicator.hpp"

#include <memory>
#include <vector>

namespace minigift {

struct ExchangeOptions {
  std::int64_t bucket_bytes = 25'000'000;  ///< FP32 gradient per bucket
  bool overlap = false;
  std::uint64_t seed = 1;  ///< of the sketches' test matrices and of stochastic rounding
};

class CodecExchange final : public GradientExchange {
 public:
  /// Collective. `gradients` is the flat buffer described by `registry`; it must outlive the exchange.
  CodecExchange(const Method& method, const ParameterRegistry& registry, const Vector<float>& gradients,
                Communicator& communicator, const ExchangeOptions& options);

  void begin_step(std::int64_t step) override;
  bool observes_inputs() const override { return observing_; }
  void observe_input(int site, const Matrix<const float>& x) override;
  void observe_input(int site, const Matrix<const bfloat16>& x) override;
  void begin_backward() override;
  void ready(int tensor) override;
  /// The caller's stream has the result when this returns.
  ExchangeResult finish() override;

  std::int64_t payload_bytes() const override { return plan_.payload_bytes(); }
  std::int64_t memory_bytes() const override;
  std::string description() const override { return describe(method_); }

  const BucketPlan& plan() const { return plan_; }
  const LayerSelection& selection() const { return selection_; }
  const Method& method() const { return method_; }

 private:
  bool uses_coordinates() const { return method_.coordinates != CoordinateSystem::euclidean; }
  /// What the caller has enqueued comes before what the exchange enqueues from now on.
  void follow_caller();
  ExchangeResult finish_on_stream();
  /// Steps 1 to 4 begin for one bucket.
  void start_bucket(std::size_t index);
  /// At a refresh: each tensor of the bucket takes or refuses the new coordinates.
  void adopt_coordinates(const Bucket& bucket, BucketPipeline& pipeline);
  /// Which tensors use coordinates and error feedback after the selection changed.
  void apply_selection();
  void profile_selection();
  /// gamma's terms, summed over the ranks, of gradients in the coordinates of their candidate; zero where
  /// that is null. Collective unless all are null, which they are on all ranks alike.
  std::vector<GammaTerms> gamma_over_ranks(const std::vector<int>& tensors,
                                           const std::vector<const ColumnTransform*>& candidates);
  /// Whether all ranks sent finite gradients.
  ExchangeResult verdict();
  /// Norm of the result, and whether it is finite.
  void judge_sum(ExchangeResult& result);
  Matrix<float> gradient(int tensor) const;

  Method method_;
  const ParameterRegistry& registry_;
  Vector<float> gradients_;
  Communicator& communicator_;
  ExchangeOptions options_;
  std::unique_ptr<NodeGroups> groups_;  // of the hierarchical reduction, else null
  BucketPlan plan_;
  LayerSelection selection_;
  SecondMoments moments_;
  Coordinates coordinates_;
  std::vector<std::unique_ptr<BucketPipeline>> pipelines_;
  std::vector<int> pending_;   // per bucket: gradients not yet ready
  std::vector<bool> guarded_;  // per tensor: kept Euclidean by the guard
  std::size_t started_ = 0;    // buckets started in this step
  std::int64_t step_ = 0;
  bool observing_ = false;
  bool refreshing_ = false;  // this step's factors are new
  bool deferred_ = false;    // buckets wait for finish()
  DeviceCounters counters_;
  Vector<std::int64_t> first_infinite_;  // (buckets) scale group of this rank's first infinite maximum
  Stream stream_;                        // of steps 1 to 5
  Event caller_;                         // where the caller's stream was
  Event done_;                           // the result is there
};

}  // namespace minigift
