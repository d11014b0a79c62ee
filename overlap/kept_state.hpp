/// @file
/// The state that a GradientSync keeps from step to step, as checkpoints hold it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tutti/gradient_sync.hpp>

namespace tutti::v0::detail {

/// Elements of a parameter, or of what belongs to one.
struct KeptPart {
  std::size_t parameter = 0;    ///< Its index.
  std::size_t first = 0;        ///< Of its elements the first one.
  std::span<float> elements{};  ///< They, which may be replaced between steps.
};

/// All of it.
struct KeptState {
  std::uint64_t step = 0;            ///< Steps that were taken.
  std::vector<std::size_t> order{};  ///< Of parameters; none as long as it is observed.
  std::uint64_t compression = 0;     ///< A hash of GradientOptions::compression.
  bool is_average = true;            ///< As GradientOptions::average.
  bool has_gradients = false;  ///< Whether some are left out; equal on all ranks, as the next.
  bool has_sums = false;       ///< Whether something is left out of sums.
  std::vector<KeptPart> gradients{};  ///< As of KeptElements::Kind, and so the next.
  std::vector<KeptPart> sums{};
  std::vector<KeptPart> factors{};
};

/// Opens a GradientSync to functions that save and load it.
struct SyncAccess {
  /// @param sync any, of a complete State. @return a call of it, of which there is one at a time.
  template <class Sync>
  [[nodiscard]] static auto call(Sync& sync) {
    return typename Sync::State::Call{sync.state_};
  }
};

}  // namespace tutti::v0::detail
