// Reads networks from SLURM's topology.conf.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <tutti/error.hpp>

#include "base/number_text.hpp"
#include "components.hpp"
#include "read.hpp"

namespace tutti::v0 {
namespace {

/// The most names in one list.
constexpr std::size_t kMostNames = 1 << 16;

constexpr std::string_view kBlanks = " \t\r\n\v\f";
constexpr std::string_view kSeparators = ", \t\r\n";
constexpr std::string_view kOperators =
    "-*+/";  // of `+=` and similar operators, which mean `=` here

bool is_equal(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](char x, char y) { return detail::lower_case(x) == detail::lower_case(y); });
}

/// A line that is not empty, with its number.
struct ConfLine {
  std::size_t number = 0;
  std::string text{};

  [[noreturn]] void reject(const std::string& what) const {
    throw Error{ErrorCode::invalid_argument, "line " + std::to_string(number) + ": " + what};
  }
};

/// @return whether an odd number of backslashes precedes the character at `at`.
bool is_escaped(std::string_view line, std::size_t at) {
  std::size_t slashes = 0;
  while (slashes < at && line[at - slashes - 1] == '\\') ++slashes;
  return slashes % 2 == 1;
}

std::string_view without_comment(std::string_view line) {
  for (std::size_t at = line.find('#'); at != line.npos; at = line.find('#', at + 1))
    if (!is_escaped(line, at)) return line.substr(0, at);
  return line;
}

/// Each backslash makes the next character an ordinary one.
std::string without_escapes(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && ++i == line.size()) break;
    text += line[i];
  }
  return text;
}

/// A line that ends in a backslash continues in the next one, with nothing between them.
std::vector<ConfLine> lines_of(std::string_view text) {
  std::vector<ConfLine> lines;
  bool continues = false;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = without_comment(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t last = line.find_last_not_of(kBlanks);
    const bool is_continued = last != line.npos && line[last] == '\\' && !is_escaped(line, last);
    if (is_continued) line = line.substr(0, last);
    if (!continues) lines.push_back({.number = number});
    lines.back().text.append(line);
    continues = is_continued;
  }
  for (ConfLine& line : lines) line.text = without_escapes(line.text);
  return lines;
}

struct ConfField {
  std::string_view key{};
  std::string_view value{};
};

/// Splits a line into its fields. Blanks may surround the equals sign; a value in quotes may
/// contain blanks.
class ConfFields {
 public:
  explicit ConfFields(const ConfLine& line) : line_{line}, rest_{line.text} {}
  /// @return the next field, or nothing at the end of the line.
  std::optional<ConfField> next() {
    skip_blanks();
    if (rest_.empty()) return std::nullopt;
    const std::string_view word = rest_.substr(0, rest_.find_first_of(kBlanks));
    std::size_t end = 0;
    while (end < rest_.size() && is_key_character(rest_[end])) ++end;
    const std::string_view key = rest_.substr(0, end);
    rest_.remove_prefix(end);
    skip_blanks();
    if (rest_.find_first_of(kOperators) == 0) rest_.remove_prefix(1);
    if (key.empty() || !rest_.starts_with('=')) {
      if (is_equal(key, "Include"))
        line_.reject("Include is not supported: expected the lines of that file here");
      line_.reject("'" + std::string{word} + "' is not key=value");
    }
    rest_.remove_prefix(1);
    skip_blanks();
    if (rest_.empty()) line_.reject("'" + std::string{key} + "' has no value");
    return ConfField{key, rest_.front() == '"' ? quoted_value() : plain_value()};
  }

 private:
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
  }
  static bool is_key_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  }
  std::string_view plain_value() {
    const std::string_view value = rest_.substr(0, rest_.find_first_of(kBlanks));
    if (value.find('"') != value.npos)
      line_.reject("a quote is inside '" + std::string{value} +
                   "': expected quotes around a whole value");
    rest_.remove_prefix(value.size());
    return value;
  }
  std::string_view quoted_value() {
    const std::size_t end = rest_.find('"', 1);
    if (end == rest_.npos) line_.reject("the quotation '" + std::string{rest_} + "' has no end");
    const std::string_view value = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    if (!rest_.empty() && kBlanks.find(rest_.front()) == kBlanks.npos)
      line_.reject("'" + std::string{rest_.substr(0, rest_.find_first_of(kBlanks))} +
                   "' follows a quote: expected a blank there");
    return value;
  }

  const ConfLine& line_;
  std::string_view rest_;
};

