#pragma once
// Which gradients travel together, in which order, and where every element lies on the wire.
//
// Backward finishes gradients from the last parameter to the first, so buckets are contiguous ranges of the
// flat gradient buffer taken from its end; a tensor is never split between buckets. On the wire the tensors
// of a bucket follow one another without the alignment gaps of the gradient buffer:
//
//   gradient buffer  |  t0 .. |  t1 ......... |  t2 ..... |       source = offset from the bucket's first
//                                                                 element
//   wire             |t0..|t1.........|t2.....|0000|              wire_elements = N * shard_elements
//   with owners      |shard 0    |scales|shard 1    |scales| ...  one message per shard: a2a, hierarchical
//
// A scale group is a range of the wire that shares one scale: a tensor, a row, or a block of `scale_block`
// elements (a block never reaches into the next tensor: every tensor's slot is padded to whole blocks). For
// the reductions "a2a" and "hierarchical" groups are also cut where a shard ends, so that the shard's owner
// decodes with the scales it received alone.

#include "kernels/format/format.hpp"
#include "kernels/format/tiles.hpp"
#include "kernels/view.hpp"
#include "miniapp/exchange/method.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace minigift {

/// One tensor of the flat gradient buffer. Sizes and offsets in elements; a vector has one row.
struct TensorExtent {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t offset = 0;
  std::int64_t size() const { return rows * columns; }
};

/// A run of tiles [begin, end).
struct TileRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct Bucket {
  std::vector<int> tensors;          ///< indices of the tensors, ascending
  std::int64_t gradient_offset = 0;  ///< first element in the flat gradient buffer
  std::int64_t gradient_size = 0;    ///< elements from the first tensor's start to the last one's end
  std::int64_t elements = 0;         ///< elements of the tensors themselves, without any padding

  std::int64_t wire_elements = 0;   ///< codes on the wire, padding included: N * shard_elements
  std::int64_t shard_elements = 0;  ///< codes of one rank's shard
  std::int64_t message_bytes = 0;   ///< not native: codes of one shard and its scales

  std::int64_t code_elements = 0;  ///< length of the code buffer in codes; scales in it count as codes

  std::int64_t groups = 0;                      ///< scale groups
  std::int64_t groups_per_shard = 0;            ///< not native: the largest number of groups in a shard
  std::vector<int> group_tensor;                ///< (groups) tensor a group belongs to
  std::vector<std::int64_t> shard_first_group;  ///< (N + 1) groups of shard s are [s, s+1)
  std::vector<TileRange> tensor_tiles;          ///< tiles of tensors[i]
  std::vector<Tile> host_tiles;
  Tiles tiles;  ///< the same in the memory space of the kernels

  /// Some of the host tiles in the memory space of the kernels, checked against the extents above.
  Tiles make_tiles_for(const std::vector<Tile>& some) const;
};

class BucketPlan {
 public:
  /// `tensors` in ascending offset; `bucket_bytes` of FP32 gradient that fill a bucket (a larger tensor is a
  /// bucket of its own); `ranks_per_node` on this rank's node, 0 all: the layout does not depend on it.
  /// Throws UsageError if the extents overlap, the method's block does not fit a tile, or nodes are not whole
  /// where the method is hierarchical.
  BucketPlan(const std::vector<TensorExtent>& tensors, const Method& method, int ranks,
             std::int64_t bucket_bytes, int ranks_per_node = 0);

  /// In order of sending: the bucket with the last parameters first.
  const std::vector<Bucket>& buckets() const { return buckets_; }
  /// Bucket of a tensor.
  int bucket_of(int tensor) const { return bucket_of_[static_cast<std::size_t>(tensor)]; }

  /// Bytes that one rank hands to the network per step, as a closed form of the plan:
  ///   native        2 (N-1)/N * wire_elements * bytes per code
  ///   a2a           2 (N-1) * message_bytes
  ///   hierarchical  2 ((L-1) M + M-1) * message_bytes, which is as much; L ranks on each of M nodes
  std::int64_t payload_wire_bytes() const;
  /// Those of them that leave the node:
  ///   native        all, from the last rank of a node, if the ranks of a node follow one another; from its
  ///                 others none
  ///   a2a           2 (N-L) * message_bytes
  ///   hierarchical  2 (M-1) * message_bytes
  std::int64_t wire_bytes_between_nodes() const;
  /// Bytes of one encoded gradient, scales included.
  std::int64_t payload_bytes() const;
  /// Differs if any rank would send anything else, or in another order.
  std::uint64_t hash() const;

 private:
  void lay_out(Bucket& bucket, const std::vector<TensorExtent>& tensors) const;

  Method method_;
  int ranks_;
  int ranks_per_node_;
  std::vector<Bucket> buckets_;
  std::vector<int> bucket_of_;
};

}  // namespace minigift
