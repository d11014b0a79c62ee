#include "runtime/config.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include <tutti/error.hpp>

#include "runtime/placement.hpp"

namespace tutti::runtime {

namespace {

constexpr std::string_view kPrefix = "TUTTI_";
constexpr std::array<std::string_view, 11> kVariables{
    "TUTTI_RANK",    "TUTTI_SIZE",   "TUTTI_LOCAL_RANK",  "TUTTI_LOCAL_SIZE",
    "TUTTI_URL",     "TUTTI_HOSTS",  "TUTTI_SECRET_FILE", "TUTTI_ADDRESS",
    "TUTTI_TIMEOUT", "TUTTI_TUNING", "TUTTI_TOPOLOGY"};

[[noreturn]] void refuse(std::string_view name, std::string_view value, const std::string& right) {
  throw Error{ErrorCode::invalid_argument,
              std::string{name} + " is '" + std::string{value} + "', but " + right};
}

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

template <class Number>
std::optional<Number> number_between(const Environment& environment, std::string_view name,
                                     Number least, Number most) {
  const auto text = value_of(environment, name);
  if (!text) return {};
  const std::optional<Number> number = parse<Number>(*text);
  if (!number || *number < least || *number > most)
    refuse(name, *text,
           "a whole number is wanted, " + std::to_string(least) + " or more, at most " +
               std::to_string(most));
  return number;
}

// A misspelt variable would change nothing, and nobody would know why.
void check_names(const Environment& environment) {
  for (auto entry = environment.lower_bound(kPrefix);
       entry != environment.end() && entry->first.starts_with(kPrefix); ++entry) {
    if (std::find(kVariables.begin(), kVariables.end(), entry->first) != kVariables.end()) continue;
    std::string message = "there is no variable " + entry->first + "; tutti reads";
    for (const std::string_view name : kVariables)
      message += (name == kVariables.front() ? " " : ", ") + std::string{name};
    throw Error{ErrorCode::invalid_argument, message};
  }
}

std::optional<std::chrono::nanoseconds> timeout_of(const Environment& environment) {
  constexpr double kLongestSeconds = 1e9;
  const auto text = value_of(environment, "TUTTI_TIMEOUT");
  if (!text) return {};
  const std::optional<double> seconds = parse<double>(*text);
  if (!seconds || !std::isfinite(*seconds) || *seconds <= 0 || *seconds > kLongestSeconds)
    refuse("TUTTI_TIMEOUT", *text,
           "a time in seconds is wanted, such as 30 or 0.5, more than 0 and at most 1000000000");
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>{*seconds});
}

std::vector<std::string> hosts_of(const Environment& environment) {
  constexpr std::string_view kName = "TUTTI_HOSTS";
  try {
    return placement_of_text(value_of(environment, kName).value_or(""));
  } catch (const Error& error) {
    throw Error{error.code(), std::string{kName} + ": " + error.what()};
  }
}

std::string text_of(const Environment& environment, std::string_view name) {
  return std::string{value_of(environment, name).value_or("")};
}

}  // namespace

Environment process_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && equals > 0)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::optional<std::string_view> value_of(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return {};
  return found->second;
}

std::optional<int> number_of(const Environment& environment, std::string_view name, int least,
                             int most) {
  return number_between(environment, name, least, most);
}

std::optional<std::uint32_t> number_of_32_bits(const Environment& environment,
                                               std::string_view name) {
  return number_between(environment, name, std::uint32_t{0},
                        std::numeric_limits<std::uint32_t>::max());
}

Config read_config(const Environment& environment) {
  check_names(environment);
  return {.rank = number_of(environment, "TUTTI_RANK", 0, kLargestWorld - 1),
          .size = number_of(environment, "TUTTI_SIZE", 1, kLargestWorld),
          .local_rank = number_of(environment, "TUTTI_LOCAL_RANK", 0, kLargestWorld - 1),
          .local_size = number_of(environment, "TUTTI_LOCAL_SIZE", 1, kLargestWorld),
          .url = text_of(environment, "TUTTI_URL"),
          .hosts = hosts_of(environment),
          .secret_file = text_of(environment, "TUTTI_SECRET_FILE"),
          .address = text_of(environment, "TUTTI_ADDRESS"),
          .timeout = timeout_of(environment)};
}

}  // namespace tutti::runtime
