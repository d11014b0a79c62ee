/// @file
/// Chooses the transport of a call, and its algorithm there.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "selector.hpp"

namespace tutti::v0::detail {

/// A Selector for each transport of a communicator. Equal problems give equal choices on all ranks.
class Selectors {
 public:
  /// @param cost_models of each transport, at least one. @param names of each, as
  /// Capabilities::transports. @param catalog and @param placement as Selector, except the
  /// transport.
  Selectors(const std::vector<CostModel>& cost_models, std::vector<std::string> names,
            const std::shared_ptr<const Catalog>& catalog, const Placement& placement);

  /// Chooses the transport with the least predicted time; among equals the first one. Measurements
  /// may choose the algorithm on a transport; transports are compared by predictions. @return the
  /// choice, with those for the other transports. Throws as Selector::select, and as route_of if
  /// the problem names the transport.
  [[nodiscard]] Selection select(const Problem& problem);
  /// @param transport its name, or the part of it between hosts; empty for the first one.
  /// @return its number. Throws Error{invalid_argument} that lists the names.
  [[nodiscard]] std::size_t route_of(std::string_view transport) const;
  /// As Selector::shares_cores.
  [[nodiscard]] bool shares_cores() const noexcept { return selectors_.front().shares_cores(); }

 private:
  [[nodiscard]] Selection select(const Problem& problem, std::size_t route);

  std::vector<std::string> names_;
  std::vector<Selector> selectors_{};  // one for each name
};

}  // namespace tutti::v0::detail