/// Splits a list such as `a[1-3,7]b,c` into names. Commas and blanks separate names; several
/// separators count as one.
class HostList {
 public:
  HostList(std::string_view text, const ConfLine& line) : line_{line} {
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (i == text.size() && depth != 0)
        line.reject("the brackets of '" + std::string{text} + "' do not match");
      if (i == text.size() || (depth == 0 && kSeparators.find(text[i]) != kSeparators.npos)) {
        if (i > begin) expand({}, text.substr(begin, i - begin));
        begin = i + 1;
        continue;
      }
      depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
      if (depth < 0 || depth > 1)
        line.reject("the brackets of '" + std::string{text} + "' do not match");
    }
  }
  [[nodiscard]] std::vector<std::string> release() { return std::move(names_); }

 private:
  void expand(const std::string& before, std::string_view rest) {
    const std::size_t open = rest.find('[');
    if (open == rest.npos) {
      if (names_.size() == kMostNames) line_.reject("there are too many names");
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
  /// Numbers keep the leading zeros of the first one.
  void expand_range(const std::string& head, std::string_view range, std::string_view tail) {
    const std::size_t dash = range.find('-');
    const std::string_view first = range.substr(0, dash);
    const std::string_view last = dash == range.npos ? first : range.substr(dash + 1);
    const std::size_t begin = number(first, range);
    const std::size_t end = number(last, range);
    if (end < begin || end - begin >= kMostNames)
      line_.reject("the range '" + std::string{range} + "' is empty or too long");
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
      line_.reject("'" + std::string{range} + "' is not a number or a range such as 01-16");
    return value;
  }

  const ConfLine& line_;
  std::vector<std::string> names_{};
};

/// A switch of the file.
struct Switch {
  ConfLine line{};
  std::string name{};
  std::vector<std::string> nodes{};
  std::vector<std::string> switches{};
};

Switch switch_of(const ConfLine& line) {
  Switch found{.line = line};
  ConfFields fields{line};
  while (const auto field = fields.next()) {
    const auto& [key, value] = *field;
    if (is_equal(key, "SwitchName")) found.name = value;
    else if (is_equal(key, "Nodes")) found.nodes = HostList{value, line}.release();
    else if (is_equal(key, "Switches")) found.switches = HostList{value, line}.release();
    else if (!is_equal(key, "LinkSpeed"))
      line.reject("unknown key '" + std::string{key} +
                  "': expected SwitchName, Nodes, Switches or LinkSpeed");
  }
  if (found.name.empty()) line.reject("there is no SwitchName");
  if (!found.nodes.empty() && !found.switches.empty())
    line.reject("switch " + found.name + " has both Nodes and Switches: expected one of them");
  return found;
}

std::vector<Switch> switches_of(std::string_view text) {
  std::vector<Switch> switches;
  std::size_t all = 0;
  for (const ConfLine& line : lines_of(text)) {
    if (line.text.find_first_not_of(kBlanks) == std::string::npos) continue;
    switches.push_back(switch_of(line));
    all += switches.back().nodes.size() + switches.back().switches.size() + 1;
    if (all > Topology::kMost) line.reject("there are too many names up to here");
  }
  return switches;
}

/// The numbers of hosts and switches, hosts first.
struct Vertices {
  std::vector<std::string> names{};
  std::map<std::string, int> hosts{};
  std::map<std::string, int> switches{};
};

Vertices vertices_of(const std::vector<Switch>& switches) {
  Vertices found;
  std::map<std::string, const Switch*> switch_of_host;
  for (const Switch& one : switches)
    for (const std::string& node : one.nodes) {
      const auto [leaf, is_new] = switch_of_host.emplace(node, &one);
      if (!is_new && leaf->second != &one)
        one.line.reject("node " + node + " is linked to two switches");
      if (is_new) found.names.push_back(node);
      found.hosts.emplace(node, static_cast<int>(found.hosts.size()));
    }
  for (const Switch& one : switches) {
    if (!found.switches.emplace(one.name, static_cast<int>(found.names.size())).second)
      one.line.reject("there are two switches " + one.name);
    found.names.push_back(one.name);
  }
  return found;
}

std::vector<Topology::Link> links_of(const std::vector<Switch>& switches, const Vertices& vertices,
                                     const LinkSpeed& speed) {
  std::vector<Topology::Link> links;
  std::set<int> linked;
  for (const Switch& one : switches) {
    const int own = vertices.switches.at(one.name);
    for (const std::string& node : one.nodes) {
      const int host = vertices.hosts.at(node);
      if (linked.insert(host).second) links.push_back({host, own, speed});
    }
    for (const std::string& other : one.switches) {
      const auto found = vertices.switches.find(other);
      if (found == vertices.switches.end()) one.line.reject("there is no switch " + other);
      if (found->second == own) one.line.reject("switch " + other + " is linked to itself");
      links.push_back({found->second, own, speed});
    }
  }
  return links;
}

/// A tree, which becomes one network.
struct Tree {
  std::vector<std::string> names{};
  int hosts = 0;
  std::vector<Topology::Link> links{};
};

}  // namespace

std::vector<NamedTopology> read_slurm_topology(std::string_view text, const LinkSpeed& speed) {
  const std::vector<Switch> switches = switches_of(text);
  const Vertices vertices = vertices_of(switches);
  std::vector<Topology::Link> links = links_of(switches, vertices, speed);
  const std::vector<int> tree_of = components_of(vertices.names.size(), links);
  std::map<int, std::size_t> order;  // of trees with hosts, by their first hosts
  std::vector<Tree> trees;
  std::vector<int> number(vertices.names.size());
  for (std::size_t i = 0; i < number.size(); ++i) {
    const bool is_host = i < vertices.hosts.size();
    if (is_host && order.emplace(tree_of[i], trees.size()).second) trees.emplace_back();
    const auto found = order.find(tree_of[i]);
    if (found == order.end()) continue;  // a switch without hosts
    Tree& tree = trees[found->second];
    number[i] = static_cast<int>(tree.names.size());
    tree.names.push_back(vertices.names[i]);
    tree.hosts += is_host ? 1 : 0;
  }
  for (Topology::Link& link : links) {
    const auto found = order.find(tree_of[static_cast<std::size_t>(link.a)]);
    if (found == order.end()) continue;
    link.a = number[static_cast<std::size_t>(link.a)];
    link.b = number[static_cast<std::size_t>(link.b)];
    trees[found->second].links.push_back(link);
  }
  if (trees.empty()) trees.emplace_back();  // it has no hosts, so Topology rejects it
  std::vector<NamedTopology> made;
  for (Tree& tree : trees) {
    const int others = static_cast<int>(tree.names.size()) - tree.hosts;
    made.push_back({Topology{"topology.conf", tree.hosts, others, std::move(tree.links)},
                    std::move(tree.names)});
  }
  return made;
}

}  // namespace tutti::v0
