/// @file
/// From a call to its shape: the cached one, or one that is checked, chosen for and bound.
#pragma once

#include <memory>
#include <string>

#include <tutti/communicator.hpp>
#include <tutti/spi/group.hpp>

#include "collectives/lowering/binding.hpp"
#include "selector/selectors.hpp"

#include "program_cache.hpp"

namespace tutti::v0::detail {

/// Has what calls run: the cache of shapes, and the scratch and the outbox of executions. For a
/// shape that is not in the cache it checks the call, chooses an algorithm, and lowers its
/// schedule.
class CallBinder {
 public:
  /// All but the selectors live longer. @param memory of the kind buffers lie in. @param calls gets
  /// each shape in words.
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
  /// @return what a collective asks for, with the communicator's options where the call has none.
  /// Throws Error{invalid_argument}.
  [[nodiscard]] Problem problem_of(const Call& call, const Options& options) const;
  /// @return what would run, and why.
  [[nodiscard]] Selection select(const Problem& problem) {
    return selectors_.select_with_times(problem);
  }
  /// Throws Error{invalid_argument}. @param transport a name, as Options::transport.
  void check_transport(std::string_view transport) const {
    static_cast<void>(selectors_.route_of(transport));
  }
  /// Whether ranks outnumber the cores that they have; the same on all ranks.
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
