/// @file
/// Which of several transports a call goes by, and which algorithm it runs there.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "selector.hpp"

namespace tutti::v0::detail {

/// A Selector for each transport that a communicator's messages may go by. Equal problems give
/// equal choices on all ranks.
class Selectors {
 public:
  /// @param cost_models of each transport, one at least. @param names of each, as
  /// Capabilities::transports. @param catalog and @param placement as Selector, but for the
  /// transport.
  Selectors(const std::vector<CostModel>& cost_models, std::vector<std::string> names,
            const std::shared_ptr<const Catalog>& catalog, const Placement& placement);

  /// Chooses the transport with the least predicted time; among equals the first one. Measurements
  /// decide about the algorithm of a transport, and predictions of it are compared.
  /// @param problem any. @return what was chosen, and what the others would run. Throws as
  /// Selector::select, and as route_of if the problem names the transport.
  [[nodiscard]] Selection select(const Problem& problem);
  /// As select, for a person: with times as Selector::put_times makes them. @param problem any.
  /// @return the same choice. Throws as select.
  [[nodiscard]] Selection select_with_times(const Problem& problem);
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
