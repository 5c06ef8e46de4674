#include "miniapp/report/gpu_state.hpp"

#include <array>
#include <dlfcn.h>
#include <memory>

namespace minigift {
namespace {

// The part of NVML's binary interface that is used. It has been stable since 2013; the suffixes are its
// versions.
using Device = struct nvmlDevice_st*;
using Status = int;
constexpr Status success = 0;
enum ClockType : int { sm_clock = 1, memory_clock = 2 };

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};

class ManagementLibrary {
 public:
  explicit ManagementLibrary(const char* name) : library_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    started_ = library_ && call("nvmlInit_v2");
  }
  ~ManagementLibrary() {
    if (started_) call("nvmlShutdown");
  }
  ManagementLibrary(const ManagementLibrary&) = delete;
  ManagementLibrary& operator=(const ManagementLibrary&) = delete;

  bool started() const { return started_; }

  /// Calls a function of this name; false if it does not exist or fails.
  template <class... Args>
  bool call(const char* name, Args... args) const {
    auto* const function = reinterpret_cast<Status (*)(Args...)>(dlsym(library_.get(), name));
    return function != nullptr && function(args...) == success;
  }

 private:
  std::unique_ptr<void, CloseLibrary> library_;
  bool started_ = false;
};

}  // namespace

nlohmann::ordered_json gpu_state(const std::string& pci_bus_id, const char* library_name) {
  const ManagementLibrary library(library_name);
  Device device = nullptr;
  if (!library.started() || !library.call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &device))
    return nullptr;

  nlohmann::ordered_json state;
  std::array<char, 96> driver{};
  const bool named =
      library.call("nvmlSystemGetDriverVersion", driver.data(), static_cast<unsigned>(driver.size() - 1));
  state["driver"] = named ? nlohmann::ordered_json(driver.data()) : nlohmann::ordered_json(nullptr);

  const auto clock = [&](const char* function, ClockType type) -> nlohmann::ordered_json {
    unsigned megahertz = 0;
    if (!library.call(function, device, static_cast<int>(type), &megahertz)) return nullptr;
    return megahertz;
  };
  state["sm_clock_mhz"] = clock("nvmlDeviceGetClockInfo", sm_clock);
  state["sm_clock_max_mhz"] = clock("nvmlDeviceGetMaxClockInfo", sm_clock);
  state["memory_clock_mhz"] = clock("nvmlDeviceGetClockInfo", memory_clock);
  state["memory_clock_max_mhz"] = clock("nvmlDeviceGetMaxClockInfo", memory_clock);

  unsigned milliwatts = 0;
  const bool capped = library.call("nvmlDeviceGetEnforcedPowerLimit", device, &milliwatts);
  state["power_limit_watts"] =
      capped ? nlohmann::ordered_json(1e-3 * milliwatts) : nlohmann::ordered_json(nullptr);
  return state;
}

}  // namespace minigift
