/// @file
/// PeriodicSync: ranks train by themselves for some steps, and then average their weights.
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

/// An optimizer whose gradient is the mean movement of the weights: descent with momentum, as in
/// DiLoCo (Douillard et al., "DiLoCo", 2023).
struct OuterOptimizer {
  double rate = 0.7;      ///< The share of the mean movement that moves weights; above 0.
  double momentum = 0.9;  ///< The share of the last movement that is added; 0 .. 1, without 1.
  bool nesterov = true;   ///< Whether movements look one step ahead (Nesterov, 1983).
};

/// The options of a PeriodicSync. Equal on all ranks.
struct PeriodicOptions {
  /// The number of steps from one exchange of weights to the next, 1 or more.
  int period = 1;
  /// None: weights become the mean of all ranks' (local SGD: Stich, ICLR 2019).
  std::optional<OuterOptimizer> outer{};
  /// The reduction of movements: sizes of buckets, compression, in_flight, algorithm, timeout,
  /// check_finite. Order and storage are PeriodicSync's own, and movements are averaged.
  GradientOptions exchange{};
};

/// Makes the weights of ranks equal every `period` steps, so that ranks far apart need not exchange
/// gradients in every step. Ranks exchange the movement of their weights since the last exchange,
/// so compression loses little. Ranks of a host may still reduce gradients in each step, by a
/// GradientSync over a part of the world.
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

  /// Called after each update of the own weights. Collective every `period`th time: all ranks must
  /// have called it equally often. @return whether weights were exchanged, and are equal now.
  /// Throws Error as GradientSync::wait; weights are those of the own rank then.
  bool step();
  /// Exchanges weights now, as at the end of training; the period begins anew. Collective. Throws
  /// as step.
  void exchange_now();
  /// @return the report of the last exchange.
  [[nodiscard]] const StepReport& last_exchange() const noexcept { return sync_.last_step(); }
  /// @return the GradientSync of movements, for save_checkpoint: with compression, it keeps the
  /// elements that were left out. It must not be used for anything else.
  [[nodiscard]] GradientSync& exchange() noexcept { return sync_; }
  /// @return the arrays to save and load beside weights, so that a run continues with the same bits
  /// after an exchange: copies and momentum, by name. Equal on all ranks after an exchange.
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
