#include "miniapp/report/memory.hpp"

#include "kernels/error.hpp"

#include <fstream>
#include <sstream>

namespace minigift {

ProcessMemory process_memory() {
  std::ifstream status("/proc/self/status");
  require(status.good(), "cannot read /proc/self/status: the memory of this process is unknown");
  ProcessMemory memory;
  std::string line;
  while (std::getline(status, line)) {
    std::istringstream words(line);
    std::string name;
    std::int64_t kibibytes = 0;
    if (!(words >> name >> kibibytes)) continue;
    if (name == "VmRSS:") memory.resident_bytes = kibibytes * 1024;
    if (name == "VmHWM:") memory.peak_resident_bytes = kibibytes * 1024;
  }
  require(memory.resident_bytes > 0 && memory.peak_resident_bytes > 0,
          "/proc/self/status names no VmRSS and VmHWM: the memory of this process is unknown");
  return memory;
}

bool reset_peak_memory() {
  std::ofstream control("/proc/self/clear_refs");
  control << "5";  // proc(5): resets VmHWM to the present size
  control.flush();
  return control.good();
}

}  // namespace minigift
