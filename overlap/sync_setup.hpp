/// @file
/// The parameters, options and communicators of a GradientSync.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tutti/gradient_sync.hpp>
#include <tutti/operators.hpp>

#include "gradient_plan.hpp"
#include "gradient_streams.hpp"

namespace tutti::v0::detail {

/// The constant parts of a GradientSync.
struct SyncSetup {
  SyncSetup(Communicator& world, std::span<const Parameter> parameters,
            const GradientOptions& options);
  /// Collective: compares parameters and options with other ranks. Throws the same Error on all.
  /// @param world the program's.
  void check(Communicator& world);
  /// Collective: makes the other communicators. @param world the program's.
  void connect(Communicator& world);

  [[nodiscard]] Communicator& all_ranks() noexcept { return groups.front(); }
  [[nodiscard]] const Communicator& all_ranks() const noexcept { return groups.front(); }
  [[nodiscard]] Options call_options() const noexcept { return {.timeout = options.timeout}; }
  /// @return the stream on which buckets are reduced, or none.
  [[nodiscard]] Stream stream() const noexcept { return streams ? streams->own() : Stream{}; }
  [[nodiscard]] bool detects_unused() const noexcept {
    return options.unused == UnusedGradients::detect;
  }
  [[nodiscard]] bool is_negotiating() const noexcept {
    return options.order == GradientOrder::negotiated;
  }
  /// @return whether reduced buckets wait until ranks have agreed on the norm of all of them.
  [[nodiscard]] bool is_clipping() const noexcept {
    return options.max_norm > 0 && !options.on_shard;
  }
  /// @return whether GradientSync owns the memory of a bucket.
  [[nodiscard]] bool owns_memory_of(const Bucket& bucket) const noexcept {
    return options.storage != GradientStorage::flat && !bucket.is_in_place;
  }
  /// @return a name for error texts, such as "3 'weights'".
  [[nodiscard]] std::string name_of_parameter(std::size_t parameter) const;
  /// Collective, see detail::all_or_none.
  void all_or_none(const std::function<void()>& part);
  /// Copies in memory of the host, or enqueues that on the stream.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const;
  /// Stores zeros, or enqueues that on the stream.
  void clear(std::byte* to, std::size_t bytes) const;

  std::vector<Parameter> parameters;
  GradientOptions options;
  std::vector<Communicator> groups{};     ///< Copies of the program's; the first has all ranks.
  std::vector<Communicator> seconds{};    ///< Copies of these, for second collectives.
  std::optional<Communicator> control{};  ///< For GradientOrder::negotiated.
  std::unique_ptr<GradientStreams> streams{};  ///< Null: the host reduces.
  const Operator op;
};

}  // namespace tutti::v0::detail
