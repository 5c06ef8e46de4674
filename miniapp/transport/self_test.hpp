#pragma once
// Does this MPI library compute what it should? Non-blocking collectives have been wrong in released
// versions, for some algorithms and therefore for some sizes only.

namespace minigift {

class Communicator;

/// Runs every operation on a few sizes, non-blocking and all in flight together, and compares each element
/// with a value computed locally; and checks that a sum with rounding has the same bits on all ranks.
/// Collective. Throws RuntimeError, on every rank, that names operation, size, element and MPI library.
void self_test(Communicator& communicator);

}  // namespace minigift
