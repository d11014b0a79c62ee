// Objects of cereal's traits: they come back, and no bytes do harm.
#include <gtest/gtest.h>

#include <complex>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <tutti/type_name.hpp>

#include "tests/fuzz/object_input.hpp"
#include "tests/support/replaced_new.hpp"

namespace tutti::v0 {
namespace {

using fuzz::decoded;
using fuzz::encoded;
using samples::Link;
using samples::Person;
using samples::Tree;

template <class T>
std::vector<std::byte> bytes_of(const T& object) {
  Encoder encoder = encoded(object);
  return {encoder.data(), encoder.data() + encoder.size()};
}

template <class T>
void expect_back(const T& object) {
  EXPECT_EQ(decoded<T>(bytes_of(object)), object) << type_name<T>;
}

/// @return why bytes are no object; empty if they are one.
template <class T>
std::string refusal_of(std::span<const std::byte> bytes) {
  try {
    static_cast<void>(decoded<T>(bytes));
  } catch (const std::bad_alloc&) {
    return "memory ran out";
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

std::vector<std::byte> number(std::uint64_t value) {
  std::vector<std::byte> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

Tree chain(int depth) {
  Tree tree{.name = "leaf"};
  for (int i = 1; i < depth; ++i) {
    Tree parent{.name = "node"};
    parent.children.push_back(std::move(tree));
    tree = std::move(parent);
  }
  return tree;
}

Link links(int count) {
  Link first{.value = 0};
  for (int i = 1; i < count; ++i) {
    auto next = std::make_unique<Link>(std::move(first));
    first = Link{.value = i, .next = std::move(next)};
  }
  return first;
}

/// A number that cereal takes for bytes.
struct Raw {
  std::string never{};  // Keeps it from being flat.
  std::int32_t value = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::binary_data(&value, sizeof value));
  }
};

/// A type of any depth, with a part at every level.
template <class Part>
struct Line {
  Part part{};
  std::unique_ptr<Line> next{};
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::make_nvp("part", part), next);
  }
};

/// A type of plain bytes without functions of cereal.
struct Pixel {
  std::int32_t x = 0;
  std::array<float, 2> colors{};
  friend bool operator==(const Pixel&, const Pixel&) = default;
};

// Types that are copied as bytes alone are copied so in containers too, many at once.
TEST(CerealObjects, HoldFlatOnesAsTheirBytes) {
  const Pixel pixel{7, {0.5F, -1}};
  const std::size_t count = sizeof(std::uint64_t);
  EXPECT_EQ(bytes_of(std::vector<Pixel>(5, pixel)).size(), count + 5 * sizeof(Pixel));
  EXPECT_EQ(bytes_of(std::optional<Pixel>{pixel}).size(), 1 + sizeof(Pixel));
  EXPECT_EQ(bytes_of(std::vector<samples::Point>(3)).size(), count + 3 * (4 + 8))
      << "as its functions for cereal say";
  expect_back(std::vector<Pixel>{pixel, {}, pixel});
  expect_back(std::map<std::string, Pixel>{{"a", pixel}, {"b", {}}});
  expect_back(std::vector<std::list<std::pair<Pixel, std::string>>>{{{pixel, "p"}}, {}});
  expect_back(std::vector<std::array<Pixel, 2>>{{pixel, Pixel{}}});
  expect_back(std::map<std::string, std::array<int, 0>>{{"nothing", {}}});
  expect_back(std::vector<std::complex<float>>{{1, 2}, {3, 4}});
  EXPECT_EQ(decoded<std::vector<BFloat16>>(bytes_of(std::vector{BFloat16{1.5F}})).size(), 1U);
  std::vector<std::byte> cut = bytes_of(std::vector<Pixel>(5, pixel));
  cut.pop_back();
  EXPECT_EQ(refusal_of<std::vector<Pixel>>(cut), "its bytes end in the middle of it");
}

TEST(CerealObjects, ComeBack) {
  for (int salt = 0; salt < 30; ++salt) expect_back(samples::some_person(salt));
  expect_back(std::string{});
  for (const char16_t* letters : {u"", u"\u00e9", u"wide letters"})
    expect_back(std::u16string{letters});
  expect_back(std::map<std::string, std::string>{{"", "x"}, {"y", ""}});
  expect_back(std::vector<samples::Nothing>(1000));
  expect_back(std::list<samples::Nothing>(3));
  expect_back(std::vector<samples::Point>{{1, 2}, {3, 4}});
  expect_back(std::vector<std::vector<bool>>{{true, false}, {}, {false}});
  expect_back(std::deque<std::string>{"a", "bc"});
  expect_back(chain(10));
  EXPECT_EQ(decoded<Link>(bytes_of(links(20))), links(20));
}

/// Decodes over what is there, which must not show.
template <class T>
void expect_over(T there, const T& object) {
  ASSERT_TRUE(decodes_over<T>) << type_name<T>;
  const std::vector<std::byte> bytes = bytes_of(object);
  Decoder decoder{bytes};
  Codec<T>::decode(decoder, there);
  EXPECT_EQ(there, object) << type_name<T>;
}

TEST(CerealObjects, MayTakeThePlaceOfOthers) {
  using Map = std::map<std::string, std::vector<std::string>>;
  const Map few{{"b", {"x"}}};
  const Map many{{"a", {"1", "2"}}, {"b", {}}, {"c", {"3"}}};
  expect_over(few, many);
  expect_over(many, few);
  expect_over(many, Map{});
  using People = std::map<int, std::optional<int>>;
  expect_over(People{{1, 5}, {2, 6}}, People{{1, {}}, {3, 7}});
  expect_over(std::vector<std::string>{"long enough to have memory of its own", "b"},
              std::vector<std::string>{"a"});
  EXPECT_FALSE(decodes_over<samples::Person>) << "its function may leave members alone";
}

TEST(CerealObjects, LieAtMostSoDeep) {
  // Each node is an object in a vector: two levels. Each link is one.
  EXPECT_NO_THROW(expect_back(chain(kDeepestObject / 2)));
  EXPECT_THROW(static_cast<void>(encoded(chain(kDeepestObject))), Error);
  EXPECT_NO_THROW(static_cast<void>(bytes_of(links(kDeepestObject))));
  EXPECT_THROW(static_cast<void>(encoded(links(kDeepestObject + 1))), Error);
  std::vector<std::byte> endless;
  for (int i = 0; i < 100000; ++i) {
    endless.insert(endless.end(), 4, std::byte{});  // the value
    endless.push_back(std::byte{1});                // another one follows
  }
  EXPECT_NE(refusal_of<Link>(endless).find("deep"), std::string::npos);
}

/// Objects are counted, not what cereal wraps their parts in. @param levels of a part by itself.
template <class Part>
void expect_deepest(const Part& part, int levels) {
  Line<Part> line{part, nullptr};
  for (int i = 1; i < kDeepestObject - levels; ++i)
    line = {part, std::make_unique<Line<Part>>(std::move(line))};
  EXPECT_NO_THROW(static_cast<void>(decoded<Line<Part>>(bytes_of(line)))) << type_name<Part>;
  line = {part, std::make_unique<Line<Part>>(std::move(line))};
  EXPECT_THROW(static_cast<void>(encoded(line)), Error) << type_name<Part>;
}

TEST(CerealObjects, HavePartsAtTheDeepest) {
  expect_deepest(std::string{"text"}, 0);
  expect_deepest(samples::Color::red, 0);
  expect_deepest(std::set<int>{1, 2}, 1);
  expect_deepest(std::map<int, std::string>{{1, "one"}}, 1);
  expect_deepest(Raw{}, 1);
}

TEST(HostileBytes, ThatAreCutAnywhereAreAnError) {
  const std::vector<std::byte> whole = bytes_of(samples::some_person(3));
  for (std::size_t length = 0; length < whole.size(); ++length)
    ASSERT_NE(refusal_of<Person>(std::span{whole}.first(length)), "") << length;
  std::vector<std::byte> longer = whole;
  longer.push_back(std::byte{});
  EXPECT_NE(refusal_of<Person>(longer).find("more bytes follow"), std::string::npos);
}

TEST(HostileBytes, WithAnyBitFlippedAreAnErrorOrAnObject) {
  std::size_t refused = 0;
  for (const int salt : {0, 1, 2}) {
    std::vector<std::byte> bytes = bytes_of(samples::some_person(salt));
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      const std::byte mask{static_cast<unsigned char>(1U << bit % 8)};
      bytes[bit / 8] ^= mask;
      refused += refusal_of<Person>(bytes).empty() ? 0 : 1;
      fuzz::run_object_of<Person>(bytes);
      bytes[bit / 8] ^= mask;
    }
  }
  EXPECT_GT(refused, 1000U);
}

