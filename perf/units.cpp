#include "perf/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace tutti::perf {

namespace {

// A number and its unit.
struct Quantity {
  double number;
  std::string_view unit;
};

std::optional<Quantity> split_quantity(std::string_view text) {
  Quantity quantity{};
  const char* end = text.data() + text.size();
  const auto [rest, error] =
      std::from_chars(text.data(), end, quantity.number, std::chars_format::fixed);
  if (error != std::errc{} || quantity.number < 0 || !std::isfinite(quantity.number)) return {};
  quantity.unit = std::string_view{rest, static_cast<std::size_t>(end - rest)};
  return quantity;
}

using v0::detail::kMultiples;

}  // namespace

std::optional<double> parse_seconds(std::string_view text) {
  const auto quantity = split_quantity(text);
  if (!quantity) return {};
  static constexpr std::array<std::pair<std::string_view, double>, 6> kUnits{
      {{"", 1.0}, {"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"m", 60.0}, {"h", 3600.0}}};
  for (const auto& [unit, seconds] : kUnits)
    if (quantity->unit == unit) return quantity->number * seconds;
  return {};
}

std::optional<double> parse_share(std::string_view text) {
  const auto quantity = split_quantity(text);
  if (!quantity) return {};
  if (quantity->unit == "%") return quantity->number / 100;
  if (quantity->unit.empty()) return quantity->number;
  return {};
}

std::string format_bytes(std::size_t bytes) {
  std::size_t power = 0;
  while (bytes != 0 && bytes % 1024 == 0 && power < kMultiples.size()) {
    bytes /= 1024;
    ++power;
  }
  return power == 0 ? fmt::format("{}", bytes) : fmt::format("{}{}", bytes, kMultiples[power - 1]);
}

std::string format_us(double microseconds) {
  if (microseconds < 9.995) return fmt::format("{:.2f}", microseconds);
  if (microseconds < 999.95) return fmt::format("{:.1f}", microseconds);
  return fmt::format("{:.0f}", microseconds);
}

std::string format_duration(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m {}s", whole / 60, whole % 60);
  return fmt::format("{}h {}m", whole / 3600, whole % 3600 / 60);
}

}  // namespace tutti::perf
