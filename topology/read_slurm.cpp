// Networks as SLURM's topology.conf has them.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include <tutti/error.hpp>

#include "read.hpp"

namespace tutti::inline v0 {
namespace {

/// Names in one list at most.
constexpr std::size_t kMostNames = 1 << 16;

bool is_equal(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// A line that says something, with its number.
struct ConfLine {
  std::size_t number = 0;
  std::string text{};

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error{ErrorCode::invalid_argument, "line " + std::to_string(number) + ": " + what};
  }
};

std::vector<ConfLine> lines_of(std::string_view text) {
  std::vector<ConfLine> lines;
  bool goes_on = false;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0)
      line.remove_suffix(1);
    const bool is_continued = !line.empty() && line.back() == '\\';
    if (is_continued) line.remove_suffix(1);
    if (goes_on) lines.back().text.append(" ").append(line);
    else lines.push_back({number, std::string{line}});
    goes_on = is_continued;
  }
  return lines;
}

/// Takes a list such as `a[1-3,7]b,c` apart.
class HostList {
 public:
  HostList(std::string_view text, const ConfLine& line) : line_{line} {
    std::string_view word;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (i == text.size() && depth != 0)
        line.refuse("brackets of '" + std::string{text} + "' do not fit");
      if (i == text.size() || (text[i] == ',' && depth == 0)) {
        word = text.substr(begin, i - begin);
        if (word.empty()) line.refuse("a name is missing in '" + std::string{text} + "'");
        expand({}, word);
        begin = i + 1;
        continue;
      }
      depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
      if (depth < 0 || depth > 1) line.refuse("brackets of '" + std::string{text} + "' do not fit");
    }
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(names_); }

 private:
  void expand(const std::string& before, std::string_view rest) {
    const std::size_t open = rest.find('[');
    if (open == rest.npos) {
      if (names_.size() == kMostNames) line_.refuse("there are too many names");
      names_.push_back(before + std::string{rest});
      return;
    }
    const std::size_t close = rest.find(']', open);
    std::string_view ranges = rest.substr(open + 1, close - open - 1);
    const std::string head = before + std::string{rest.substr(0, open)};
    for (;;) {
      const std::size_t comma = std::min(ranges.find(','), ranges.size());
      expand_range(head, ranges.substr(0, comma), rest.substr(close + 1));
      if (comma == ranges.size()) return;
      ranges.remove_prefix(comma + 1);
    }
  }
  /// Numbers keep the zeros that the first one begins with.
  void expand_range(const std::string& head, std::string_view range, std::string_view tail) {
    const std::size_t dash = range.find('-');
    const std::string_view first = range.substr(0, dash);
    const std::string_view last = dash == range.npos ? first : range.substr(dash + 1);
    const std::size_t begin = number(first, range);
    const std::size_t end = number(last, range);
    if (end < begin || end - begin >= kMostNames)
      line_.refuse("the range '" + std::string{range} + "' is empty or too long");
    for (std::size_t value = begin; value <= end; ++value) {
      std::string digits = std::to_string(value);
      if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
      expand(head + digits, tail);
    }
  }
  [[nodiscard]] std::size_t number(std::string_view word, std::string_view range) const {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc{} || end != word.data() + word.size())
      line_.refuse("'" + std::string{range} + "' is no number, and no range such as 01-16");
    return value;
  }

  const ConfLine& line_;
  std::vector<std::string> names_{};
};

/// One switch.
struct Switch {
  ConfLine line{};
  std::string name{};
  std::vector<std::string> nodes{};
  std::vector<std::string> switches{};
};

Switch switch_of(const ConfLine& line) {
  Switch found{.line = line};
  std::string_view rest = line.text;
  for (;;) {
    const std::size_t begin = rest.find_first_not_of(" \t\r");
    if (begin == rest.npos) break;
    rest.remove_prefix(begin);
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r"));
    rest.remove_prefix(word.size());
    const std::size_t equals = word.find('=');
    if (equals == word.npos) line.refuse("'" + std::string{word} + "' is no key=value");
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    if (is_equal(key, "SwitchName")) found.name = value;
    else if (is_equal(key, "Nodes")) found.nodes = HostList{value, line}.take();
    else if (is_equal(key, "Switches")) found.switches = HostList{value, line}.take();
    else if (!is_equal(key, "LinkSpeed"))
      line.refuse("unknown key '" + std::string{key} +
                  "': expected SwitchName, Nodes, Switches or LinkSpeed");
  }
  if (found.name.empty()) line.refuse("there is no SwitchName");
  if (found.nodes.empty() == found.switches.empty())
    line.refuse("switch " + found.name + " has to have either Nodes or Switches");
  return found;
}

}  // namespace

NamedTopology read_slurm_topology(std::string_view text, const LinkSpeed& speed) {
  std::vector<Switch> switches;
  std::size_t all = 0;
  for (const ConfLine& line : lines_of(text)) {
    if (line.text.find_first_not_of(" \t\r") == std::string::npos) continue;
    switches.push_back(switch_of(line));
    all += switches.back().nodes.size() + switches.back().switches.size() + 1;
    if (all > Topology::kMost) line.refuse("there are too many names up to here");
  }
  std::vector<std::string> names;
  std::map<std::string, int> hosts, numbers;
  for (const Switch& one : switches)
    for (const std::string& node : one.nodes) {
      if (!hosts.emplace(node, static_cast<int>(names.size())).second)
        one.line.refuse("node " + node + " is linked to two switches");
      names.push_back(node);
    }
  const auto count = static_cast<int>(names.size());
  for (const Switch& one : switches) {
    if (!numbers.emplace(one.name, static_cast<int>(names.size())).second)
      one.line.refuse("there are two switches " + one.name);
    names.push_back(one.name);
  }
  std::vector<Topology::Link> links;
  for (const Switch& one : switches) {
    const int own = numbers.at(one.name);
    for (const std::string& node : one.nodes) links.push_back({hosts.at(node), own, speed});
    for (const std::string& other : one.switches) {
      const auto found = numbers.find(other);
      if (found == numbers.end()) one.line.refuse("there is no switch " + other);
      if (found->second == own) one.line.refuse("switch " + other + " is linked to itself");
      links.push_back({found->second, own, speed});
    }
  }
  return {
      Topology{"topology.conf", count, static_cast<int>(names.size()) - count, std::move(links)},
      std::move(names)};
}

}  // namespace tutti::inline v0
