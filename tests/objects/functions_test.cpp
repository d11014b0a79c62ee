// Types of numbers that have functions for cereal, or a Codec: these are called, wherever an object
// lies.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <tutti/cereal.hpp>
#include <tutti/type_name.hpp>

#include "tests/fuzz/object_input.hpp"

namespace other {

/// Each saves its number plus one, as text or as a wider number, and refuses 13.
inline std::int32_t loaded(std::int64_t number) {
  if (number == 14) throw std::runtime_error{"13 is no index"};
  return static_cast<std::int32_t>(number - 1);
}

struct Serialized {
  std::int32_t index = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    std::int64_t wide = std::int64_t{index} + 1;
    archive(wide);
    index = loaded(wide);
  }
  friend bool operator==(const Serialized&, const Serialized&) = default;
};

struct SavedAndLoaded {
  std::int32_t index = 0;
  template <class Archive>
  void save(Archive& archive) const {
    archive(std::int64_t{index} + 1);
  }
  template <class Archive>
  void load(Archive& archive) {
    std::int64_t wide = 0;
    archive(wide);
    index = loaded(wide);
  }
  friend bool operator==(const SavedAndLoaded&, const SavedAndLoaded&) = default;
};

struct Minimal {
  std::int32_t index = 0;
  template <class Archive>
  std::string save_minimal(const Archive&) const {
    return std::to_string(index + 1);
  }
  template <class Archive>
  void load_minimal(const Archive&, const std::string& text) {
    index = loaded(std::stoi(text));
  }
  friend bool operator==(const Minimal&, const Minimal&) = default;
};

struct Versioned {
  std::int32_t index = 0;
  template <class Archive>
  void serialize(Archive& archive, const std::uint32_t version) {
    std::int64_t wide = std::int64_t{index} + 1 + version;
    archive(wide);
    index = loaded(wide - version);
  }
  friend bool operator==(const Versioned&, const Versioned&) = default;
};

struct Private {
  std::int32_t index = 0;
  friend bool operator==(const Private&, const Private&) = default;

 private:
  friend class cereal::access;
  template <class Archive>
  void save(Archive& archive) const {
    archive(std::int64_t{index} + 1);
  }
  template <class Archive>
  void load(Archive& archive) {
    std::int64_t wide = 0;
    archive(wide);
    index = loaded(wide);
  }
};

struct Final final {
  std::int32_t index = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    std::int64_t wide = std::int64_t{index} + 1;
    archive(wide);
    index = loaded(wide);
  }
  friend bool operator==(const Final&, const Final&) = default;
};

struct PrivateFinal final {
  std::int32_t index = 0;
  friend bool operator==(const PrivateFinal&, const PrivateFinal&) = default;

 private:
  friend class cereal::access;
  template <class Archive>
  std::string save_minimal(const Archive&) const {
    return std::to_string(index + 1);
  }
  template <class Archive>
  void load_minimal(const Archive&, const std::string& text) {
    index = loaded(std::stoi(text));
  }
};

struct Derived : Serialized {
  friend bool operator==(const Derived&, const Derived&) = default;
};

struct Free {
  std::int32_t index = 0;
  friend bool operator==(const Free&, const Free&) = default;
};
template <class Archive>
void serialize(Archive& archive, Free& object) {
  std::int64_t wide = std::int64_t{object.index} + 1;
  archive(wide);
  object.index = loaded(wide);
}

struct FreeVersioned {
  std::int32_t index = 0;
  friend bool operator==(const FreeVersioned&, const FreeVersioned&) = default;
};
template <class Archive>
void serialize(Archive& archive, FreeVersioned& object, std::uint32_t /*version*/) {
  std::int64_t wide = std::int64_t{object.index} + 1;
  archive(wide);
  object.index = loaded(wide);
}

struct FreeMinimal {
  std::int32_t index = 0;
  friend bool operator==(const FreeMinimal&, const FreeMinimal&) = default;
};
template <class Archive>
std::string save_minimal(const Archive&, const FreeMinimal& object) {
  return std::to_string(object.index + 1);
}
template <class Archive>
void load_minimal(const Archive&, FreeMinimal& object, const std::string& text) {
  object.index = loaded(std::stoi(text));
}

/// Its functions are for the archives of tutti alone.
struct OfTutti {
  std::int32_t index = 0;
  friend bool operator==(const OfTutti&, const OfTutti&) = default;
};
inline void save(tutti::ObjectWriter& archive, const OfTutti& object) {
  archive(std::int64_t{object.index} + 1);
}
inline void load(tutti::ObjectReader& archive, OfTutti& object) {
  std::int64_t wide = 0;
  archive(wide);
  object.index = loaded(wide);
}

/// Its functions stand in cereal's namespace, below.
struct OfALibrary {
  std::int32_t index = 0;
  friend bool operator==(const OfALibrary&, const OfALibrary&) = default;
};

enum class Named : std::int32_t { zero = 0, one = 1, twelve = 12, thirteen = 13 };
template <class Archive>
std::string save_minimal(const Archive&, const Named& name) {
  return std::to_string(static_cast<int>(name) + 1);
}
template <class Archive>
void load_minimal(const Archive&, Named& name, const std::string& text) {
  name = static_cast<Named>(loaded(std::stoi(text)));
}

