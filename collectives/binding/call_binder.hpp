/// @file
/// Finds the shape of a call in the cache, or makes one.
#pragma once

#include <memory>
#include <string>

#include <tutti/communicator.hpp>
#include <tutti/spi/group.hpp>

#include "collectives/lowering/binding.hpp"
#include "selector/selectors.hpp"

#include "program_cache.hpp"

namespace tutti::v0::detail {

/// Owns the cache of shapes, and the scratch and the outbox of executions. For a shape that is not
/// in the cache it checks the call, chooses an algorithm, and lowers its schedule.
class CallBinder {
 public:
  /// All arguments except the selectors outlive this. @param memory of the kind in which buffers
  /// lie. @param calls gets the description of each shape.
  CallBinder(Transport& transport, Memory& memory, CallCounter& calls,
             const CommunicatorOptions& options, Selectors selectors)
      : transport_{transport}, calls_{calls}, options_{options},
        selectors_{std::move(selectors)}, outbox_{transport}, scratch_{memory, options.cache_bytes},
        cache_{outbox_, scratch_, calls, options.cache_bytes, options.segments_in_flight} {}

  [[nodiscard]] Outbox& outbox() noexcept { return outbox_; }
  [[nodiscard]] ProgramCache& cache() noexcept { return cache_; }

  /// @return the shape of a call without a stream. Throws Error{invalid_argument} for wrong
  /// arguments.
  [[nodiscard]] ProgramCache::Shape& shape_for(const Call& call, const Options& options) {
    if (ProgramCache::Shape* const known = cache_.find(call, options)) return *known;
    return cache_.add(call, options, bind(call, options));
  }
  /// @return the problem of a collective. The communicator's options replace those that the call
  /// leaves out. Throws Error{invalid_argument}.
  [[nodiscard]] Problem problem_of(const Call& call, const Options& options) const;
  /// @return the choice for a problem, with its reasons.
  [[nodiscard]] Selection select(const Problem& problem) { return selectors_.select(problem); }
  /// Throws Error{invalid_argument}. @param transport a name, as Options::transport.
  void check_transport(std::string_view transport) const {
    static_cast<void>(selectors_.route_of(transport));
  }
  /// Whether there are more ranks than cores for them; the same on all ranks.
  [[nodiscard]] bool shares_cores() const noexcept { return selectors_.shares_cores(); }

 private:
  [[nodiscard]] std::shared_ptr<const Binding> bind(const Call& call, const Options& options);

  Transport& transport_;
  CallCounter& calls_;
  const CommunicatorOptions& options_;
  Selectors selectors_;
  Outbox outbox_;
  Scratch scratch_;
  ProgramCache cache_;
};

}  // namespace tutti::v0::detail
