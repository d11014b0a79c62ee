/// @file
/// Reads the words of a command line. An error is one line that names the wrong word, the choices,
/// and the nearest choice.
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

/// @return the words between separators; one word if there is no separator.
[[nodiscard]] std::vector<std::string> split(const std::string& text, char separator);

/// Replaces each `graph=@FILE` in choices by the links that the file lists: see read_edge_list.
/// Throws Failure{usage} that names the file.
[[nodiscard]] std::string with_graphs_of_files(std::string text);

/// Throws Failure{usage}. @param what kind of word, such as "flag". @param word the unknown one.
[[noreturn]] void reject_word(std::string_view what, const std::string& word,
                              const std::vector<std::string>& choices);

/// Throws a Failure{usage} that names the flags whose names are near, or start with the word.
/// @param command such as "tutti sweep". @param word the unknown flag. @param flags all of them.
[[noreturn]] void reject_unknown_flag(const std::string& command, const std::string& word,
                                      const std::vector<std::string>& flags);

/// @param what kind of word. @param word a name. @param names the choices. @return the index of the
/// word in them. Throws Failure{usage}.
std::size_t index_among(std::string_view what, const std::string& word,
                        const std::vector<std::string>& names);

/// @param what kind of word. @param word a name. @param count the number of enumerators. Throws
/// Failure{usage}.
template <class Enum>
[[nodiscard]] Enum named(std::string_view what, const std::string& word, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace_back(name_of(static_cast<Enum>(i)));
  return static_cast<Enum>(index_among(what, word, names));
}

/// @param text a name in any of these spellings: all_reduce, allreduce, all-reduce, AllReduce; and
/// bcast. @return tutti's name of that collective, or `text` if there is none.
[[nodiscard]] std::string usual_collective(const std::string& text);

/// Throws Failure{usage}. @param text as of usual_collective.
[[nodiscard]] Collective collective_named(const std::string& text);

/// Throws Failure{usage}.
[[nodiscard]] const TransportTraits& transport_named(const std::string& text);

/// @param text "all", or names separated by commas. @return in the order of the catalog. Throws
/// Failure{usage}.
[[nodiscard]] std::vector<Collective> collectives_named(const std::string& text);

/// @return the names of tutti's own algorithms for a collective.
[[nodiscard]] std::vector<std::string> algorithm_names(Collective collective);

/// @param algorithms names separated by commas; empty or "all" means every one. @return the rows of
/// these collectives and names, in the order of the catalog. Throws Failure{usage}.
[[nodiscard]] std::vector<const Algorithm*> rows_named(const Catalog& catalog,
                                                       const std::vector<Collective>& collectives,
                                                       const std::string& algorithms);

/// @param flag its name. @param text its value. @return the number. Throws Failure{usage} if it is
/// not in the range.
[[nodiscard]] int number_in(std::string_view flag, const std::string& text, RankRange range);

/// Throws Failure{usage} if the value of a flag is not in the range.
void require_in(std::string_view flag, int number, RankRange range);

/// As number_in, for larger numbers.
[[nodiscard]] std::uint64_t count_in(std::string_view flag, const std::string& text,
                                     std::uint64_t least, std::uint64_t most);

/// @param flag its name. @param text such as "64K". @return bytes. Throws Failure{usage}.
[[nodiscard]] std::size_t bytes_in(std::string_view flag, const std::string& text);

/// @param flag its name. @param text such as "200ms". @return seconds. Throws Failure{usage} if
/// they are not within the bounds.
[[nodiscard]] double seconds_in(std::string_view flag, const std::string& text, double least_s,
                                double most_s);

/// @param flag its name. @param text such as "10%" or "0.1". Throws Failure{usage}.
[[nodiscard]] double share_in(std::string_view flag, const std::string& text);

/// @param flag its name. @param text such as "8" or "1:64". @param range the largest that is
/// allowed. Throws Failure{usage}.
[[nodiscard]] RankRange range_in(std::string_view flag, const std::string& text, RankRange range);

/// @return the supported numbers of ranks in words, such as "even numbers of ranks".
[[nodiscard]] std::string_view words_of(Sizes sizes) noexcept;

/// @param work for the first rank of a launch. @return a function for all ranks; it does nothing on
/// the others and succeeds.
[[nodiscard]] std::function<int()> on_first_rank(std::function<int()> work);

/// Writes text and flushes it. Throws Failure{environment} if that fails. @param out standard
/// output, except in tests.
void write_out(const std::string& text, std::FILE* out);

/// As write_out, for a formatted text and standard output.
template <class... T>
void print_out(fmt::format_string<T...> text, T&&... values) {
  write_out(fmt::format(text, std::forward<T>(values)...), stdout);
}

/// Throws Failure{environment} if a file cannot be written, so that the error comes before minutes
/// of measurement. Its folder must exist. The file stays as it is. @param path empty, "-", devices
/// and pipes are not checked.
void check_writable(const std::string& path);

/// Writes a whole file. Throws Failure{environment} if that fails, and leaves no partial file.
/// @param path empty or "-" is standard output.
void write_text(const std::string& text, const std::string& path);

}  // namespace tutti::perf
