// A management library with one GPU at 0000:01:00.0, for the test of gpu_state: some calls answer, one
// fails.
#include <cstring>

extern "C" {

struct nvmlDevice_st {
  int unused;
};
static nvmlDevice_st the_device;

int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, nvmlDevice_st** device) {
  if (std::strcmp(id, "0000:01:00.0") != 0) return 6;  // not found
  *device = &the_device;
  return 0;
}
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::strncpy(text, "580.1", length);
  return 0;
}
int nvmlDeviceGetClockInfo(nvmlDevice_st*, int type, unsigned* megahertz) {
  *megahertz = type == 1 ? 345 : 2619;  // 1: SM, 2: memory
  return 0;
}
int nvmlDeviceGetMaxClockInfo(nvmlDevice_st*, int, unsigned*) {
  return 3;  // not supported
}
int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_st*, unsigned* milliwatts) {
  *milliwatts = 650500;
  return 0;
}
}  // extern "C"
