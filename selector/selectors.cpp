#include "selectors.hpp"

#include <algorithm>
#include <utility>

#include <tutti/error.hpp>

namespace tutti::v0::detail {

Selectors::Selectors(const std::vector<CostModel>& cost_models, std::vector<std::string> names,
                     const std::shared_ptr<const Catalog>& catalog, const Placement& placement)
    : names_{std::move(names)} {
  expects(!cost_models.empty() && cost_models.size() == names_.size(),
          "each way of a transport has a tariff");
  for (std::size_t way = 0; way < names_.size(); ++way) {
    Placement own = placement;
    own.transport = names_[way];
    selectors_.emplace_back(cost_models[way], catalog, std::move(own));
  }
}

std::size_t Selectors::way_of(std::string_view transport) const {
  if (transport.empty()) return 0;
  for (std::size_t way = 0; way < names_.size(); ++way) {
    const std::string_view name = names_[way];
    if (transport == name || transport == name.substr(name.find('+') + 1)) return way;
  }
  std::string text = "this communicator has no transport '" + std::string{transport} + "'";
  for (std::size_t way = 0; way < names_.size(); ++way)
    text += (way == 0 ? "; choose " : " or ") + names_[way];
  throw Error{ErrorCode::invalid_argument, text};
}

Selection Selectors::select(const Problem& problem, std::size_t way) {
  Selection selection = selectors_[way].select(problem);
  selection.chosen.way = static_cast<std::uint8_t>(way);
  if (names_.size() > 1) selection.transport = names_[way];
  return selection;
}

Selection Selectors::select(const Problem& problem) {
  if (!problem.transport.empty()) return select(problem, way_of(problem.transport));
  std::vector<Selection> ways;
  for (std::size_t way = 0; way < names_.size(); ++way) ways.push_back(select(problem, way));
  const auto least = std::ranges::min_element(
      ways, {}, [](const Selection& selection) { return selection.chosen.predicted; });
  Selection selection = std::move(*least);
  ways.erase(least);
  selection.other_ways = std::move(ways);
  return selection;
}

Selection Selectors::select_with_times(const Problem& problem) {
  Selection selection = select(problem);
  const auto put_times = [&](Selection& one) {
    selectors_[one.chosen.way].put_times(one, problem);
  };
  put_times(selection);
  std::ranges::for_each(selection.other_ways, put_times);
  return selection;
}

}  // namespace tutti::v0::detail
