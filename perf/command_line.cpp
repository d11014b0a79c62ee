#include "perf/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <tutti/error.hpp>
#include <tutti/spi/catalog.hpp>
#include <tutti/spi/graph.hpp>

#include "algorithms/nearest_word.hpp"
#include "base/text_file.hpp"
#include "perf/environment.hpp"
#include "perf/failure.hpp"
#include "perf/units.hpp"

namespace tutti::perf {

namespace {

[[noreturn]] void reject(const std::string& message) {
  throw Failure{ExitCode::usage, message};
}

std::optional<std::uint64_t> number_of(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

/// The error number of a failed write. The C library need not set it for a short write.
int last_error() {
  return errno != 0 ? errno : EIO;
}

/// Removes the file that a link points to. Leaves devices and the like.
void remove_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(path, error);
  if (std::filesystem::is_regular_file(file, error)) std::filesystem::remove(file, error);
}

bool lies_in(std::optional<std::uint64_t> number, std::uint64_t least, std::uint64_t most) {
  return number && *number >= least && *number <= most;
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> words{""};
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == separator && depth <= 0) words.emplace_back();
    else words.back() += c;
  }
  return words;
}

std::string with_graphs_of_files(std::string text) {
  constexpr std::string_view kMark = "graph=@";
  for (std::size_t at = text.find(kMark); at != text.npos; at = text.find(kMark)) {
    const std::size_t begin = at + kMark.size();
    const std::string path = text.substr(begin, text.find_first_of(",)", begin) - begin);
    try {
      const std::string content = detail::read_text_file(path);
      try {
        text.replace(begin - 1, path.size() + 1, read_edge_list(content).text());
      } catch (const Error& error) {
        reject(fmt::format("{}: {}", path, error.what()));
      }
    } catch (const Error& error) {
      reject(error.what());
    }
  }
  return text;
}

