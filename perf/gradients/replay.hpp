/// @file
/// A step of a model without the model: it computes for as long, and its gradients are ready when
/// they would be.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <tutti/gradient_sync.hpp>

#include "perf/gradients/model.hpp"
#include "perf/gradients/work.hpp"

namespace tutti::perf {

/// What a step does about gradients.
enum class StepKind {
  computing,  ///< Nothing.
  serial,     ///< Says that they are ready when all are computed.
  overlapped  ///< Says so of each as soon as it is.
};

/// The gradients of a model on this rank, and a GradientSync of them for each setting.
class Replay {
 public:
  /// Collective. Throws Error{invalid_argument} on all ranks alike for a setting that cannot be.
  /// @param world the ranks. @param model with times; it must live. @param options see there.
  Replay(Communicator& world, const Model& model, const GradientsOptions& options);

  /// Runs a step and waits for its end. Collective. @param kind what of. @param setting which; none
  /// of them counts for computing. @return how long this rank took.
  [[nodiscard]] double step(StepKind kind, std::size_t setting);

  /// @return of the last step of kind computing: when each gradient was ready, in seconds.
  [[nodiscard]] std::span<const double> ready_s() const noexcept { return ready_s_; }
  /// @return what reduces its gradients.
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
  std::vector<std::size_t> offsets_;  // of tensors in it
  std::vector<double> ready_s_;
  std::vector<GradientSync> syncs_;
};

/// @param model what is replayed. @param settings all. @return bytes that a rank needs for them, by
/// and large.
[[nodiscard]] double bytes_needed(const Model& model, std::span<const GradientSetting> settings);

}  // namespace tutti::perf
