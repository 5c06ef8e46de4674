#include "miniapp/profile/profile_observer.hpp"

#include "kernels/device/memory.hpp"
#include "kernels/format/quantize.hpp"
#include "kernels/slice.hpp"

#include <memory>

namespace minigift {
namespace {

std::vector<std::int64_t> site_widths(const std::vector<int>& tensors, const ParameterRegistry& registry) {
  std::vector<std::int64_t> widths(registry.input_sites().size(), 0);
  for (const int tensor : tensors) {
    const auto site = static_cast<std::size_t>(registry[tensor].input_site);
    widths[site] = registry.input_sites()[site].width;
  }
  return widths;
}

Method sketching() {
  Method method;
  method.coordinates = CoordinateSystem::input_low_rank;
  return method;
}

/// x <- factor x.
void multiply(const Vector<float>& x, float factor) {
  Kokkos::parallel_for(
      "minigift::multiply", range(size(x)), KOKKOS_LAMBDA(const std::int64_t i) { x(i) *= factor; });
}

}  // namespace

ProfileObserver::ProfileObserver(Format format, std::int64_t measure_every, const std::vector<int>& tensors,
                                 const ParameterRegistry& registry, const Vector<float>& gradients,
                                 std::uint64_t seed, Communicator& communicator)
    : profiler_(format),
      measure_every_(measure_every),
      tensors_(tensors),
      tensor_index_(static_cast<std::size_t>(registry.size()), -1),
      registry_(registry),
      gradients_(gradients),
      communicator_(communicator),
      sketches_(sketching(), site_widths(tensors, registry), seed) {
  std::int64_t total = 0;
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    const Parameter& parameter = registry[tensors_[t]];
    tensor_index_[static_cast<std::size_t>(tensors_[t])] = static_cast<int>(t);
    offsets_.push_back(total);
    total += parameter.size();
    profiles_.push_back({.tensor = parameter.name,
                         .role = std::string(name(parameter.role)),
                         .layer = parameter.layer,
                         .size = parameter.size()});
  }
  copies_ = Vector<float>("minigift::profiled_gradients", static_cast<std::size_t>(total));
}

bool ProfileObserver::begin_step(std::int64_t step) {
  measuring_ = (step - 1) % measure_every_ == 0;
  return true;
}

Vector<float> ProfileObserver::local(std::size_t tensor) const {
  return slice(copies_, offsets_[tensor], registry_[tensors_[tensor]].size());
}

void ProfileObserver::gradient_ready(int parameter) {
  const int tensor = tensor_index_[static_cast<std::size_t>(parameter)];
  if (tensor < 0) return;
  const Parameter& p = registry_[parameter];
  copy(local(static_cast<std::size_t>(tensor)), slice(gradients_, p.offset, p.size()));
}

void ProfileObserver::end_step(const ObservedStep& /*step*/) {
  count_boundaries();
  if (!measuring_) return;
  measure_gain();
  // The directions found make the next sketch nearly exact; a random one is up to 8 % worse
  // (kernels/geometry).
  if (sketches_.finite()) {
    sketches_.reset_warm();
  } else {
    sketches_.reset();
  }
}

void ProfileObserver::count_boundaries() {
  const auto count = static_cast<std::int64_t>(tensors_.size());
  std::vector<Tile> list;
  for (std::size_t t = 0; t < tensors_.size(); ++t)
    append_tiles(list, offsets_[t], offsets_[t], registry_[tensors_[t]].size(), static_cast<std::int64_t>(t));
  const Vector<float> amax("minigift::profile_amax", tensors_.size());
  group_amax(copies_, make_tiles(list, size(copies_), size(copies_), count), amax);
  communicator_.all_reduce_max(amax).wait();
  communicator_.synchronize();
  const HostVector<float> largest = on_host(amax);

  // One row of shares per tensor, summed over the ranks together.
  const HostMatrix<double> mine("minigift::profile_shares", tensors_.size(), 5);
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    LayerProfile one;
    profiler_.count(one, local(t), profiler_.scale(largest(t)));
    const double values[] = {one.upper, one.flushed, one.subnormal, one.least,
                             static_cast<double>(one.samples)};
    for (std::size_t v = 0; v < 5; ++v)
      mine(t, v) = values[v];
  }
  const Matrix<double> sums("minigift::profile_shares", mine.extent(0), mine.extent(1));
  copy(sums, mine);
  communicator_.all_reduce_sum(flatten(sums)).wait();
  communicator_.synchronize();
  const HostMatrix<double> all = on_host(sums);
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    LayerProfile& profile = profiles_[t];
    profile.upper += all(t, 0);
    profile.flushed += all(t, 1);
    profile.subnormal += all(t, 2);
    profile.least += all(t, 3);
    profile.samples += static_cast<std::int64_t>(all(t, 4));
  }
}

void ProfileObserver::measure_gain() {
  sketches_.all_reduce(communicator_);
  communicator_.all_reduce_sum(copies_).wait();
  communicator_.synchronize();
  multiply(copies_, 1.0f / static_cast<float>(communicator_.size()));
  std::shared_ptr<SketchGeometry> sketch;
  int held = -1;
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    const Parameter& parameter = registry_[tensors_[t]];
    if (parameter.input_site != held) {
      held = parameter.input_site;
      sketch = std::make_shared<SketchGeometry>(
          SketchGeometry{sketches_.sketch(held), sketches_.test_matrix(held)});
    }
    LayerGeometry geometry;
    geometry.sketch = sketch;
    profiler_.measure(profiles_[t], slice(copies_, offsets_[t], parameter.rows, parameter.columns), geometry);
  }
}

}  // namespace minigift