struct Coded {
  std::int32_t index = 0;
  friend bool operator==(const Coded&, const Coded&) = default;
};

// None of these has functions for cereal.
struct NamesOnly {
  float load = 0;
  std::uint8_t serialize = 0;
  std::int16_t save_minimal = 0;
};
struct HalfOfThem {
  int x = 0;
  void save(const char*) const {}
};
struct Streamed {
  int x = 0;
};
inline void save(std::string&, const Streamed&) {}
inline void load(const std::string&, Streamed&) {}
enum class Plain : std::uint8_t {};

}  // namespace other

namespace cereal {
template <class Archive>
void save(Archive& archive, const other::OfALibrary& object) {
  archive(std::int64_t{object.index} + 1);
}
template <class Archive>
void load(Archive& archive, other::OfALibrary& object) {
  std::int64_t wide = 0;
  archive(wide);
  object.index = other::loaded(wide);
}
}  // namespace cereal

template <>
struct tutti::Codec<other::Coded> {
  static void encode(Encoder& to, const other::Coded& object) {
    to.put(std::int64_t{object.index} + 1);
  }
  static void decode(Decoder& from, other::Coded& object) {
    object.index = other::loaded(from.get<std::int64_t>());
  }
};

namespace tutti::v0 {
namespace {

template <class T>
class OwnFunctions : public testing::Test {};
using Types = testing::Types<other::Serialized, other::SavedAndLoaded, other::Minimal,
                             other::Versioned, other::Private, other::Final, other::PrivateFinal,
                             other::Derived, other::Free, other::FreeVersioned, other::FreeMinimal,
                             other::OfTutti, other::OfALibrary, other::Named, other::Coded>;
TYPED_TEST_SUITE(OwnFunctions, Types);

template <class T>
T make(int index) {
  if constexpr (std::is_enum_v<T>) return static_cast<T>(index);
  else {
    T object;
    object.index = index;
    return object;
  }
}

template <class T>
std::vector<std::byte> bytes_of(const T& object) {
  Encoder encoder = fuzz::encoded(object);
  return {encoder.data(), encoder.data() + encoder.size()};
}

/// @param good comes back, since its functions are called both ways. @param bad does not.
template <class T>
void expect_called(const T& good, const T& bad) {
  EXPECT_FALSE(is_flat<T> && decodes_over<T>) << type_name<T>;
  const std::vector<std::byte> bytes = bytes_of(good);
  EXPECT_EQ(fuzz::decoded<T>(bytes), good) << type_name<T>;
  EXPECT_THROW(static_cast<void>(fuzz::decoded<T>(bytes_of(bad))), std::runtime_error)
      << type_name<T>;
}

TYPED_TEST(OwnFunctions, AreCalledOfObjectsAlone) {
  using T = TypeParam;
  expect_called(make<T>(1), make<T>(13));
  EXPECT_NE(bytes_of(make<T>(1)).size(), sizeof(T));
}

TYPED_TEST(OwnFunctions, AreCalledOfObjectsInContainers) {
  using T = TypeParam;
  if constexpr (std::is_same_v<T, other::Coded>) {
    using Array = std::array<T, 2>;
    EXPECT_FALSE(is_flat<Array>);
  } else {
    expect_called(std::array{make<T>(1), make<T>(12)}, std::array{make<T>(0), make<T>(13)});
    expect_called(std::optional{make<T>(1)}, std::optional{make<T>(13)});
    expect_called(std::pair{1, make<T>(1)}, std::pair{1, make<T>(13)});
    expect_called(std::tuple{make<T>(1), 2}, std::tuple{make<T>(13), 2});
    expect_called(std::variant<int, T>{make<T>(1)}, std::variant<int, T>{make<T>(13)});
    expect_called(std::map<std::string, T>{{"a", make<T>(1)}},
                  std::map<std::string, T>{{"a", make<T>(13)}});
  }
  expect_called(std::vector{make<T>(1), make<T>(12)}, std::vector{make<T>(0), make<T>(13)});
}

template <class T>
struct Holder {
  std::int32_t before;
  T object;
  T more[2];
};

TYPED_TEST(OwnFunctions, KeepWhatHoldsThemFromBeingFlat) {
  using T = TypeParam;
  EXPECT_FALSE((is_flat<Holder<T>> || is_flat<T[2]> || is_flat<std::array<T, 2>>));
  EXPECT_FALSE(Encodable<Holder<T>>) << "the compiler asks for functions";
}

TEST(NamesOfFunctions, AloneAreNone) {
  EXPECT_TRUE((is_flat<other::NamesOnly> && is_flat<other::HalfOfThem>));
  EXPECT_TRUE((is_flat<other::Streamed> && is_flat<other::Plain>));
  EXPECT_TRUE((is_flat<Indexed<float>> && is_flat<Collective>)) << "tutti's own types";
}

}  // namespace
}  // namespace tutti::v0
