/// @file
/// PeriodicSync: ranks train by themselves for some steps, and then combine their weights.
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

/// An optimizer that uses the mean movement of the weights as a gradient: descent with momentum, as
/// in DiLoCo (Douillard et al., "DiLoCo", 2023).
struct OuterOptimizer {
  double rate = 0.7;      ///< Factor of the mean movement; above 0.
  double momentum = 0.9;  ///< Factor of the last movement; 0 .. 1, without 1.
  bool nesterov = true;   ///< Whether movements look one step ahead (Nesterov, 1983).
};

/// Options of PeriodicSync. Equal on all ranks.
struct PeriodicOptions {
  /// Steps between two exchanges, 1 or more.
  int period = 1;
  /// None: weights become the mean of all ranks' (local SGD: Stich, ICLR 2019).
  std::optional<OuterOptimizer> outer{};
  /// How movements are reduced: sizes of buckets, compression, in_flight, algorithm, timeout,
  /// check_finite. PeriodicSync sets order and storage itself, and averages movements.
  GradientOptions exchange{};
};

/// Makes the weights of ranks equal every `period` steps, so that ranks far apart need not exchange
/// gradients in every step. Ranks exchange the movement of their weights since the last exchange,
/// so compression loses little. Ranks of a host may still exchange gradients in each step, by a
/// GradientSync over a part of the world.
///
/// It keeps a copy of the weights, and one more with an outer optimizer that has momentum. One
/// thread at a time: a call while another thread is in one is Error{invalid_argument}, and does not
/// disturb that one. Move-only.
class TUTTI_API PeriodicSync {
 public:
  /// Collective.
  /// @param weights f16, bf16, f32 or f64, equal on all ranks except data; they must live. The
  /// weights of rank 0 replace those of other ranks. Throws Error as GradientSync.
  PeriodicSync(Communicator& world, std::span<const Parameter> weights,
               const PeriodicOptions& options = {});

  /// Call after each update of the own weights. Collective every `period`th time: ranks must have
  /// taken equally many steps. @return whether weights were exchanged, and weights are equal now.
  /// Throws Error as GradientSync::wait; the weights are then those of the own rank.
  bool step();
  /// Exchanges weights at once, for example at the end of training; the period starts anew.
  /// Collective. Throws as step.
  void exchange_now();
  /// @return the report of the last exchange.
  [[nodiscard]] const StepReport& last_exchange() const noexcept { return sync_.last_step(); }
  /// @return the GradientSync of movements, for save_checkpoint only: with compression, it has the
  /// omitted part.
  [[nodiscard]] GradientSync& exchange() noexcept { return sync_; }
  /// @return the arrays to save and load beside weights, so that a run continues from a exchange
  /// with the same bits: copies and momentum, by name. Equal on all ranks after a exchange.
  [[nodiscard]] std::vector<Parameter> state();

 private:
  void exchange_weights();
  std::vector<Parameter> weights_;
  PeriodicOptions options_;
  GradientSync sync_;
  std::vector<std::vector<std::byte>> copies_{};    // weights as they last were equal
  std::vector<std::vector<std::byte>> momentum_{};  // of the outer optimizer
  int own_steps_ = 0;
  detail::Occupancy occupancy_{};
};

}  // namespace tutti::v0