TEST(HostileBytes, OfAnyKindNeverDoHarm) {
  std::mt19937_64 random{7};
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 3000; ++i) {
    bytes.resize(random() % 100 + 1);
    for (std::uint8_t& byte : bytes)
      byte = random() % 2 == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(random() % 8);
    fuzz::run_object(bytes);
  }
}

/// Bytes that eight of them make a decoder allocate: none that they do not fill.
template <class T>
void expect_harmless(std::uint64_t count) {
  std::vector<std::byte> bomb = number(count);
  bomb.insert(bomb.end(), 16, std::byte{});
  const harness::Count counts{true};
  const std::uint64_t before = harness::allocated_bytes;
  EXPECT_NE(refusal_of<T>(bomb), "") << type_name<T> << " of " << count;
  EXPECT_LT(harness::allocated_bytes - before, 4096U) << type_name<T> << " of " << count;
}

TEST(HostileBytes, ThatClaimMuchAllocateLittle) {
  for (const std::uint64_t count :
       {std::uint64_t{17}, std::uint64_t{1} << 30, std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    expect_harmless<std::string>(count);
    expect_harmless<std::u16string>(count);
    expect_harmless<std::vector<std::uint8_t>>(count);
    expect_harmless<std::vector<double>>(count);
    expect_harmless<std::vector<bool>>(count);
    expect_harmless<std::vector<std::string>>(count);
    expect_harmless<std::vector<std::array<std::string, 50>>>(count);
    expect_harmless<std::vector<samples::Nothing>>(count);
    expect_harmless<std::deque<std::string>>(count);
    expect_harmless<std::list<std::string>>(count);
    expect_harmless<std::map<std::string, std::string>>(count);
    expect_harmless<std::set<std::string>>(count);
    expect_harmless<std::unordered_map<std::string, std::string>>(count);
    expect_harmless<std::unordered_set<std::string>>(count);
  }
}

TEST(HostileBytes, AreNoEnumeratorsAndNoBools) {
  const std::byte three{3};
  EXPECT_NE(refusal_of<samples::Color>({&three, 1}), "");
  const std::byte two[4] = {std::byte{1}, std::byte{2}};
  EXPECT_NE((refusal_of<std::array<bool, 4>>(two)), "");
  EXPECT_NE(refusal_of<std::optional<std::int16_t>>(std::span{two}.subspan(1)), "");
  for (const std::int32_t index : {-1, 2, 1 << 30})
    EXPECT_NE((refusal_of<std::variant<int, std::string>>(std::as_bytes(std::span{&index, 1})))
                  .find("a variant in it has an alternative that does not exist"),
              std::string::npos)
        << index;
}

TEST(HostileBytes, OfTheFuzzersSeedsDoNoHarm) {
  int seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator{TUTTI_OBJECT_SEEDS}) {
    std::ifstream file{entry.path(), std::ios::binary};
    const std::vector<char> bytes{std::istreambuf_iterator<char>{file}, {}};
    fuzz::run_object({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    ++seeds;
  }
  EXPECT_GE(seeds, static_cast<int>(std::size(fuzz::kRuns)));
}

}  // namespace
}  // namespace tutti::v0
