#include <tutti/spi/recording.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <istream>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>

#include <tutti/error.hpp>

namespace tutti::v0 {
namespace {

constexpr std::string_view kRecordingMark = "tutti recording 1\n";

/// A number within an element. Bytes of an element outside its components are padding, which is not
/// compared.
struct Component {
  std::size_t offset;
  std::size_t bytes;
  bool is_signed;
  std::uint64_t infinity;  // its bits; 0 for integers
  const char* name;        // empty if it is the whole element
};

/// @return the components of an element; none of an opaque one.
std::vector<Component> components_of(Datatype type) {
  const DatatypeTraits& traits = traits_of(type);
  const std::size_t bytes = traits.alignment;  // of a number
  switch (traits.kind) {
    case ElementKind::signed_integer:
    case ElementKind::real: return {{0, bytes, true, traits.infinity, ""}};
    case ElementKind::unsigned_integer: return {{0, bytes, false, 0, ""}};
    case ElementKind::complex:
      return {{0, bytes, true, traits.infinity, "real part "},
              {bytes, bytes, true, traits.infinity, "imaginary part "}};
    case ElementKind::indexed:
      return {{0, bytes, true, traits.infinity, "value "}, {bytes, 4, true, 0, "index "}};
    case ElementKind::opaque: break;
  }
  return {};
}

template <class T>
T read_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// @return the bits of a number of 1, 2, 4 or 8 bytes.
std::uint64_t bits_at(const std::byte* at, std::size_t bytes) {
  switch (bytes) {
    case 1: return read_as<std::uint8_t>(at);
    case 2: return read_as<std::uint16_t>(at);
    case 4: return read_as<std::uint32_t>(at);
    default: return read_as<std::uint64_t>(at);
  }
}

/// @return the position of a number on a line. Neighbouring floating-point numbers, whose bits are
/// a sign and a size, are one apart. The arithmetic is unsigned, so that any two have a difference.
std::uint64_t place_of(const Component& component, std::uint64_t bits) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * component.bytes - 1);
  if (!component.is_signed || (bits & sign) == 0) return bits;
  return component.infinity != 0 ? 0 - (bits & ~sign) : bits - sign - sign;
}

/// @return the distance of two numbers, or nothing if one is NaN.
std::optional<std::uint64_t> distance_of(const Component& component, std::uint64_t a,
                                         std::uint64_t b) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * component.bytes - 1);
  if (component.infinity != 0 &&
      ((a & ~sign) > component.infinity || (b & ~sign) > component.infinity))
    return std::nullopt;
  const std::uint64_t first = place_of(component, a);
  const std::uint64_t second = place_of(component, b);
  // Positions compare as signed numbers, except those of unsigned elements.
  constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;
  const std::uint64_t flip = component.is_signed ? kSignBit : 0;
  return (first ^ flip) < (second ^ flip) ? second - first : first - second;
}

/// @return a number with all its digits, in any locale.
template <class Number>
std::string text_of(Number number) {
  std::array<char, 32> text{};
  return {text.data(),
          std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::general,
                        std::numeric_limits<Number>::max_digits10)
              .ptr};
}

/// @return a component as text, with all its digits.
std::string text_of(Datatype type, const Component& component, const std::byte* at) {
  if (component.infinity == 0) {
    const std::uint64_t place = place_of(component, bits_at(at, component.bytes));
    return component.is_signed ? std::to_string(static_cast<std::int64_t>(place))
                               : std::to_string(place);
  }
  if (component.bytes == 8) return text_of(read_as<double>(at));
  if (type == Datatype::f16) return text_of(static_cast<float>(read_as<Float16>(at)));
  if (type == Datatype::bf16) return text_of(static_cast<float>(read_as<BFloat16>(at)));
  return text_of(read_as<float>(at));
}

std::string words_of(const Component& component, std::optional<std::uint64_t> distance) {
  if (!distance) return "not a number on one side at least, or other bits of it";
  const std::string number = std::to_string(*distance);
  if (component.infinity == 0) return number + " apart";
  if (*distance == 0) return "zeros of unlike sign";
  return number + (*distance == 1 ? " unit" : " units") + " in the last place apart";
}

/// Compares one element. @return whether it differs, as noted in `found`.
bool differs(const RecordedResult& a, const RecordedResult& b,
             const std::vector<Component>& components, Difference& found) {
  const std::byte* const first = a.bytes.data() + found.element * a.element_bytes;
  const std::byte* const second = b.bytes.data() + found.element * a.element_bytes;
  for (const Component& component : components) {
    const std::uint64_t x = bits_at(first + component.offset, component.bytes);
    const std::uint64_t y = bits_at(second + component.offset, component.bytes);
    if (x == y) continue;
    found.distance = distance_of(component, x, y);
    found.explanation = component.name + text_of(a.type, component, first + component.offset) +
                        " and " + text_of(a.type, component, second + component.offset) + ", " +
                        words_of(component, found.distance);
    return true;
  }
  if (!components.empty()) return false;
  const std::byte* const end = first + a.element_bytes;
  const auto byte = std::mismatch(first, end, second).first;
  if (byte == end) return false;
  found.explanation = "byte " + std::to_string(byte - first) + " of an opaque element";
  return true;
}

