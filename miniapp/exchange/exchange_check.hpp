#pragma once
// The exchanged gradient against an FP64 sum of the same local gradients, and the replicas against each
// other. Measurements, outside the timed phases: the region "check" is no part of a step.

#include "kernels/view.hpp"
#include "miniapp/model/parameter_registry.hpp"
#include "miniapp/transport/communicator.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace minigift {

/// Of the whole gradient, the same on all ranks.
struct ExchangeError {
  double relative_l2 = 0.0;  ///< ||w' - w|| / ||w||, w the FP64 mean of the local gradients
  double cosine = 0.0;       ///< <w', w> / (||w'|| ||w||)
  double maximum = 0.0;      ///< max |w' - w|
};

class ExchangeCheck {
 public:
  /// `gradients` is the flat buffer described by `registry`. Allocates one copy of it on first use.
  ExchangeCheck(const ParameterRegistry& registry, const Vector<float>& gradients,
                Communicator& communicator);

  /// Keeps a tensor's local gradient, before the exchange may touch it.
  void capture(int tensor);
  /// After the exchange; every tensor must have been captured. Collective. Where replicas differ, the largest
  /// error of any rank.
  ExchangeError compare();

 private:
  const ParameterRegistry& registry_;
  Vector<float> gradients_;
  Communicator& communicator_;
  Vector<float> local_;
};

/// Whether all ranks hold the same bits, and how far apart they are if not.
struct ReplicaState {
  bool identical = true;
  std::uint64_t hash = 0;  ///< of rank 0
};

/// The 64-bit content hash of each rank's array, as 16 hexadecimal digits, in rank order. Collective.
std::vector<std::string> gather_hashes(const Vector<const float>& values, Communicator& communicator);

/// Compares 64-bit content hashes of the array over the ranks. Collective, 8 bytes per rank.
ReplicaState compare_replicas(const Vector<const float>& values, Communicator& communicator);

/// max over ranks of ||v_r - mean|| / ||mean||. Collective, FP64 sum of the whole array.
double replica_divergence(const Vector<const float>& values, Communicator& communicator);

}  // namespace minigift
