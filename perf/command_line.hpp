/// @file
/// Reads the words of a command line. Whatever is wrong becomes one line that names the offender,
/// the choices and the nearest of them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tutti/transports.hpp>
#include <tutti/types.hpp>

// Most readers of words need no algorithms.
namespace tutti::v0 {
class Catalog;
struct Algorithm;
enum class Sizes : std::uint8_t;
}  // namespace tutti::v0

namespace tutti::perf {

/// An inclusive range of numbers of ranks.
struct RankRange {
  int first = 1;  ///< The least.
  int last = 1;   ///< The greatest.
};

/// @param text any. @param separator between its words. @return the words, one where there is none.
[[nodiscard]] std::vector<std::string> split(const std::string& text, char separator);

/// Choices as the command takes them: `graph=@FILE` stands for the network whose links the file
/// lists, see read_edge_list. Throws Failure{usage} that names the file.
/// @param text of choices. @return it with the links themselves.
[[nodiscard]] std::string with_graphs_of_files(std::string text);

/// Throws Failure{usage}. @param what kind of word. @param word the unknown one. @param choices
/// what would be right.
[[noreturn]] void reject_word(std::string_view what, const std::string& word,
                              const std::vector<std::string>& choices);

/// @param what kind of word. @param word as written. @param names the choices. @return which of
/// them it is. Throws Failure{usage}.
std::size_t index_among(std::string_view what, const std::string& word,
                        const std::vector<std::string>& names);

/// @param what kind of word. @param word a name. @param count how many enumerators have one, from
/// the first. @return the enumerator. Throws Failure{usage}.
template <class Enum>
[[nodiscard]] Enum named(std::string_view what, const std::string& word, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace_back(name_of(static_cast<Enum>(i)));
  return static_cast<Enum>(index_among(what, word, names));
}

/// @param text a collective's name. @return it. Throws Failure{usage}.
[[nodiscard]] Collective collective_named(const std::string& text);

/// @param text a transport's name. @return it. Throws Failure{usage}.
[[nodiscard]] const TransportTraits& transport_named(const std::string& text);

/// @param text "all", or names with commas between them. @return them, in the order of the catalog.
/// Throws Failure{usage}.
[[nodiscard]] std::vector<Collective> collectives_named(const std::string& text);

/// @param collective any. @return the names of tutti's own algorithms for it.
[[nodiscard]] std::vector<std::string> algorithm_names(Collective collective);

/// The rows to work on. @param catalog of which. @param collectives any. @param algorithms names
/// with commas between them; empty or "all" means every one. @return them, in the order of the
/// catalog. Throws Failure{usage}.
[[nodiscard]] std::vector<const Algorithm*> rows_named(const Catalog& catalog,
                                                       const std::vector<Collective>& collectives,
                                                       const std::string& algorithms);

/// @param flag its name. @param text its value. @param range what it may be. @return the number.
/// Throws Failure{usage}.
[[nodiscard]] int number_in(std::string_view flag, const std::string& text, RankRange range);

/// As number_in, of a number that was read. Throws Failure{usage}. @param flag its name. @param
/// number its value. @param range what it may be.
void require_in(std::string_view flag, int number, RankRange range);

/// As number_in, of larger numbers. @param flag its name. @param text its value. @param least what
/// it may be. @param most what it may be. @return the number. Throws Failure{usage}.
[[nodiscard]] std::uint64_t count_in(std::string_view flag, const std::string& text,
                                     std::uint64_t least, std::uint64_t most);

/// @param flag its name. @param text such as "64K". @return bytes. Throws Failure{usage}.
[[nodiscard]] std::size_t bytes_in(std::string_view flag, const std::string& text);

/// @param flag its name. @param text such as "200ms". @param least_s seconds that it may be.
/// @param most_s seconds that it may be. @return seconds. Throws Failure{usage}.
[[nodiscard]] double seconds_in(std::string_view flag, const std::string& text, double least_s,
                                double most_s);

/// @param flag its name. @param text such as "10%" or "0.1". @return the share. Throws
/// Failure{usage}.
[[nodiscard]] double share_in(std::string_view flag, const std::string& text);

/// @param flag its name. @param text such as "8" or "1:64". @param range what it may be.
/// @return the range asked for. Throws Failure{usage}.
[[nodiscard]] RankRange range_in(std::string_view flag, const std::string& text, RankRange range);

/// @param sizes which numbers of ranks. @return such as "even numbers of ranks".
[[nodiscard]] std::string_view words_of(Sizes sizes) noexcept;

/// Work for one rank of a launch; the others have nothing to do and succeed.
/// @param work what the first rank runs. @return what every rank runs.
[[nodiscard]] std::function<int()> on_first_rank(std::function<int()> work);

/// Writes text and hands it to the system. Throws Failure{environment} where that does not take it.
/// @param out where to; standard output, but in tests.
void write_out(const std::string& text, std::FILE* out);

/// As write_out, to standard output. @param text as fmt::format takes it. @param values its values.
template <class... T>
void print_out(fmt::format_string<T...> text, T&&... values) {
  write_out(fmt::format(text, std::forward<T>(values)...), stdout);
}

/// Tells before minutes of measuring that a file cannot be written. All outputs have one rule: the
/// folder must exist. The file stays as it is. Throws Failure{environment}. @param path of the
/// file; empty or "-", or a device or pipe, is not looked at.
void check_writable(const std::string& path);

/// Writes text as a whole. @param path where to; empty or "-" is standard output. Throws
/// Failure{environment} where it cannot be written, and leaves no half file.
void write_text(const std::string& text, const std::string& path);

}  // namespace tutti::perf
