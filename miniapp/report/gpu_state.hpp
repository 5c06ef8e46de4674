#pragma once
// Clocks, power cap and driver of an NVIDIA GPU: what makes the same program faster or slower on the same
// chip.
//
// Read from the driver's own management library, libnvidia-ml, which is looked up at run time: it comes with
// the driver, so a build needs no such library and a machine without a driver reads nothing. Source: NVIDIA
// Management Library (NVML) API reference.

#include <nlohmann/json.hpp>

#include <string>

namespace minigift {

/// {driver, sm_clock_mhz, sm_clock_max_mhz, memory_clock_mhz, memory_clock_max_mhz, power_limit_watts} of the
/// GPU with this PCI id ("0000:19:00.0"), at this moment. A value that the driver does not tell is null;
/// without a driver the whole is null. `library`: its name, for tests.
nlohmann::ordered_json gpu_state(const std::string& pci_bus_id, const char* library = "libnvidia-ml.so.1");

}  // namespace minigift
