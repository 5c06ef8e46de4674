#pragma once
// One collective on one set of buffers: prepared, run inside the timed region, and looked at afterwards.

#include "kernels/view.hpp"
#include "miniapp/comm/case.hpp"
#include "miniapp/comm/inputs.hpp"
#include "miniapp/comm/plain_mpi.hpp"
#include "miniapp/deck/inject_deck.hpp"
#include "miniapp/exchange/node_groups.hpp"
#include "miniapp/transport/communicator.hpp"

#include <cstdint>
#include <memory>

namespace minigift {

/// A result against what it should be, on this rank.
struct Comparison {
  /// Sums: max over elements of (|error| - absolute part of the bound) / sum of magnitudes, not below 0;
  /// infinite if a result is not finite. Moves: the share of bytes that are wrong.
  double error = 0;
  double bound = 0;  ///< what error may be; 0 for moves
};

class Collective {
 public:
  virtual ~Collective() = default;
  /// Puts the inputs in place, all signs changed if `negated`, and leaves nothing of an earlier result.
  virtual void prepare(bool negated) = 0;
  /// The collective, from start to end; the host may then still have to synchronize() the communicator.
  virtual void run() = 0;
  /// The bytes that are hashed: the same on all ranks, or this rank's own.
  virtual Vector<std::uint8_t> result() const = 0;
  /// Compares every element that this rank answers for; over all ranks that is all of them, if the hashes of
  /// a result that all ranks hold agree.
  virtual Comparison compare(bool negated) = 0;
  /// Changes one element of result(): where hashes are compared over the ranks, by its lowest bit alone.
  virtual void damage(FaultPlace place) = 0;
  /// Memory that a run touches [B].
  virtual std::int64_t bytes() const = 0;
};

/// What all sets of buffers of a row share.
class CollectiveFactory {
 public:
  virtual ~CollectiveFactory() = default;
  virtual std::unique_ptr<Collective> make() = 0;
  /// Bytes that one rank sends, as a closed form.
  virtual std::int64_t wire_bytes() const = 0;
};

/// What a factory works with; everything must outlive it.
struct CollectiveContext {
  GradientInputs& inputs;
  Communicator& communicator;
  const PlainMpi& plain_mpi;
  NodeGroups* groups = nullptr;  ///< for the hierarchical sum
};

/// Collective over all ranks: gathers scales.
std::unique_ptr<CollectiveFactory> make_collective_factory(const CommCase& wanted,
                                                           const CollectiveContext& context);
std::unique_ptr<CollectiveFactory> make_sum_factory(const CommCase& wanted, const CollectiveContext& context);
std::unique_ptr<CollectiveFactory> make_move_factory(const CommCase& wanted,
                                                     const CollectiveContext& context);

/// Changes the lowest bit of bytes(index).
void flip_bit(const Vector<std::uint8_t>& bytes, std::int64_t index);
/// bytes(index) <- value
void set_byte(const Vector<std::uint8_t>& bytes, std::int64_t index, std::uint8_t value);
/// First, middle or last of `count`.
std::int64_t place_among(FaultPlace place, std::int64_t count);

}  // namespace minigift
