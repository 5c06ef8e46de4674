#include "miniapp/profile/gradient_profiler.hpp"

#include "kernels/error.hpp"
#include "kernels/format/scale.hpp"

namespace minigift {
namespace {

const char* const coordinates = "input-lowrank-32 p=1/4 tail";

std::string name_of_format(Format format) {
  require_usage(format == Format::e4m3 || format == Format::e5m2,
                "boundaries are counted in e4m3 or e5m2 only");
  return format == Format::e4m3 ? "e4m3" : "e5m2";
}

}  // namespace

GradientProfiler::GradientProfiler(Format format)
    : format_(format),
      study_({.transforms = {find_transform("euclidean"), find_transform(coordinates)},
              .formats = {round_trip_format(name_of_format(format))},
              .muon_formats = {}}) {}

float GradientProfiler::scale(float amax) const {
  return power_of_two_scale(amax, 1.0f, static_cast<float>(max_finite(format_)));
}

void GradientProfiler::count(LayerProfile& profile, const Vector<const float>& gradient, float scale) const {
  profile.add(boundary_counts(format_, gradient, scale));
}

void GradientProfiler::measure(LayerProfile& profile, const Matrix<const float>& w,
                               const LayerGeometry& geometry) {
  const std::string missing = missing_moment(find_transform(coordinates), geometry);
  require_usage(missing.empty(), "{}: {}", profile.tensor, missing);
  const auto rows = study_.run({.tensor = profile.tensor, .role = profile.role}, w, geometry);
  profile.add(rows.at(0), rows.at(1));
}

}  // namespace minigift
