// Parses networks from one line of text.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "families.hpp"
#include "reject_network.hpp"

namespace tutti::v0 {
namespace {

constexpr std::array<std::string_view, 9> kFamilies{"switch:64",
                                                    "fat_tree:16x8:up=1x8",
                                                    "dragonfly:4x8x4:groups=33",
                                                    "torus:8x8x8",
                                                    "mesh:4x4:direct",
                                                    "hypercube:10",
                                                    "slim_fly:5",
                                                    "rails:4x8",
                                                    "gpus:8x4"};

/// The option of families whose routers are the hosts.
constexpr std::string_view kDirectWord = "direct";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t end = text.find(separator);
    words.push_back(text.substr(0, end));
    if (end == text.npos) return words;
    text.remove_prefix(end + 1);
  }
}

/// A suffix of a number, and its factor.
struct Unit {
  std::string_view name;
  double size;
};
constexpr Unit kTimes[]{{"ns", 1e6}, {"us", 1e9}, {"ms", 1e12}};
constexpr Unit kRates[]{{"M", 1e6}, {"G", 1e9}, {"T", 1e12}};

/// A parsed line.
class NetworkLine {
 public:
  explicit NetworkLine(std::string_view text) : text_{text} {
    std::vector<std::string_view> words = split(text, ':');
    family_ = words.front();
    if (words.size() < 2) reject("has no numbers");
    numbers_ = numbers(words[1]);
    for (std::size_t i = 2; i < words.size(); ++i) {
      const std::size_t equals = std::min(words[i].find('='), words[i].size());
      const bool is_word = words[i] == kDirectWord;
      if (equals == words[i].size() && !is_word)
        reject("has '" + std::string{words[i]} + "' instead of name=value");
      options_.emplace_back(words[i].substr(0, equals),
                            words[i].substr(std::min(equals + 1, words[i].size())));
    }
  }

  [[nodiscard]] Topology make() {
    const LinkSpeed usual = family_ == "gpus" ? gpu_speeds().rail : LinkSpeed{};
    const LinkSpeed speed{time("latency", usual.latency), rate(usual.per_byte)};
    Topology made = make(speed);
    if (!options_.empty())
      reject("has an option '" + std::string{options_.front().first} + "' that " +
               std::string{family_} + " does not have, or that is given twice");
    return made;
  }

 private:
  [[noreturn]] void reject(const std::string& what) const {
    reject_network("network '" + std::string{text_} + "' " + what + ": write such as " +
                   family_names());
  }
  [[nodiscard]] int number(std::string_view word) const {
    int value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || value < 0)
      reject("has '" + std::string{word} + "' instead of a number");
    return value;
  }
  [[nodiscard]] std::vector<int> numbers(std::string_view words) const {
    std::vector<int> numbers;
    for (const std::string_view word : split(words, 'x')) numbers.push_back(number(word));
    return numbers;
  }
  /// Removes an option. @return its value, or nothing.
  std::optional<std::string_view> extract(std::string_view name) {
    const auto found = std::ranges::find(options_, name, &Option::first);
    if (found == options_.end()) return std::nullopt;
    const std::string_view value = found->second;
    options_.erase(found);
    return value;
  }
  [[nodiscard]] int extract(std::string_view name, int otherwise) {
    const auto value = extract(name);
    return value ? number(*value) : otherwise;
  }
  /// @return the number of hosts of each router.
  [[nodiscard]] int extract_hosts() {
    if (std::ranges::find(options_, Option{kDirectWord, {}}) == options_.end()) {
      const int hosts = extract("hosts", 1);
      if (hosts == kDirect) reject("has routers of 0 hosts instead of 1 or more, or direct");
      return hosts;
    }
    (void)extract(kDirectWord);
    if (extract("hosts")) reject("has both direct and hosts");
    return kDirect;
  }
  template <std::size_t N>
  [[nodiscard]] double measure(std::string_view value, const Unit (&units)[N]) const {
    for (const Unit& unit : units) {
      if (!value.ends_with(unit.name)) continue;
      const std::string_view digits = value.substr(0, value.size() - unit.name.size());
      double number = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (error == std::errc{} && end == digits.data() + digits.size() && number >= 0 &&
          number * unit.size < 1e18)
        return number * unit.size;
    }
    reject("has '" + std::string{value} + "' instead of a number and its unit, such as " +
             "500ns or 100G");
  }
  Femtoseconds time(std::string_view name, Femtoseconds otherwise) {
    const auto value = extract(name);
    return value ? std::llround(measure(*value, kTimes)) : otherwise;
  }
  Femtoseconds rate(Femtoseconds otherwise) {
    const auto value = extract("bandwidth");
    if (!value) return otherwise;
    const double bits = measure(*value, kRates);
    if (bits == 0) reject("has no bandwidth");
    return std::llround(8e15 / bits);
  }
  /// Throws unless there are `count` numbers. @param meaning of the numbers.
  void expect(std::size_t count, const char* meaning) const {
    if (numbers_.size() != count)
      reject("has " + std::to_string(numbers_.size()) + " numbers, where " + std::string{family_} +
             " has " + meaning);
  }

  Topology make(const LinkSpeed& speed) {
    if (family_ == "switch") {
      expect(1, "one, of hosts");
      return single_switch(numbers_[0], speed);
    }
    if (family_ == "fat_tree") return make_fat_tree(speed);
    if (family_ == "dragonfly") {
      expect(3, "those of hosts of a router, routers of a group and links of a router to others");
      const std::int64_t most = std::int64_t{numbers_[1]} * numbers_[2] + 1;
      const int groups = static_cast<int>(std::min<std::int64_t>(most, Topology::kMost));
      return dragonfly(numbers_[0], numbers_[1], numbers_[2], extract("groups", groups), speed);
    }
    if (family_ == "torus") return torus(numbers_, Ends::joined, extract_hosts(), speed);
    if (family_ == "mesh") return torus(numbers_, Ends::open, extract_hosts(), speed);
    if (family_ == "hypercube") {
      expect(1, "one, the dimension");
      return hypercube(numbers_[0], extract_hosts(), speed);
    }
    if (family_ == "slim_fly") {
      expect(1, "one, its q");
      return slim_fly(numbers_[0], extract_hosts(), speed);
    }
    if (family_ == "gpus") {
      expect(2, "those of GPUs of a host and of hosts");
      return gpu_hosts(numbers_[0], numbers_[1], extract("islands", 1), speed);
    }
    if (family_ != "rails") reject("is of no known family");
    expect(2, "those of islands and of devices of an island");
    return rails(numbers_[0], numbers_[1], speed);
  }
  Topology make_fat_tree(const LinkSpeed& speed) {
    std::vector<int> up{1};
    if (const auto value = extract("up")) up = numbers(*value);
    else up.insert(up.end(), numbers_.begin(), numbers_.end() - 1);
    return fat_tree(numbers_, up, speed);
  }

  using Option = std::pair<std::string_view, std::string_view>;  // name and value

  std::string_view text_;
  std::string_view family_;
  std::vector<int> numbers_{};
  std::vector<Option> options_{};
};

}  // namespace

bool is_family(std::string_view word) {
  return std::ranges::any_of(kFamilies, [word](std::string_view example) {
    return example.substr(0, example.find(':')) == word;
  });
}

std::string family_names() {
  std::string names;
  for (const std::string_view example : kFamilies)
    names += (names.empty()                 ? ""
              : example == kFamilies.back() ? " or "
                                            : ", ") +
             std::string{example};
  return names;
}

Topology parse_topology(std::string_view text) {
  return NetworkLine{text}.make();
}

}  // namespace tutti::v0