void reject_word(std::string_view what, const std::string& word,
                 const std::vector<std::string>& choices) {
  const std::vector<std::string_view> views{choices.begin(), choices.end()};
  const std::string nearest{nearest_word(word, views)};
  reject(fmt::format("unknown {} '{}': choose from {}{}", what, word, fmt::join(choices, ", "),
                     nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

void reject_unknown_flag(const std::string& command, const std::string& word,
                         const std::vector<std::string>& flags) {
  constexpr std::size_t kMostNamed = 3;
  const std::vector<std::string_view> views{flags.begin(), flags.end()};
  std::vector<std::string_view> near = nearest_words(word, views);
  for (const std::string_view flag : views)
    if (word.size() > 3 && flag.starts_with(word) && std::ranges::find(near, flag) == near.end())
      near.push_back(flag);
  near.resize(std::min(near.size(), kMostNamed));
  reject(fmt::format("unknown flag '{}'{}; see {} --help", word,
                     near.empty() ? "" : fmt::format("; did you mean {}?", fmt::join(near, ", ")),
                     command));
}

std::size_t index_among(std::string_view what, const std::string& word,
                        const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) reject_word(what, word, names);
  return static_cast<std::size_t>(found - names.begin());
}

std::string usual_collective(const std::string& text) {
  const auto letters = [](std::string_view name) {
    std::string kept;
    for (const char c : name)
      if (c != '_' && c != '-') kept += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return kept == "bcast" ? "broadcast" : kept;
  };
  for (const CollectiveTraits& traits : kCollectiveTraits)
    if (letters(traits.name) == letters(text)) return std::string{traits.name};
  return text;
}

Collective collective_named(const std::string& text) {
  return named<Collective>("collective", usual_collective(text), kCollectives);
}

const TransportTraits& transport_named(const std::string& text) {
  if (const TransportTraits* const found = find_transport(text)) return *found;
  std::vector<std::string> names;
  for (const TransportTraits& transport : kTransports) names.emplace_back(transport.name);
  reject_word("transport", text, names);
}

std::vector<Collective> collectives_named(const std::string& text) {
  std::vector<bool> wanted(kCollectives, text == "all");
  if (text != "all")
    for (const std::string& word : split(text, ','))
      wanted[static_cast<std::size_t>(collective_named(word))] = true;
  std::vector<Collective> collectives;
  for (int index = 0; index < kCollectives; ++index)
    if (wanted[static_cast<std::size_t>(index)])
      collectives.push_back(static_cast<Collective>(index));
  return collectives;
}

std::vector<std::string> algorithm_names(Collective collective) {
  std::vector<std::string> names;
  for (const Algorithm& row : catalog())
    if (row.collective == collective) names.emplace_back(row.name);
  return names;
}

std::vector<const Algorithm*> rows_named(const Catalog& catalog,
                                         const std::vector<Collective>& collectives,
                                         const std::string& algorithms) {
  std::vector<const Algorithm*> rows;
  std::vector<std::string> names;
  for (const Algorithm* const row : catalog.rows()) {
    if (std::find(collectives.begin(), collectives.end(), row->collective) == collectives.end())
      continue;
    rows.push_back(row);
    if (std::find(names.begin(), names.end(), row->name) == names.end())
      names.emplace_back(row->name);
  }
  if (algorithms.empty() || algorithms == "all") return rows;
  const std::vector<std::string> wanted = split(algorithms, ',');
  for (const std::string& word : wanted)
    if (std::find(names.begin(), names.end(), word) == names.end())
      reject_word("algorithm", word, names);
  std::erase_if(rows, [&wanted](const Algorithm* row) {
    return std::find(wanted.begin(), wanted.end(), row->name) == wanted.end();
  });
  return rows;
}

std::uint64_t count_in(std::string_view flag, const std::string& text, std::uint64_t least,
                       std::uint64_t most) {
  const std::optional<std::uint64_t> number = number_of(text);
  if (!lies_in(number, least, most))
    reject(fmt::format("{} '{}' is not a number in {} .. {}", flag, text, least, most));
  return *number;
}

int number_in(std::string_view flag, const std::string& text, RankRange range) {
  return static_cast<int>(count_in(flag, text, static_cast<std::uint64_t>(range.first),
                                   static_cast<std::uint64_t>(range.last)));
}

void require_in(std::string_view flag, int number, RankRange range) {
  static_cast<void>(number_in(flag, std::to_string(number), range));
}

std::size_t bytes_in(std::string_view flag, const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (!bytes) reject(fmt::format("{} '{}' is not a size: write 8, 64K, 4M or 1G", flag, text));
  return *bytes;
}

double seconds_in(std::string_view flag, const std::string& text, double least_s, double most_s) {
  const auto seconds = parse_seconds(text);
  if (!seconds || *seconds < least_s || *seconds > most_s)
    reject(fmt::format("{} '{}' is not a time in {:.0f}us .. {:.0f}s: write 2s, 200ms or 1m", flag,
                       text, least_s * 1e6, most_s));
  return *seconds;
}

double share_in(std::string_view flag, const std::string& text) {
  const auto share = parse_share(text);
  if (!share) reject(fmt::format("{} '{}' is not a share: write 10% or 0.1", flag, text));
  return *share;
}

RankRange range_in(std::string_view flag, const std::string& text, RankRange range) {
  const std::vector<std::string> ends = split(text, ':');
  const auto number = [&](const std::string& end) {
    const std::optional<std::uint64_t> value = number_of(end);
    return value && lies_in(value, static_cast<std::uint64_t>(range.first),
                            static_cast<std::uint64_t>(range.last))
               ? static_cast<int>(*value)
               : -1;
  };
  const int first = number(ends.front());
  const int last = number(ends.back());
  if (ends.size() > 2 || first < 0 || last < 0 || first > last)
    reject(fmt::format("{} '{}' is not a range: write {}:{} or a number in {} .. {}", flag, text,
                       range.first, std::min(range.last, 64), range.first, range.last));
  return {first, last};
}

std::string_view words_of(Sizes sizes) noexcept {
  switch (sizes) {
    case Sizes::any: return "any number of ranks";
    case Sizes::even: return "even numbers of ranks";
    case Sizes::power_of_two: return "powers of two as numbers of ranks";
    case Sizes::slim_fly: return "2 q^2 ranks for prime powers q from 3 on";
  }
  return "";
}

std::function<int()> on_first_rank(std::function<int()> work) {
  if (launched_rank().value_or(0) == 0) return work;
  return [] { return static_cast<int>(ExitCode::good); };
}

void write_out(const std::string& text, std::FILE* out) {
  if (std::fwrite(text.data(), 1, text.size(), out) != text.size() || std::fflush(out) != 0)
    throw Failure{ExitCode::environment, "cannot write to standard output"};
}

void check_writable(const std::string& path) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path, ignored);
  if (path.empty() || path == "-" ||
      (exists && !std::filesystem::is_regular_file(path, ignored) &&
       !std::filesystem::is_directory(path, ignored)))
    return;
  std::FILE* const file = std::fopen(path.c_str(), "ab");
  if (file == nullptr)
    throw Failure{ExitCode::environment,
                  fmt::format("cannot write '{}': {}", path, std::strerror(last_error()))};
  std::fclose(file);
  if (!exists) remove_file(path);
}

void write_text(const std::string& text, const std::string& path) {
  if (path.empty() || path == "-") return write_out(text, stdout);
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  bool is_good = file != nullptr;
  if (is_good) is_good = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int error = is_good ? 0 : last_error();
  if (file != nullptr && std::fclose(file) != 0 && error == 0) error = last_error();
  if (error == 0) return;
  if (file != nullptr) remove_file(path);
  throw Failure{ExitCode::environment,
                fmt::format("cannot write '{}': {}", path, std::strerror(error))};
}

}  // namespace tutti::perf