/// @return a text about a difference of the calls themselves, before their elements; empty if there
/// is none.
std::string mismatch_of(const RecordedResult& a, const RecordedResult& b) {
  if (a.name != b.name) return "the second run calls it \"" + b.name + "\"";
  if (a.type != b.type)
    return std::string{name_of(a.type)} + " and " + std::string{name_of(b.type)} + " elements";
  if (a.element_bytes != b.element_bytes)
    return "elements of " + std::to_string(a.element_bytes) + " and " +
           std::to_string(b.element_bytes) + " bytes";
  if (a.bytes.size() != b.bytes.size())
    return std::to_string(a.bytes.size() / a.element_bytes) + " and " +
           std::to_string(b.bytes.size() / b.element_bytes) + " elements";
  return {};
}

/// Compares one call of one rank. @return whether it differs, as noted in `found`.
bool differs(const RecordedResult& a, const RecordedResult& b, Difference& found) {
  found.name = a.name;
  found.explanation = mismatch_of(a, b);
  if (!found.explanation.empty()) return true;
  if (a.bytes == b.bytes) return false;
  const std::vector<Component> components = components_of(a.type);
  const std::size_t count = a.bytes.size() / a.element_bytes;
  for (found.element = 0; found.element < count; ++found.element)
    if (differs(a, b, components, found)) return true;
  return false;
}

void put_number(std::ostream& to, std::uint64_t number) {
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(number >> (8 * i));
  to.write(bytes.data(), bytes.size());
}

/// Reads `count` bytes in portions, since a damaged file may have any count: memory grows only as
/// bytes come.
std::string get_bytes(std::istream& from, std::uint64_t count) {
  constexpr std::uint64_t kPortion = 1 << 20;
  std::string bytes;
  while (count > bytes.size()) {
    const std::size_t before = bytes.size();
    bytes.resize(before + static_cast<std::size_t>(std::min(kPortion, count - before)));
    from.read(bytes.data() + before, static_cast<std::streamsize>(bytes.size() - before));
    if (!from) throw Error{ErrorCode::invalid_argument, "the recording ends too early"};
  }
  return bytes;
}

std::uint64_t get_number(std::istream& from) {
  const std::string bytes = get_bytes(from, 8);
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

}  // namespace

void Recording::write(std::ostream& to) const {
  to << kRecordingMark;
  put_number(to, results_.size());
  for (const RecordedResult& result : results_) {
    put_number(to, result.name.size());
    to << result.name;
    put_number(to, static_cast<std::uint64_t>(result.type));
    put_number(to, result.element_bytes);
    put_number(to, result.bytes.size());
    to.write(reinterpret_cast<const char*>(result.bytes.data()),
             static_cast<std::streamsize>(result.bytes.size()));
  }
}

Recording Recording::read(std::istream& from) {
  if (get_bytes(from, kRecordingMark.size()) != kRecordingMark)
    throw Error{ErrorCode::invalid_argument, "this is no recording, or one of another version"};
  Recording recording;
  for (std::uint64_t left = get_number(from); left > 0; --left) {
    RecordedResult result{.name = get_bytes(from, get_number(from))};
    const std::uint64_t type = get_number(from);
    result.type = static_cast<Datatype>(type);
    result.element_bytes = get_number(from);
    const std::string bytes = get_bytes(from, get_number(from));
    const bool is_known = type < static_cast<std::uint64_t>(kDatatypes);
    const std::size_t expected = is_known ? size_of(result.type) : 0;
    if (!is_known || result.element_bytes == 0 || bytes.size() % result.element_bytes != 0 ||
        (result.type != Datatype::opaque && result.element_bytes != expected))
      throw Error{ErrorCode::invalid_argument,
                  "the recording has elements that cannot be, in \"" + result.name + "\""};
    const auto data = std::as_bytes(std::span{bytes});
    result.bytes.assign(data.begin(), data.end());
    recording.results_.push_back(std::move(result));
  }
  return recording;
}

std::string Difference::text() const {
  return "call " + std::to_string(call) + " (" + name + "), rank " + std::to_string(rank) +
         ", element " + std::to_string(element) + ": " + explanation;
}

std::optional<Difference> first_difference(std::span<const Recording> first,
                                           std::span<const Recording> second) {
  if (first.size() != second.size())
    throw Error{ErrorCode::invalid_argument, "recordings of " + std::to_string(first.size()) +
                                                 " and of " + std::to_string(second.size()) +
                                                 " ranks cannot be compared"};
  std::size_t calls = 0;
  for (const auto& run : {first, second})
    for (const Recording& rank : run) calls = std::max(calls, rank.results().size());
  for (std::size_t call = 0; call < calls; ++call)
    for (std::size_t rank = 0; rank < first.size(); ++rank) {
      const auto a = first[rank].results();
      const auto b = second[rank].results();
      if (call >= a.size() && call >= b.size()) continue;
      Difference found{.call = call, .rank = static_cast<Rank>(rank)};
      if (call >= a.size() || call >= b.size()) {
        found.name = (call < a.size() ? a : b)[call].name;
        found.explanation =
            call < a.size() ? "the second run has no such call" : "the first run has no such call";
        return found;
      }
      if (differs(a[call], b[call], found)) return found;
    }
  return std::nullopt;
}

}  // namespace tutti::v0
