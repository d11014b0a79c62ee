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

/// Finds the shape of a call in the cache. For a shape that is not there it checks the call,
/// chooses an algorithm, and lowers its schedule.
class CallBinder {
 public:
  /// All but the selectors live longer.
  struct Parts {
    const Transport& transport;
    ProgramCache& cache;
    CallCounter& calls;  ///< Gets each shape in words.
    const CommunicatorOptions& options;
    Selectors selectors;
  };
  explicit CallBinder(Parts parts) : parts_{std::move(parts)} {}

  /// @return the shape of a call without a stream. Throws Error{invalid_argument} for wrong
  /// arguments.
  [[nodiscard]] ProgramCache::Shape& shape_for(const Call& call, const Options& options) {
    if (ProgramCache::Shape* const known = parts_.cache.find(call, options)) return *known;
    return parts_.cache.add(call, options, bind(call, options));
  }
  /// @return what a collective asks for, with the communicator's options where the call has none.
  /// Throws Error{invalid_argument}.
  [[nodiscard]] Problem problem_of(const Call& call, const Options& options) const;
  /// @return what would run, and why.
  [[nodiscard]] Selection select(const Problem& problem) {
    return parts_.selectors.select_with_times(problem);
  }
  /// Throws Error{invalid_argument}. @param transport a name, as Options::transport.
  void check_transport(std::string_view transport) const {
    static_cast<void>(parts_.selectors.route_of(transport));
  }
  /// Whether ranks outnumber the cores that they have; the same on all ranks.
  [[nodiscard]] bool shares_cores() const noexcept { return parts_.selectors.shares_cores(); }

 private:
  [[nodiscard]] std::shared_ptr<const Binding> bind(const Call& call, const Options& options);

  Parts parts_;
};

}  // namespace tutti::v0::detail
