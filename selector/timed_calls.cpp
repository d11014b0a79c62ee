#include "timed_calls.hpp"

#include <algorithm>
#include <cmath>

namespace tutti::v0::detail {

Collective timed_like(Collective collective) noexcept {
  const CollectiveTraits& traits = traits_of(collective);
  if (traits.is_prefix || collective == Collective::reduce) return Collective::reduce;
  if (is_rooted(collective)) return Collective::broadcast;
  return is_blockwise(collective) ? Collective::all_gather : Collective::all_reduce;
}

const TunedTable* find_timed(const Tuning& timed, const TunedPlace& place) noexcept {
  const Collective collective = timed_like(place.collective);
  const auto distance = [&](const TunedTable& table) {
    return std::abs(std::log(static_cast<double>(table.place.ranks) / place.ranks));
  };
  const TunedTable* nearest = nullptr;
  for (const TunedTable& table : timed.tables)
    if (table.place.collective == collective && table.place.hosts == place.hosts &&
        table.place.transport == place.transport && table.place.visible == place.visible &&
        !table.cells.empty() && (nearest == nullptr || distance(table) < distance(*nearest)))
      nearest = &table;
  return nearest;
}

double factor_at(std::span<const TimeFactor> factors, std::size_t bytes) noexcept {
  const auto above = std::ranges::lower_bound(factors, bytes, {}, &TimeFactor::bytes);
  if (above == factors.begin()) return above->factor;
  if (above == factors.end()) return factors.back().factor;
  const TimeFactor& below = *std::prev(above);
  const auto log_of = [](std::size_t size) { return std::log(static_cast<double>(size)); };
  const double share =
      (log_of(bytes) - log_of(below.bytes)) / (log_of(above->bytes) - log_of(below.bytes));
  return std::exp(std::lerp(std::log(below.factor), std::log(above->factor), share));
}

}  // namespace tutti::v0::detail
