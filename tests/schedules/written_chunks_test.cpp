// The numbers of chunks in XML of MSCCL, as its tools count them.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>
#include <string>

#include <tutti/error.hpp>
#include <tutti/spi/catalog.hpp>
#include <tutti/spi/contract.hpp>
#include <tutti/spi/schedule_file.hpp>

#include "schedules/print.hpp"
#include "schedules/print_msccl.hpp"
#include "schedules/written.hpp"

namespace tutti::v0 {
namespace {

std::int64_t attribute(const std::string& element, const std::string& name) {
  const std::size_t at = element.find(" " + name + "=\"");
  return at == element.npos ? -1 : std::stoll(element.substr(at + name.size() + 3));
}

/// Chunks have the numbers of MSCCL's tools: inputs and outputs are those of a rank, not of all
/// ranks together, and no step goes beyond the end of its buffer. @return what is wrong.
std::string refusal_of_numbers(const std::string& text, Collective collective, int size) {
  std::istringstream lines{text};
  std::string line;
  std::getline(lines, line);
  const std::int64_t parts =
      attribute(line, "units") / Contract{collective, size, 0}.blocks();  // of a block
  const bool is_row = collective != Collective::all_reduce;
  const std::int64_t all = parts * (is_row ? size : 1);
  const std::int64_t inputs = collective == Collective::all_gather ? parts : all;
  const std::int64_t outputs = collective == Collective::reduce_scatter ? parts : all;
  if (attribute(line, "nchunksperloop") != all) return line;
  std::map<char, std::int64_t> ends;
  while (std::getline(lines, line)) {
    if (line.find("<gpu ") != line.npos) {
      if (attribute(line, "i_chunks") != inputs || attribute(line, "o_chunks") != outputs)
        return line;
      ends = {{'i', all}, {'o', all}, {'s', attribute(line, "s_chunks")}};
      if (collective == Collective::all_gather) ends['i'] = 0;      // in place: all is `o`
      if (collective == Collective::reduce_scatter) ends['o'] = 0;  // or all is `i`
    }
    if (line.find("<step ") == line.npos || line.find("srcoff=\"-1\"") != line.npos) continue;
    for (const std::string end : {"src", "dst"}) {
      const char buffer = line.at(line.find(" " + end + "buf=\"") + 9);
      if (attribute(line, end + "off") + attribute(line, "cnt") > ends[buffer]) return line;
    }
  }
  return {};
}

// The dependencies must determine the same without attributes of our own.
TEST(WrittenChunks, AreCompleteForOthers) {
  int rows = 0;
  const auto check = [&](const Choice& choice, int size) {
    const Collective collective = choice.algorithm->collective;
    const bool is_known =
        collective == Collective::all_reduce || collective == Collective::all_gather ||
        collective == Collective::reduce_scatter || collective == Collective::all_to_all;
    if (!is_known) return;
    std::vector<Schedule> schedules;
    for (Rank rank = 0; rank < size; ++rank) schedules.push_back(choice.build(size, 0, rank));
    const std::string text =
        to_msccl({.algorithm = choice.text(), .collective = collective, .schedules = schedules});
    EXPECT_EQ(refusal_of_numbers(text, collective, size), "") << choice.text() << " on " << size;
    std::string others = text;
    for (const char* const word : {"root", "units", "planes", "round", "order", "space", "first",
                                   "from_space", "from_first", "side", "finish", "paced"})
      others = std::regex_replace(others, std::regex{std::string{" "} + word + "=\"[^\"]*\""}, "");
    try {
      (void)written::proved_traits(read_msccl_schedules(others));
    } catch (const Error& error) {
      ADD_FAILURE() << name_of(collective) << " " << choice.text() << " on " << size << ": "
                    << error.what();
    }
    ++rows;
  };
  for (const Algorithm& row : catalog())
    for (const int size : {1, 2, 3, 4, 6, 8})
      if (has_default(row.parameter) && admits(row.traits.sizes, size))
        check({.algorithm = &row, .number = row.default_number}, size);
  EXPECT_GT(rows, 150);
}

}  // namespace
}  // namespace tutti::v0
