/// @file
/// A step without the model: it computes for the same time, and its gradients become ready at the
/// same times.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <tutti/gradient_sync.hpp>

#include "perf/gradients/model.hpp"
#include "perf/gradients/work.hpp"

namespace tutti::perf {

/// How a step reduces gradients.
enum class StepKind {
  computing,  ///< It does not.
  serial,     ///< It starts when all gradients are computed.
  overlapped  ///< It starts with each gradient as soon as that is computed.
};

/// The gradients of a model on this rank, and one GradientSync for each setting.
class Replay {
 public:
  /// Collective. Throws Error{invalid_argument} on all ranks if a setting is impossible. @param
  /// model with times; must outlive this object.
  Replay(Communicator& world, const Model& model, const GradientsOptions& options);

  /// Runs a step to its end. Collective. @param setting index; ignored for computing. @return the
  /// time of this rank.
  [[nodiscard]] double step(StepKind kind, std::size_t setting);

  /// @return seconds at which each gradient was ready in the last step of kind computing.
  [[nodiscard]] std::span<const double> ready_s() const noexcept { return ready_s_; }
  /// @return the GradientSync of a setting.
  [[nodiscard]] const GradientSync& sync(std::size_t setting) const { return syncs_[setting]; }

 private:
  [[nodiscard]] std::vector<Parameter> parameters_for(GradientStorage storage);
  void fill(std::size_t setting);

  Communicator& world_;
  const Model& model_;
  const GradientsOptions& options_;
  Work work_;
  std::vector<std::size_t> arrivals_;
  std::vector<std::byte> memory_;     // gradients of the settings whose storage is not views
  std::vector<std::size_t> offsets_;  // of tensors in memory_
  std::vector<double> ready_s_;
  std::vector<GradientSync> syncs_;
};

/// @return the approximate bytes that a rank needs for all settings.
[[nodiscard]] double bytes_needed(const Model& model, std::span<const GradientSetting> settings);

}  // namespace tutti::perf
