#include "placement.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <tutti/error.hpp>

#include "config.hpp"

namespace tutti::runtime {
namespace {

[[noreturn]] void reject_hosts(std::string_view text, const char* right) {
  throw Error{ErrorCode::invalid_argument,
              "'" + std::string{text} + "' is not a list of hosts such as " + right};
}

/// Parses a whole number without a sign.
std::optional<std::size_t> digits_of(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

/// Removes the first item of a list, and the comma after it. @return the item.
std::string_view next_item(std::string_view& list) {
  const std::string_view item = list.substr(0, list.find(','));
  list.remove_prefix(std::min(list.size(), item.size() + 1));
  return item;
}

/// Expands "1-3,007-009" into at most `most` numbers with their leading zeros. Empty if one is
/// malformed.
std::vector<std::string> numbers_of(std::string_view ranges, std::size_t most) {
  std::vector<std::string> numbers;
  while (!ranges.empty()) {
    const std::string_view range = next_item(ranges);
    const std::size_t dash = range.find('-');
    const std::string_view begin = range.substr(0, dash);
    const auto first = digits_of(begin);
    const auto last = dash == std::string_view::npos ? first : digits_of(range.substr(dash + 1));
    if (!first || !last || *last < *first) return {};
    for (std::size_t number = *first; number <= *last && numbers.size() < most; ++number) {
      const std::string digits = std::to_string(number);
      const std::size_t zeros = begin.size() - std::min(begin.size(), digits.size());
      numbers.push_back(std::string(zeros, '0') + digits);
    }
  }
  return numbers;
}

/// Appends every number to every name; at most `most` results.
std::vector<std::string> extended(const std::vector<std::string>& names,
                                  const std::vector<std::string>& numbers, std::size_t most) {
  std::vector<std::string> longer;
  for (const std::string& name : names)
    for (const std::string& number : numbers)
      if (longer.size() < most) longer.push_back(name + number);
  return longer;
}

/// Expands the counts "2(x3),1" into 2, 2, 2, 1. Empty if one is malformed.
std::vector<std::size_t> counts_of(std::string_view text, std::size_t most) {
  std::vector<std::size_t> counts;
  while (!text.empty()) {
    std::string_view item = next_item(text);
    std::optional<std::size_t> times{1};
    if (const std::size_t open = item.find("(x");
        open != std::string_view::npos && item.ends_with(')')) {
      times = digits_of(item.substr(open + 2, item.size() - open - 3));
      item = item.substr(0, open);
    }
    const auto count = digits_of(item);
    if (!count || !times || *times > most - counts.size()) return {};
    counts.insert(counts.end(), *times, *count);
  }
  return counts;
}

}  // namespace

std::string text_of_placement(const std::vector<std::string>& hosts) {
  std::string text;
  for (auto begin = hosts.begin(); begin != hosts.end();) {
    const auto end = std::find_if(begin, hosts.end(), [&](const auto& it) { return it != *begin; });
    text += (text.empty() ? "" : ",") + *begin;
    if (end - begin > 1) text += "*" + std::to_string(end - begin);
    begin = end;
  }
  return text;
}

std::vector<std::string> placement_of_text(std::string_view text) {
  std::vector<std::string> hosts;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view item = next_item(rest);
    const std::string_view host = item.substr(0, item.find('*'));
    const auto times =
        host.size() == item.size() ? 1 : digits_of(item.substr(host.size() + 1)).value_or(0);
    if (host.empty() || times == 0 || times > std::size_t{kLargestWorld} - hosts.size())
      reject_hosts(text, "a*2,b: two ranks on a, one on b");
    hosts.insert(hosts.end(), times, std::string{host});
  }
  return hosts;
}

std::vector<std::string> slurm_hosts(std::string_view list, std::size_t most) {
  const char* const kRight = "a[1-3,7],b";
  std::vector<std::string> hosts;
  for (std::size_t at = 0; at < list.size() && hosts.size() < most; ++at) {
    std::vector<std::string> names{""};
    for (; at < list.size() && list[at] != ','; ++at) {
      if (list[at] != '[') {
        for (std::string& name : names) name += list[at];
        continue;
      }
      const std::size_t close = std::min(list.find(']', at), list.size());
      names = extended(names, numbers_of(list.substr(at + 1, close - at - 1), most), most);
      if (names.empty() || close == list.size()) reject_hosts(list, kRight);
      at = close;
    }
    const std::string& name = names.front();
    if (name.empty() || name.front() == '-' || name.find(']') != std::string::npos)
      reject_hosts(list, kRight);
    hosts.insert(hosts.end(), names.begin(), names.end());
  }
  if (hosts.empty()) reject_hosts(list, kRight);
  hosts.resize(std::min(hosts.size(), most));
  return hosts;
}

std::vector<std::string> slurm_placement(const SlurmTasks& tasks, int size) {
  const bool is_cyclic = tasks.distribution.starts_with("cyclic");
  const auto n = static_cast<std::size_t>(size);
  std::vector<std::size_t> left = counts_of(tasks.counts, n);
  if (tasks.hosts.empty() || left.empty() ||
      !(is_cyclic || tasks.distribution.empty() || tasks.distribution.starts_with("block")))
    return {};
  const std::vector<std::string> hosts = slurm_hosts(tasks.hosts, n);
  if (hosts.size() != left.size()) return {};
  std::vector<std::string> placed;
  for (bool is_progress = true; is_progress && placed.size() <= n;) {
    is_progress = false;
    for (std::size_t host = 0; host < hosts.size(); ++host) {
      const std::size_t times = std::min({left[host], n + 1, is_cyclic ? 1 : n + 1});
      placed.insert(placed.end(), times, hosts[host]);
      left[host] -= times;
      is_progress = is_progress || times > 0;
    }
  }
  if (placed.size() != n) placed.clear();
  return placed;
}

}  // namespace tutti::runtime
