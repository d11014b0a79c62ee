/// @file
/// PeriodicSync: ranks train by themselves for some steps, and then bring their weights together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/export.hpp>
#include <tutti/gradient_sync.hpp>
#include <tutti/spi/occupancy.hpp>

namespace tutti::v0 {

/// An optimizer that takes what ranks have moved their weights by for a gradient: descent with
/// momentum, as DiLoCo has it (Douillard et al., "DiLoCo", 2023).
struct OuterOptimizer {
  double rate = 0.7;      ///< By which share of the mean movement weights are moved; above 0.
  double momentum = 0.9;  ///< 0 .. 1, without 1. Which share of the last movement goes on.
  bool nesterov = true;   ///< Whether movements look one step ahead (Nesterov, 1983).
};

/// How PeriodicSync works. Equal on all ranks.
struct PeriodicOptions {
  /// Steps that ranks take by themselves before they meet, 1 or more.
  int period = 1;
  /// None: weights become the mean of all ranks' (local SGD: Stich, ICLR 2019).
  std::optional<OuterOptimizer> outer{};
  /// How movements are reduced: sizes of buckets, compression, in_flight, algorithm, timeout,
  /// check_finite. Order and storage are PeriodicSync's own, and movements are averaged.
  GradientOptions exchange{};
};

/// Makes the weights of ranks equal every so many steps, so that ranks far apart need not exchange
/// gradients in every step. What ranks tell each other is by how much their weights have moved
/// since they last were equal, so compression loses little of them. Ranks of a host may exchange
/// gradients in each step all the same, by a GradientSync over a part of the world.
///
/// Keeps a copy of the weights, and one more with an outer optimizer that has momentum. One thread
/// at a time: a call that comes while another thread is in one is Error{invalid_argument}, and does
/// not touch that one. Move-only.
class TUTTI_API PeriodicSync {
 public:
  /// Collective. @param world whose ranks take part. @param weights f16, bf16, f32 or f64, equal on
  /// all ranks but for data; they must live. Those of rank 0 replace those of others.
  /// @param options see PeriodicOptions. Throws Error as GradientSync does.
  PeriodicSync(Communicator& world, std::span<const Parameter> weights,
               const PeriodicOptions& options = {});

  /// After each update of the own weights. Collective every `period`th time: ranks must have taken
  /// equally many steps. @return whether ranks have met, and weights are equal now. Throws Error as
  /// GradientSync::wait; weights are those of the own rank then.
  bool step();
  /// Meets at once, as at the end of training; the period begins anew. Collective. Throws as step.
  void meet();
  /// @return how the last meeting went.
  [[nodiscard]] const StepReport& last_meeting() const noexcept { return sync_.last_step(); }
  /// @return what reduces movements, for save_checkpoint: with compression, what was left out of
  /// them is kept there. It must not be used for anything else.
  [[nodiscard]] GradientSync& exchange() noexcept { return sync_; }
  /// @return what has to be saved beside weights, and loaded, for a run to go on with the same
  /// bits from a meeting: copies and momentum, by name. Equal on all ranks there.
  [[nodiscard]] std::vector<Parameter> state();

 private:
  void meet_others();
  std::vector<Parameter> weights_;
  PeriodicOptions options_;
  GradientSync sync_;
  std::vector<std::vector<std::byte>> copies_{};    // weights as they last were equal
  std::vector<std::vector<std::byte>> momentum_{};  // of the outer optimizer
  int own_steps_ = 0;
  detail::Occupancy occupancy_{};
};

}  // namespace tutti::v0
