/// @file
/// The state that a GradientSync keeps from step to step, in the form of checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <tutti/export.hpp>
#include <tutti/gradient_sync.hpp>

namespace tutti::v0::detail {

/// Elements of a parameter, or of the state of one.
struct ParameterElements {
  std::size_t parameter = 0;    ///< Its index.
  std::size_t first = 0;        ///< The index of the first element in the parameter.
  std::span<float> elements{};  ///< Their values may be replaced between steps.
};

/// The whole state.
struct KeptState {
  std::uint64_t step = 0;            ///< The number of steps so far.
  std::vector<std::size_t> order{};  ///< The order of parameters; empty while it is observed.
  std::uint64_t compression = 0;     ///< A hash of GradientOptions::compression.
  bool is_average = true;            ///< As GradientOptions::average.
  bool has_gradients = false;        ///< Whether there are `gradients`; equal on all ranks.
  bool has_sums = false;             ///< Whether there are `sums`; equal on all ranks.
  std::vector<ParameterElements> gradients{};  ///< As of KeptElements::Role, and so the next.
  std::vector<ParameterElements> sums{};
  std::vector<ParameterElements> factors{};
};

/// A call of a GradientSync that saves or loads its state. There is one call at a time.
class TUTTI_API SyncAccess {
 public:
  /// Throws Error{invalid_argument} as each call of a GradientSync.
  explicit SyncAccess(const GradientSync& sync);
  SyncAccess(const SyncAccess&) = delete;
  SyncAccess& operator=(const SyncAccess&) = delete;
  ~SyncAccess();

  /// @return all parameters. Parameters that are tied to others have no elements.
  [[nodiscard]] std::vector<Parameter> parameters() const;
  [[nodiscard]] const Communicator& world() const noexcept;
  [[nodiscard]] bool has_groups() const noexcept;
  /// Throws Error{invalid_argument} within a step. @param call for the text.
  void check_between_steps(const char* call) const;
  [[nodiscard]] KeptState kept() const;
  /// Collective. Continues with `step` + 1, without errors of earlier steps.
  /// @param order of parameters, if it is not known yet.
  void restore(std::uint64_t step, std::span<const std::size_t> order) const;

 private:
  struct Call;
  std::unique_ptr<Call> call_;
};

}  // namespace tutti::v0::detail
