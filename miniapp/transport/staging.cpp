#include "miniapp/transport/staging.hpp"

namespace minigift {

const char* name(Staging staging) {
  return staging == Staging::host ? "host" : "direct";
}

}  // namespace minigift
