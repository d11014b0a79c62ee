/// @file
/// Mock-ups: other calls that do what one collective does. A collective that is slower than one of
/// them breaks a performance guideline (Traeff, Gropp, Thakur, "Self-consistent MPI performance
/// guidelines", IEEE TPDS 21(5), 2010; the word is of Hunold and Carpen-Amarie's PGMPITuneLib).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <tutti/call.hpp>
#include <tutti/determinism.hpp>

#include "perf/measured_world.hpp"
#include "perf/sweep/buffers.hpp"
#include "perf/sweep/workload.hpp"

namespace tutti::perf {

/// One thing that a rank does for a mock-up: a call, or a copy of its own.
struct MockupStep {
  std::optional<Call> call{};       ///< The call, or nothing:
  std::byte* to = nullptr;          ///< Where a copy goes.
  const std::byte* from = nullptr;  ///< What is copied.
  std::size_t bytes = 0;            ///< How much.
};

/// What a mock-up works on: one collective at one size, and this rank's part in it.
struct MockupSite {
  const Workload& workload;  ///< What is measured.
  Rank rank = 0;             ///< This rank.
  Call call{};               ///< The call that is imitated, with its buffers.
  const Allocate& allocate;  ///< Gives more memory.
  std::vector<std::shared_ptr<std::byte>> memory{};  ///< What was given.
  std::vector<MockupStep> steps{};                   ///< What was decided.

  /// @param elements any number. @return as many zeros, which live as long as the site.
  [[nodiscard]] std::byte* scratch(std::size_t elements);
  /// @return elements of the whole vector: of all blocks, where there are blocks.
  [[nodiscard]] std::size_t total() const noexcept;
  /// @param vector of blocks. @return its first byte.
  [[nodiscard]] std::byte* block(void* vector, Rank block) const noexcept;
  /// Adds a call with the type, operator and root of the one that is imitated.
  void run(Collective collective, const void* in, std::size_t in_count, void* out,
           std::size_t out_count);
  /// Adds a copy.
  void copy(void* to, const void* from, std::size_t elements);
};

/// A guideline: the collective is not slower than its mock-up, or, where ranks are left out, the
/// mock-up is not slower than the collective.
struct MockupRule {
  std::optional<Collective> of{};  ///< Of which collective; nothing: of several.
  std::string_view label{};        ///< Such as "reduce + broadcast".
  std::string_view algorithm{};    ///< Row of the catalog that is the same within one call.
  std::string_view advice{};       ///< What a program can do where it is broken.
  bool (*serves)(const Workload& workload) = nullptr;  ///< Whether it can be had there.
  void (*decide)(MockupSite& site) = nullptr;          ///< Fills the steps.
  /// Whether the last rank takes no part, in which case the results are none of the collective's.
  bool leaves_last_out = false;
};

/// Who runs a mock-up.
struct MockupWorlds {
  MeasuredWorld& world;            ///< All ranks.
  MeasuredWorld* fewer = nullptr;  ///< All but the last; there it may be any.
  bool is_native = false;  ///< Whether it consists of the launching MPI's calls, or of ours.
  std::optional<Determinism> determinism{};  ///< Of ours.
};

/// A mock-up that runs in the place of a call.
class Mockup {
 public:
  /// @param workload what is measured. @param call with the buffers. @param allocate gives memory.
  /// @param worlds who runs it.
  Mockup(const MockupRule& rule, const Workload& workload, const Call& call,
         const Allocate& allocate, const MockupWorlds& worlds);

  /// Whether it can be had on this rank.
  [[nodiscard]] bool can_run() const;
  /// Does all of it.
  void run();

 private:
  [[nodiscard]] MeasuredWorld& world() const;

  const MockupRule& rule_;
  MockupWorlds worlds_;
  MockupSite site_;
};

/// @return all of them.
[[nodiscard]] std::span<const MockupRule> mockup_rules() noexcept;

}  // namespace tutti::perf
