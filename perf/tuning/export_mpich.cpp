// MPICH's selection file is a tree of nested objects. A key is a condition, tried in the order of
// the file; at the leaves it is an algorithm. A call that reaches no leaf ends the program. So this
// file has lines for each collective that MPICH looks up, and the condition of the last line of
// each always holds. Traps: sizes are integers of 32 bits. avg_msg_size is not set for collectives
// of blocks, and total_msg_size counts elements, not bytes, for gather and scatter. comm_size<N
// sometimes means <=.
#include "perf/tuning/export_mpich.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json_text.hpp"

namespace tutti::perf {

namespace {

constexpr std::string_view kAlways = "comm_size=any";
constexpr std::string_view kInter = "comm_type=inter";
constexpr std::string_view kInPlace = "is_sendbuf_inplace=yes";
constexpr std::size_t kMostBytes = std::numeric_limits<std::int32_t>::max();

// A position in the tree is a pointer of JSON: keys, each after a slash.
using MpichTree = nlohmann::ordered_json;

// Adds a leaf: an algorithm and its parameters.
void add_leaf(MpichTree& tree, std::string place, std::string_view collective,
              std::string_view runs) {
  place += fmt::format("/algorithm=MPIR_{:c}{}_",
                       std::toupper(static_cast<unsigned char>(collective.front())),
                       collective.substr(1));
  const std::size_t end = std::min(runs.find(' '), runs.size());
  MpichTree& leaf = tree[MpichTree::json_pointer{place + std::string{runs.substr(0, end)}}];
  leaf = MpichTree::object();
  std::istringstream parameters{std::string{runs.substr(end)}};
  for (std::string parameter; parameters >> parameter;) leaf[parameter] = MpichTree::object();
}

// Adds leaves within some of the conditions; no condition: within all.
void add_leaves(MpichTree& tree, const std::string& place, std::string_view collective,
                const Conditions& conditions, std::initializer_list<std::string_view> only = {}) {
  for (const auto& [when, runs] : conditions)
    if (only.size() == 0 || std::ranges::find(only, when) != only.end())
      add_leaf(tree, fmt::format("{}/{}", place, when), collective, runs);
}

void add_rule(MpichTree& tree, const std::string& place, std::string_view collective,
              const ExportedTable::Rule& rule) {
  for (const auto& [when, runs] : rule.runs->instead)
    add_leaf(tree, fmt::format("{}/{}", place, when), collective, "intra_" + runs);
  const std::string segments =
      rule.runs->has_segments ? fmt::format(" chunk_size={}", rule.segment_bytes) : "";
  add_leaf(tree, fmt::format("{}/{}", place, kAlways), collective,
           fmt::format("intra_{}{}", rule.runs->theirs, segments));
}

void add_tuned(MpichTree& tree, const std::string& place, const ExportedTable& table,
               const Library& library, const Conditions& untuned) {
  const Collective collective = table.place.collective;
  const std::string& name = library.calls.at(collective);
  add_leaves(tree, place, name, untuned, {kInter, kInPlace});  // these were not measured
  const bool has_sizes = collective != Collective::barrier &&
                         std::ranges::count(library.without_sizes, collective) == 0;
  for (const ExportedTable::Rule& rule : table.rules) {
    const bool is_last = rule.until_bytes == 0 || rule.until_bytes > kMostBytes || !has_sizes;
    const std::string when =
        is_last ? std::string{kAlways}
                : fmt::format("{}_msg_size<={}", is_blockwise(collective) ? "total" : "avg",
                              rule.until_bytes - 1);
    const std::string within = fmt::format("{}/{}", place, when);
    if (rule.runs == nullptr) add_leaves(tree, within, name, untuned);
    else add_rule(tree, within, name, rule);
    if (is_last) return;
  }
}

// A measurement holds only for its number of ranks.
void add_collective(MpichTree& tree, std::string_view collective, const Conditions& untuned,
                    const Library& library, const Exported& exported) {
  const std::string place = fmt::format("/collective={}", collective);
  int known = 0;
  for (const ExportedTable& table : exported.tables) {
    if (library.calls.at(table.place.collective) != collective) continue;
    if (table.place.ranks > known + 1)
      add_leaves(tree, fmt::format("{}/comm_size<={}", place, table.place.ranks - 1), collective,
                 untuned);
    known = table.place.ranks;
    add_tuned(tree, fmt::format("{}/comm_size<={}", place, known), table, library, untuned);
  }
  add_leaves(tree, known == 0 ? place : fmt::format("{}/{}", place, kAlways), collective, untuned);
}

}  // namespace

std::string for_mpich(const Library& library, const Exported& exported, const std::string&) {
  MpichTree tree = MpichTree::object();
  for (const auto& [collective, untuned] : library.untuned)
    add_collective(tree, collective, untuned, library, exported);
  return detail::text_of_json(tree, 1) + "\n";
}

}  // namespace tutti::perf
