#include "miniapp/report/wait.hpp"

#include <thread>

namespace minigift {

void wait_until(std::chrono::steady_clock::time_point deadline) {
  constexpr std::chrono::microseconds lateness(100);
  if (deadline - std::chrono::steady_clock::now() > lateness)
    std::this_thread::sleep_until(deadline - lateness);
  while (std::chrono::steady_clock::now() < deadline) {
  }
}

void wait_for(double seconds) {
  wait_until(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                 std::chrono::duration<double>(seconds)));
}

}  // namespace minigift
