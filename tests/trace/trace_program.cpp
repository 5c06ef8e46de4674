// What the program tests need: traces whole, damaged and never finished.
//   write FILE [deflate]     a small trace
//   other FILE               an HDF5 file that is no trace
//   version FILE             a trace of another schema version
//   endless FILE             writes steps until it is killed; says so first
//   sealing FILE             a trace of many small arrays; says so before finish()
//   change-float FILE | remove-array FILE | change-attribute FILE | change-loss FILE | add-array FILE
#include "kernels/error.hpp"
#include "miniapp/trace/hdf5_attribute.hpp"
#include "miniapp/trace/hdf5_file.hpp"
#include "miniapp/transport/kokkos_run.hpp"
#include "miniapp/transport/mpi_main.hpp"
#include "tests/trace/fixture.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace {

using namespace minigift;
using namespace minigift::test;

constexpr const char* gradient_path = "/steps/00000007/gradient/model.layers.0.mlp.up_proj.weight";

TraceWriterOptions options_of(bool deflate) {
  TraceWriterOptions options;
  options.deflate = deflate ? 1 : 0;
  options.shuffle = deflate;
  return options;
}

void write_small(const std::string& path, bool deflate, Communicator& communicator) {
  TraceHeader header = small_header(communicator.size(), communicator.size());
  TraceWriter writer(path, header, options_of(deflate), communicator);
  for (const std::int64_t step : {7, 50})
    write_step(writer, header, step, communicator.rank());
  writer.finish();
}

void say(const char* word) {
  fmt::print("{}\n", word);
  std::fflush(stdout);
}

void write_endless(const std::string& path, Communicator& communicator) {
  TraceHeader header = small_header(communicator.size(), communicator.size());
  header.tensors.push_back({"large", "mlp_down", 1, 700, 600, ""});
  TraceWriterOptions options;
  options.max_write_bytes = 100000;
  TraceWriter writer(path, header, options, communicator);
  if (communicator.rank() == 0) say("writing");
  for (std::int64_t step = 0; step < 100000; ++step)
    write_step(writer, header, step, communicator.rank());
}

void write_long_seal(const std::string& path, Communicator& communicator) {
  TraceHeader header = small_header(communicator.size(), communicator.size());
  header.content = {true, false, false, false};
  header.tensors.clear();
  for (int i = 0; i < 200; ++i)
    header.tensors.push_back({fmt::format("tensor.{}", i), "mlp_down", i, 3, 5, ""});
  TraceWriter writer(path, header, {}, communicator);
  for (std::int64_t step = 0; step < 5; ++step)
    write_step(writer, header, step, communicator.rank());
  if (communicator.rank() == 0) say("writing");
  writer.finish();
}

void write_other(const std::string& path) {
  silence_hdf5();
  Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  write_attribute({file.get(), {path, "/"}}, "complete", std::int64_t{1});
}

void change_attribute(const Hdf5Object& object, const char* name, double value) {
  check_hdf5(H5Adelete(object.id, name), "H5Adelete", object.place);
  write_attribute(object, name, std::vector<double>{value});
}

/// Adds `amount` to the last element of the first rank's gradient.
void change_element(hid_t file, const std::string& path, float amount) {
  const Hdf5Handle dataset = open_dataset(file, gradient_path, path);
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  const Hdf5Handle memory(H5Screate(H5S_SCALAR), H5Sclose);
  const hsize_t place[3] = {0, 36, 23};
  H5Sselect_elements(space.get(), H5S_SELECT_SET, 1, place);
  float element = 0.0f;
  check_hdf5(H5Dread(dataset.get(), H5T_NATIVE_FLOAT, memory.get(), space.get(), H5P_DEFAULT, &element),
             "H5Dread", {path});
  element = element == element + amount ? element * 1.5f : element + amount;
  check_hdf5(H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, memory.get(), space.get(), H5P_DEFAULT, &element),
             "H5Dwrite", {path});
}

void change(const std::string& what, const std::string& path) {
  const Hdf5Handle file = open_serial_file(path, Hdf5Access::change);
  if (what == "version") {
    check_hdf5(H5Adelete(file.get(), "schema_version"), "H5Adelete", {path});
    write_attribute({file.get(), {path, "/"}}, "schema_version", std::int64_t{99});
  }
  if (what == "change-float") change_element(file.get(), path, 1.0f);
  if (what == "remove-array")
    check_hdf5(H5Ldelete(file.get(), gradient_path, H5P_DEFAULT), "H5Ldelete", {path});
  if (what == "change-attribute") {
    const Hdf5Handle dataset = open_dataset(file.get(), gradient_path, path);
    change_attribute({dataset.get(), {path, gradient_path}}, "amax", 1.0);
  }
  if (what == "change-loss") {
    const Hdf5Handle group = open_group(file.get(), "/steps/00000050", path);
    change_attribute({group.get(), {path, "/steps/00000050"}}, "loss", 0.5);
  }
  if (what == "add-array") {
    const Hdf5Handle group(H5Gcreate2(file.get(), "/extra", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  }
}

int run(const std::string& mode, const std::string& path, bool deflate, char* program) {
  const KokkosRun kokkos(std::vector<char*>{program});
  CommunicatorOptions options;
  options.self_test = false;
  Communicator communicator(options);
  if (mode == "write") write_small(path, deflate, communicator);
  if (mode == "endless") write_endless(path, communicator);
  if (mode == "sealing") write_long_seal(path, communicator);
  return 0;
}

int change_or_fail(const std::string& mode, const std::string& path) {
  try {
    if (mode == "other") {
      write_other(path);
    } else {
      change(mode, path);
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "trace_program: {}\n", error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string mode = argv[1];
  const std::string path = argv[2];
  const bool writes = mode == "write" || mode == "endless" || mode == "sealing";
  if (!writes) return change_or_fail(mode, path);
  return minigift::mpi_main("minigift", argc, argv, [&](int) { return run(mode, path, argc > 3, argv[0]); });
}
