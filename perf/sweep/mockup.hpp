/// @file
/// Mock-ups: other calls with the result of one collective. A collective that is slower than one of
/// them violates a performance guideline (Traeff, Gropp, Thakur, "Self-consistent MPI performance
/// guidelines", IEEE TPDS 21(5), 2010; the name mock-up is from Hunold and Carpen-Amarie's
/// PGMPITuneLib).
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

/// One step of a rank in a mock-up: a call, or a copy.
struct MockupStep {
  std::optional<Call> call{};       ///< The call; nothing for a copy.
  std::byte* to = nullptr;          ///< Target of a copy.
  const std::byte* from = nullptr;  ///< Source of a copy.
  std::size_t bytes = 0;            ///< Bytes of a copy.
};

/// Input of a rule: one collective at one size on this rank. The rule adds the steps.
struct MockupSite {
  const Workload& workload;                          ///< Collective and size.
  Rank rank = 0;                                     ///< This rank.
  Call call{};                                       ///< The imitated call, with its buffers.
  const Allocate& allocate;                          ///< Allocates more memory.
  std::vector<std::shared_ptr<std::byte>> memory{};  ///< The allocated memory.
  std::vector<MockupStep> steps{};                   ///< The steps of this rank.

  /// @return zeros, which live as long as this object.
  [[nodiscard]] std::byte* scratch(std::size_t elements);
  /// @return elements of the whole vector: the sum over all blocks, if it has blocks.
  [[nodiscard]] std::size_t total() const noexcept;
  /// @param vector of blocks. @return the first byte of one of them.
  [[nodiscard]] std::byte* block(void* vector, Rank block) const noexcept;
  /// Adds a call with the type, operator and root of the imitated one.
  void run(Collective collective, const void* in, std::size_t in_count, void* out,
           std::size_t out_count);
  /// Adds a copy.
  void copy(void* to, const void* from, std::size_t elements);
};

/// A guideline: the collective is not slower than its mock-up. If the mock-up leaves a rank out,
/// the mock-up is not slower than the collective.
struct MockupRule {
  std::optional<Collective> of{};  ///< Its collective; nothing: it applies to several.
  std::string_view label{};        ///< Such as "reduce + broadcast".
  std::string_view algorithm{};    ///< Row of the catalog that does the same within one call.
  std::string_view advice{};       ///< Advice for programs if the guideline is violated.
  bool (*serves)(const Workload& workload) =
      nullptr;                                 ///< Whether the mock-up applies to this workload.
  void (*decide)(MockupSite& site) = nullptr;  ///< Adds the steps.
  /// Whether the last rank takes no part. Then the results are not those of the collective.
  bool leaves_last_out = false;
};

/// The ranks that run a mock-up.
struct MockupWorlds {
  MeasuredWorld& world;            ///< All ranks.
  MeasuredWorld* fewer = nullptr;  ///< All but the last; the last rank ignores it.
  bool is_native = false;          ///< Whether it consists of the MPI's calls, or of tutti's.
  std::optional<Determinism> determinism{};  ///< Level of tutti's calls.
};

/// A mock-up that runs in place of a call.
class Mockup {
 public:
  /// @param call with the buffers. @param allocate allocates more memory.
  Mockup(const MockupRule& rule, const Workload& workload, const Call& call,
         const Allocate& allocate, const MockupWorlds& worlds);

  /// @return whether this rank has all calls that it consists of.
  [[nodiscard]] bool can_run() const;
  /// Runs all steps.
  void run();

 private:
  [[nodiscard]] MeasuredWorld& world() const;

  const MockupRule& rule_;
  MockupWorlds worlds_;
  MockupSite site_;
};

/// @return all rules.
[[nodiscard]] std::span<const MockupRule> mockup_rules() noexcept;

}  // namespace tutti::perf
