// GradientOptions as a file: lines of a name and a value.
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

#include <tutti/gradient_sync.hpp>

#include "codec.hpp"

namespace tutti::inline v0 {
namespace {

using Text = std::string_view;

Text trimmed(Text text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == Text::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

constexpr std::array<Text, 3> kOrders{"reversed", "observed", "negotiated"};
constexpr std::array<Text, 3> kStorages{"copies", "views", "flat"};
constexpr std::array<Text, 3> kUnused{"error", "zeros", "detect"};
constexpr std::array<Text, 2> kSwitches{"off", "on"};

/// Finds a word. Returns whether it is one of them.
template <class T, std::size_t N>
bool read_word(Text text, const std::array<Text, N>& words, T& value) {
  for (std::size_t i = 0; i < N; ++i)
    if (words[i] == text) {
      value = static_cast<T>(i);
      return true;
    }
  return false;
}

template <class T>
bool read_number(Text text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= T{};
}

bool read_bytes(Text text, std::size_t& value) {
  if (text != "flat") return read_number(text, value);
  value = GradientOptions::kFlat;
  return true;
}

bool read_compression(Text text, std::string& value) {
  if (!text.empty()) static_cast<void>(detail::parse_compression(std::string{text}));
  value = text;
  return true;
}

std::string text_of_bytes(std::size_t bytes) {
  return bytes == GradientOptions::kFlat ? "flat" : std::to_string(bytes);
}

/// One line of a file: how to read it, and how to write it.
struct Setting {
  Text name;
  Text expected;
  bool (*read)(Text, GradientOptions&);
  std::string (*write)(const GradientOptions&);
};

constexpr Setting kSettings[]{
    {"bucket_bytes", "a number of bytes, or flat",
     [](Text text, GradientOptions& o) { return read_bytes(text, o.bucket_bytes); },
     [](const GradientOptions& o) { return text_of_bytes(o.bucket_bytes); }},
    {"first_bucket_bytes", "a number of bytes",
     [](Text text, GradientOptions& o) { return read_number(text, o.first_bucket_bytes); },
     [](const GradientOptions& o) { return std::to_string(o.first_bucket_bytes); }},
    {"in_place_bytes", "a number of bytes",
     [](Text text, GradientOptions& o) { return read_number(text, o.in_place_bytes); },
     [](const GradientOptions& o) { return std::to_string(o.in_place_bytes); }},
    {"order", "reversed, observed or negotiated",
     [](Text text, GradientOptions& o) { return read_word(text, kOrders, o.order); },
     [](const GradientOptions& o) {
       return std::string{kOrders[static_cast<std::size_t>(o.order)]};
     }},
    {"storage", "copies, views or flat",
     [](Text text, GradientOptions& o) { return read_word(text, kStorages, o.storage); },
     [](const GradientOptions& o) {
       return std::string{kStorages[static_cast<std::size_t>(o.storage)]};
     }},
    {"unused", "error, zeros or detect",
     [](Text text, GradientOptions& o) { return read_word(text, kUnused, o.unused); },
     [](const GradientOptions& o) {
       return std::string{kUnused[static_cast<std::size_t>(o.unused)]};
     }},
    {"average", "on or off",
     [](Text text, GradientOptions& o) { return read_word(text, kSwitches, o.average); },
     [](const GradientOptions& o) { return std::string{kSwitches[o.average ? 1 : 0]}; }},
    {"check_finite", "on or off",
     [](Text text, GradientOptions& o) { return read_word(text, kSwitches, o.check_finite); },
     [](const GradientOptions& o) { return std::string{kSwitches[o.check_finite ? 1 : 0]}; }},
    {"norm", "on or off",
     [](Text text, GradientOptions& o) { return read_word(text, kSwitches, o.norm); },
     [](const GradientOptions& o) { return std::string{kSwitches[o.norm ? 1 : 0]}; }},
    {"in_flight", "a number of buckets",
     [](Text text, GradientOptions& o) { return read_number(text, o.in_flight); },
     [](const GradientOptions& o) { return std::to_string(o.in_flight); }},
    {"verify_every", "a number of steps",
     [](Text text, GradientOptions& o) { return read_number(text, o.verify_every); },
     [](const GradientOptions& o) { return std::to_string(o.verify_every); }},
    {"algorithm", "the name of an all_reduce algorithm, or nothing",
     [](Text text, GradientOptions& o) {
       o.algorithm = text;
       return true;
     },
     [](const GradientOptions& o) { return o.algorithm; }},
    {"compression", "as of GradientOptions::compression, or nothing",
     [](Text text, GradientOptions& o) { return read_compression(text, o.compression); },
     [](const GradientOptions& o) { return o.compression; }},
    {"compression_after", "a number of steps",
     [](Text text, GradientOptions& o) { return read_number(text, o.compression_after); },
     [](const GradientOptions& o) { return std::to_string(o.compression_after); }},
};

std::string known_names() {
  std::string names;
  for (const Setting& setting : kSettings)
    names += (names.empty() ? "" : ", ") + std::string{setting.name};
  return names;
}

/// Reads a line. Throws Error that says what is wrong.
void read_line(Text line, GradientOptions& options) {
  const auto refuse = [](const std::string& text) {
    throw Error{ErrorCode::invalid_argument, text};
  };
  const std::size_t equals = line.find('=');
  if (equals == Text::npos) refuse("expected NAME = VALUE, found '" + std::string{line} + "'");
  const Text name = trimmed(line.substr(0, equals));
  const Text value = trimmed(line.substr(equals + 1));
  for (const Setting& setting : kSettings) {
    if (setting.name != name) continue;
    if (!setting.read(value, options))
      refuse(std::string{name} + " is " + std::string{setting.expected} + ", found '" +
             std::string{value} + "'");
    return;
  }
  refuse("'" + std::string{name} + "' is none of " + known_names());
}

}  // namespace

GradientOptions load_gradient_options(const std::string& path, GradientOptions options) {
  std::ifstream file{path};
  if (!file)
    throw Error{ErrorCode::invalid_argument, "GradientOptions: cannot read the file " + path};
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) try {
      const Text text = trimmed(Text{line}.substr(0, line.find('#')));
      if (!text.empty()) read_line(text, options);
    } catch (const Error& error) {
      throw Error{ErrorCode::invalid_argument, "GradientOptions: " + path + ", line " +
                                                   std::to_string(number) + ": " + error.what()};
    }
  if (file.bad())
    throw Error{ErrorCode::invalid_argument, "GradientOptions: cannot read the file " + path};
  return options;
}

void save_gradient_options(const std::string& path, const GradientOptions& options) {
  std::ofstream file{path, std::ios::trunc};
  file << "# Options of GradientSync, for tutti::load_gradient_options.\n";
  for (const Setting& setting : kSettings)
    file << setting.name << " = " << setting.write(options) << "\n";
  file.close();
  if (!file) throw Error{ErrorCode::transport, "GradientOptions: cannot write the file " + path};
}

}  // namespace tutti::inline v0
