// The collectives that add: the exchange's reductions on its own codec, the library's sum, the ring's first
// half, and MPI's plain calls, all on one bucket of the same gradient.

#include "kernels/device/memory.hpp"
#include "kernels/slice.hpp"
#include "miniapp/comm/collective.hpp"
#include "miniapp/comm/sum_encoding.hpp"
#include "miniapp/exchange/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace minigift {
namespace {

bool is_exchange_reduction(CollectiveChoice collective) {
  return collective == CollectiveChoice::native || collective == CollectiveChoice::a2a ||
         collective == CollectiveChoice::hierarchical;
}

class SumCollective final : public Collective {
 public:
  SumCollective(const CommCase& wanted, const SumEncoding& encoding, const CollectiveContext& context)
      : case_(wanted), encoding_(encoding), context_(context), codec_(encoding.make_codec()) {
    if (is_exchange_reduction(wanted.collective)) {
      reduction_ = make_reduction(encoding.bucket(), encoding.method(), *codec_, context.communicator,
                                  /*feedback=*/false, counters_, context.groups);
    }
    if (wanted.collective == CollectiveChoice::mpi_reduce_scatter)
      part_ = Vector<std::uint8_t>("minigift::comm_part", static_cast<std::size_t>(part_bytes()));
  }

  void prepare(bool negated) override {
    codec_->encode(context_.inputs.gradient(negated), Vector<float>(), PhiloxKey{}, counters_);
    if (part_.size() > 0) fill(part_, std::uint8_t{0xFF});
  }

  void run() override {
    Communicator& communicator = context_.communicator;
    switch (case_.collective) {
      case CollectiveChoice::native:
      case CollectiveChoice::a2a:
      case CollectiveChoice::hierarchical:
        reduction_->start(PhiloxKey{});
        reduction_->finish();
        return;
      case CollectiveChoice::allreduce:
        return communicator.library_all_reduce(case_.format, codec_->codes()).wait();
      case CollectiveChoice::reduce_scatter:
        return communicator.native_reduce_scatter(case_.format, codec_->codes()).wait();
      case CollectiveChoice::mpi_allreduce:
        return context_.plain_mpi.all_reduce(codec_->codes());
      case CollectiveChoice::mpi_reduce_scatter:
        return context_.plain_mpi.reduce_scatter(codec_->codes(), part_);
      default:
        break;
    }
    throw RuntimeError(fmt::format("{} adds nothing", name_of(case_.collective)));
  }

  Vector<std::uint8_t> result() const override {
    if (part_.size() > 0) return part_;
    return outcome_of(case_.collective) == Outcome::sum ? codec_->codes() : own_codes();
  }

  Comparison compare(bool negated) override {
    if (part_.size() > 0) copy(own_codes(), part_);
    const ElementRange own = encoding_.own_elements();
    const Vector<float>& decoded = context_.inputs.scratch();
    const Vector<const float> scale = reduction_ ? reduction_->scale() : codec_->scale();
    codec_->decode(scale, 1.0f, decoded);
    const auto found = on_host(slice(decoded, own.first, own.count));
    const ExactSums& exact = context_.inputs.sums(own.first, own.count);
    const SumScales scales{encoding_.largest_scale(), has_scale(case_.format) ? largest(scale) : 1.0};
    const SumBound bound = sum_bound(case_.collective, case_.format, context_.communicator.size(), scales);
    Comparison comparison{0, bound.relative};
    for (std::int64_t i = 0; i < own.count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double sum = negated ? -exact.sum[at] : exact.sum[at];
      const double error = std::abs(static_cast<double>(found(at)) - sum);
      const double relative = std::max(error - bound.absolute, 0.0) / exact.magnitude[at];
      // Not <: a NaN must not pass.
      if (!(relative <= comparison.error))
        comparison.error = std::isfinite(relative) ? relative : std::numeric_limits<double>::infinity();
    }
    // A code clipped at the largest value would be an error that no rounding explains. (INT8's scale makes
    // the largest magnitude 127, give or take a rounding of the quotient, which may count as clipped.)
    if (is_fp8(case_.format) && counters_.read().saturated > 0)
      comparison.error = std::numeric_limits<double>::infinity();
    return comparison;
  }

  void damage(FaultPlace place) override {
    const bool own_only = outcome_of(case_.collective) == Outcome::own_sum;
    const ElementRange elements = own_only ? encoding_.own_elements() : ElementRange{0, case_.count};
    const std::int64_t first_wire = own_only ? context_.communicator.rank() * part_bytes() : 0;
    // A part may be all padding; its first code stands in for an element then.
    const std::int64_t width = bytes_per_code(case_.format);
    const std::int64_t byte =
        elements.count == 0
            ? 0
            : encoding_.wire_of(elements.first + place_among(place, elements.count)) * width - first_wire;
    // One bit is seen by comparing hashes over the ranks. Where there is nothing to compare with, the fault
    // must be beyond any rounding: an upper byte of 0x7F is a NaN, or above 10^38.
    const bool hashes_differ = !own_only && context_.communicator.size() > 1;
    if (hashes_differ || case_.format == Format::int8) {
      flip_bit(result(), byte);
    } else {
      set_byte(result(), byte + width - 1, 0x7F);
    }
  }

  std::int64_t bytes() const override {
    return size(codec_->codes()) + size(part_) + (reduction_ ? reduction_->bytes() : 0);
  }

 private:
  std::int64_t part_bytes() const { return encoding_.bucket().shard_elements * bytes_per_code(case_.format); }
  Vector<std::uint8_t> own_codes() const {
    return slice(codec_->codes(), context_.communicator.rank() * part_bytes(), part_bytes());
  }

  CommCase case_;
  const SumEncoding& encoding_;
  CollectiveContext context_;
  DeviceCounters counters_;
  std::unique_ptr<BucketCodec> codec_;
  std::unique_ptr<BucketReduction> reduction_;  // of the exchange's reductions
  Vector<std::uint8_t> part_;                   // where MPI puts a rank's own part
};

class SumFactory final : public CollectiveFactory {
 public:
  SumFactory(const CommCase& wanted, const CollectiveContext& context)
      : case_(wanted), context_(context), encoding_(wanted, context.inputs, context.communicator) {}

  std::unique_ptr<Collective> make() override {
    return std::make_unique<SumCollective>(case_, encoding_, context_);
  }

  std::int64_t wire_bytes() const override {
    const std::int64_t ranks = context_.communicator.size();
    if (is_exchange_reduction(case_.collective)) return encoding_.plan().payload_wire_bytes();
    const std::int64_t bytes = encoding_.bucket().wire_elements * bytes_per_code(case_.format);
    return outcome_of(case_.collective) == Outcome::sum ? all_reduce_wire_bytes(ranks, bytes)
                                                        : reduce_scatter_wire_bytes(ranks, bytes);
  }

 private:
  CommCase case_;
  CollectiveContext context_;
  SumEncoding encoding_;
};

}  // namespace

std::unique_ptr<CollectiveFactory> make_sum_factory(const CommCase& wanted,
                                                    const CollectiveContext& context) {
  return std::make_unique<SumFactory>(wanted, context);
}

}  // namespace minigift
