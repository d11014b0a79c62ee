/// @file
/// Types that tests move between ranks, with all that cereal's traits have to offer.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <tutti/cereal.hpp>

namespace tutti::samples {

/// Numbers, with functions for cereal.
struct Point {
  std::int32_t x = 0;
  double y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

/// Has values without a name.
enum class Color : std::uint8_t { red = 1, green = 2, blue = 4 };

}  // namespace tutti::samples

/// The names of Color.
template <>
struct tutti::EnumValues<tutti::samples::Color> {
  static constexpr bool contains(std::uint8_t value) {
    return value == 1 || value == 2 || value == 4;
  }
};

namespace tutti::samples {

/// Encodes to no byte at all.
struct Nothing {
  std::string never{};  // Keeps it from being flat.
  template <class Archive>
  void serialize(Archive&) {}
  friend bool operator==(const Nothing&, const Nothing&) = default;
};

/// A type of any depth.
struct Tree {
  std::string name{};
  std::vector<Tree> children{};
  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, children);
  }
  friend bool operator==(const Tree&, const Tree&) = default;
};

/// A list that is held together by pointers.
struct Link {
  std::int32_t value = 0;
  std::unique_ptr<Link> next{};
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value, next);
  }
  friend bool operator==(const Link& a, const Link& b) {
    if (a.value != b.value || (a.next == nullptr) != (b.next == nullptr)) return false;
    return a.next == nullptr || *a.next == *b.next;
  }
};

/// Some of everything.
struct Person {
  std::string name{};
  std::map<std::string, std::vector<double>> scores{};
  std::optional<Color> color{};
  std::variant<std::int32_t, std::string, Point> anything{};
  std::array<bool, 3> flags{};
  std::vector<bool> bits{};
  std::set<std::uint16_t> numbers{};
  std::unordered_map<std::string, std::pair<char, float>> table{};
  std::tuple<std::int8_t, std::u16string> both{};
  std::deque<std::list<Color>> nested{};
  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, scores, color, anything, flags, bits, numbers, table, both, nested);
  }
  friend bool operator==(const Person&, const Person&) = default;
};

template <class Archive>
void serialize(Archive& archive, Point& point) {
  archive(point.x, point.y);
}

/// @param salt another one gives another person. @return somebody with something of everything.
[[nodiscard]] inline Person some_person(int salt) {
  Person person{};
  const auto count = static_cast<std::size_t>(salt % 5 + 1);
  person.name = "person " + std::to_string(salt);
  for (std::size_t i = 0; i < count; ++i) {
    person.scores[person.name + std::to_string(i)] = {0.5 * salt, -1, static_cast<double>(i)};
    person.numbers.insert(static_cast<std::uint16_t>(salt + static_cast<int>(i) * 100));
    person.table[std::to_string(i)] = {static_cast<char>('a' + salt % 26), 0.25F};
    person.nested.push_back({Color::red, Color::blue});
    person.bits.push_back(i % 2 == 0);
  }
  if (salt % 2 == 0) person.color = Color::green;
  if (salt % 3 == 0) person.anything = salt;
  else if (salt % 3 == 1) person.anything = std::string(count * 10, 'x');
  else person.anything = Point{salt, 0.125};
  person.flags = {true, false, salt % 2 == 0};
  person.both = {static_cast<std::int8_t>(salt), u"wide"};
  return person;
}

}  // namespace tutti::samples
