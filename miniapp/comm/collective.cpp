#include "miniapp/comm/collective.hpp"

#include "kernels/device/stream.hpp"

#include <Kokkos_Core.hpp>

namespace minigift {

std::unique_ptr<CollectiveFactory> make_collective_factory(const CommCase& wanted,
                                                           const CollectiveContext& context) {
  if (outcome_of(wanted.collective) == Outcome::move) return make_move_factory(wanted, context);
  return make_sum_factory(wanted, context);
}

void flip_bit(const Vector<std::uint8_t>& bytes, std::int64_t index) {
  Kokkos::parallel_for(
      "minigift::comm_fault", range(1),
      KOKKOS_LAMBDA(std::int64_t) { bytes(index) = static_cast<std::uint8_t>(bytes(index) ^ 1u); });
}

void set_byte(const Vector<std::uint8_t>& bytes, std::int64_t index, std::uint8_t value) {
  Kokkos::parallel_for(
      "minigift::comm_fault", range(1), KOKKOS_LAMBDA(std::int64_t) { bytes(index) = value; });
}

std::int64_t place_among(FaultPlace place, std::int64_t count) {
  if (place == FaultPlace::first || count == 0) return 0;
  return place == FaultPlace::middle ? count / 2 : count - 1;
}

}  // namespace minigift
