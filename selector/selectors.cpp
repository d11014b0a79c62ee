#include "selectors.hpp"

#include <algorithm>
#include <utility>

#include <tutti/error.hpp>

namespace tutti::v0::detail {

Selectors::Selectors(const std::vector<CostModel>& cost_models, std::vector<std::string> names,
                     const std::shared_ptr<const Catalog>& catalog, const Placement& placement)
    : names_{std::move(names)} {
  expects(!cost_models.empty() && cost_models.size() == names_.size(),
          "each transport has a cost model");
  for (std::size_t route = 0; route < names_.size(); ++route) {
    Placement own = placement;
    own.transport = names_[route];
    selectors_.emplace_back(cost_models[route], catalog, std::move(own));
  }
}

std::size_t Selectors::route_of(std::string_view transport) const {
  if (transport.empty()) return 0;
  for (std::size_t route = 0; route < names_.size(); ++route) {
    const std::string_view name = names_[route];
    if (transport == name || transport == name.substr(name.find('+') + 1)) return route;
  }
  std::string text = "this communicator has no transport '" + std::string{transport} + "'";
  for (std::size_t route = 0; route < names_.size(); ++route)
    text += (route == 0 ? "; choose " : " or ") + names_[route];
  throw Error{ErrorCode::invalid_argument, text};
}

Selection Selectors::select(const Problem& problem, std::size_t route) {
  Selection selection = selectors_[route].select(problem);
  selection.chosen.route = static_cast<std::uint8_t>(route);
  if (names_.size() > 1) selection.transport = names_[route];
  return selection;
}

Selection Selectors::select(const Problem& problem) {
  if (!problem.transport.empty()) return select(problem, route_of(problem.transport));
  std::vector<Selection> routes;
  for (std::size_t route = 0; route < names_.size(); ++route)
    routes.push_back(select(problem, route));
  const auto least = std::ranges::min_element(
      routes, {}, [](const Selection& selection) { return selection.chosen.predicted; });
  Selection selection = std::move(*least);
  routes.erase(least);
  selection.other_routes = std::move(routes);
  return selection;
}

}  // namespace tutti::v0::detail
