#include "dropin/engine/served.hpp"

#include <algorithm>
#include <optional>

#include <tutti/error.hpp>

#include "base/byte_text.hpp"
#include "base/number_text.hpp"

namespace tutti::dropin {
namespace {

constexpr std::string_view kFrom = ">=";

[[noreturn]] void reject(std::string_view text, const std::string& fault) {
  throw Error{ErrorCode::invalid_argument,
              "TUTTI_MPI is '" + std::string{text} + "', but " + fault};
}

// Ranks would choose differently if they knew different sizes of one call.
bool has_equal_sizes(std::string_view collective) {
  return !collective.ends_with('v') && !collective.ends_with('w');
}

std::size_t least_of(std::string_view text, const std::string& collective, std::string_view size) {
  if (collective == "barrier") reject(text, "a barrier has no size");
  if (!has_equal_sizes(collective))
    reject(text, "ranks may give " + collective +
                     " different sizes, so it can be served as a whole only, without a size");
  const std::optional<std::size_t> bytes = v0::detail::parse_bytes(size);
  if (!bytes) reject(text, "'" + std::string{size} + "' is no size such as 1000 or 64K");
  return *bytes;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string result{text};
  std::ranges::transform(result, result.begin(), v0::detail::lower_case);
  return result;
}

Served::Served(std::string_view text, bool (*is_collective)(std::string_view))
    : is_all_{text.empty() || lower(text) == "on"} {
  if (is_all_ || lower(text) == "off") return;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(','));
    const std::size_t end = std::min(word.find(kFrom), word.size());
    const std::string name = lower(word.substr(0, end));
    if (!is_collective(name))
      reject(text, "'" + name +
                       "' is no collective: it must be off, on, or names such as "
                       "allreduce,bcast>=64K");
    least_[name] = end == word.size() ? 0 : least_of(text, name, word.substr(end + kFrom.size()));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
}

std::size_t Served::least_bytes(std::string_view collective) const noexcept {
  if (is_all_) return 0;
  const auto found = least_.find(collective);
  return found == least_.end() ? kNever : found->second;
}

std::int64_t Served::fingerprint() const {
  std::string text = is_all_ ? "on" : "";
  for (const auto& [name, least] : least_)
    text += name + kFrom.data() + std::to_string(least) + ",";
  return static_cast<std::int64_t>(std::hash<std::string>{}(text) >> 1);
}

}  // namespace tutti::dropin
