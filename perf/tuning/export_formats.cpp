// The file formats of the libraries.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "perf/build.hpp"
#include "perf/failure.hpp"
#include "perf/tuning/export_mpich.hpp"
#include "perf/tuning/export_tuning.hpp"

namespace tutti::perf {

namespace {

using ByCollective = std::map<Collective, std::vector<const ExportedTable*>>;

ByCollective by_collective(const Exported& exported) {
  ByCollective tables;
  for (const ExportedTable& table : exported.tables)
    tables[table.place.collective].push_back(&table);
  return tables;
}

// The rules of one number of ranks in the classic file.
struct OfRanks {
  int ranks = 0;
  const ExportedTable* table = nullptr;  // null: not measured
};

// In the classic file, the rules of a number of ranks, or of a size, hold up to the next number or
// size; the first ones also hold below it. Algorithm 0 is Open MPI's own choice.
std::vector<OfRanks> with_numbers_between(const std::vector<const ExportedTable*>& tables) {
  std::vector<OfRanks> all;
  int next = 0;
  for (const ExportedTable* const table : tables) {
    if (table->place.ranks > next) all.push_back({next});
    all.push_back({table->place.ranks, table});
    next = table->place.ranks + 1;
  }
  all.push_back({next});
  return all;
}

std::string line_for_openmpi(const ExportedTable::Rule& rule) {
  if (rule.runs == nullptr) return fmt::format("{} 0 0 0 # Open MPI's choice\n", rule.from_bytes);
  return fmt::format("{} {} 0 {} # {}\n", rule.from_bytes, rule.runs->number, rule.segment_bytes,
                     rule.runs->theirs);
}

std::string for_openmpi(const Library& library, const Exported& exported,
                        const std::string& origin) {
  const ByCollective tables = by_collective(exported);
  std::string text = fmt::format("{} # collectives, from {}\n", tables.size(), origin);
  for (const auto& [collective, of_sizes] : tables) {
    const std::vector<OfRanks> all = with_numbers_between(of_sizes);
    text += fmt::format("{} # MPI_{}\n{} # numbers of ranks\n", library.numbers.at(collective),
                        library.calls.at(collective), all.size());
    for (const auto& [ranks, table] : all) {
      const std::vector<ExportedTable::Rule> rules =
          table == nullptr ? std::vector<ExportedTable::Rule>(1) : table->rules;
      text += fmt::format("{} # ranks\n{} # rules: bytes, algorithm, fan, segment\n", ranks,
                          rules.size());
      for (const ExportedTable::Rule& rule : rules) text += line_for_openmpi(rule);
    }
  }
  return text;
}

std::string for_openmpi6(const Library& library, const Exported& exported, const std::string&) {
  nlohmann::ordered_json json{{"rule_file_version", 3},
                              {"module", "tuned"},
                              {"collectives", nlohmann::ordered_json::object()}};
  for (const auto& [collective, of_sizes] : by_collective(exported)) {
    auto& list = json["collectives"][library.calls.at(collective)];
    for (const ExportedTable* const table : of_sizes) {
      nlohmann::ordered_json rules = nlohmann::ordered_json::array();
      for (const ExportedTable::Rule& rule : table->rules) {
        if (rule.runs == nullptr) continue;
        nlohmann::ordered_json entry{{"msg_size_min", rule.from_bytes}};
        if (rule.until_bytes > 0) entry["msg_size_max"] = rule.until_bytes - 1;
        else entry["msg_size_max"] = "inf";
        entry["alg"] = rule.runs->theirs;
        // The word of the parser. The schema has none, and the converter of old files uses another
        // one.
        if (rule.segment_bytes > 0) entry["seg_size"] = rule.segment_bytes;
        rules.push_back(std::move(entry));
      }
      list.push_back({{"comm_size_min", table->place.ranks},
                      {"comm_size_max", table->place.ranks},
                      {"rules", std::move(rules)}});
    }
  }
  return detail::text_of_json(json, 1) + "\n";
}

// If blocks make up the whole vector, Intel MPI counts the bytes of one rank.
std::size_t per_call(const detail::TunedPlace& place, std::size_t bytes) {
  const bool is_of_blocks =
      place.collective == Collective::all_gather || place.collective == Collective::all_to_all ||
      place.collective == Collective::gather || place.collective == Collective::scatter;
  return is_of_blocks ? bytes / static_cast<std::size_t>(place.ranks) : bytes;
}

std::string upper(std::string_view name) {
  std::string text{name};
  for (char& letter : text)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return text;
}

// There is one set of rules, without conditions on the number of processes. The reference describes
// such conditions, but with them Intel MPI 2021.18 takes one algorithm for all sizes and numbers.
std::string for_intel(const Library& library, const Exported& exported, const std::string& origin) {
  constexpr std::size_t kMost = 2147483647;
  std::string text = "# from " + origin + "; to be sourced by a shell\n";
  for (const auto& [collective, of_sizes] : by_collective(exported)) {
    std::string rules;
    if (of_sizes.size() > 1)
      throw Failure{
          ExitCode::usage,
          fmt::format("{} was measured on {} and {} ranks, and Intel MPI has one set of "
                      "rules for all: choose one by --ranks",
                      name_of(collective), of_sizes[0]->place.ranks, of_sizes[1]->place.ranks)};
    for (const ExportedTable* const table : of_sizes)
      for (const ExportedTable::Rule& rule : table->rules) {
        const std::size_t until =
            rule.until_bytes > 0 ? per_call(table->place, rule.until_bytes) - 1 : kMost;
        const std::size_t from = per_call(table->place, rule.from_bytes);
        if (from > until) continue;
        rules +=
            fmt::format("{}{}:{}-{}", rules.empty() ? "" : ";", rule.runs->number, from, until);
      }
    text +=
        fmt::format("export I_MPI_ADJUST_{}=\"{}\"\n", upper(library.calls.at(collective)), rules);
  }
  return text;
}

// UCC uses the size of the destination, which in a reduce_scatter is a rank's own block.
std::size_t bytes_in_ucc(const detail::TunedPlace& place, std::size_t bytes) {
  const auto ranks = static_cast<std::size_t>(place.ranks);
  return place.collective == Collective::reduce_scatter ? bytes / ranks : bytes;
}

std::string for_ucc(const Library& library, const Exported& exported, const std::string& origin) {
  std::string tokens;
  for (const ExportedTable& table : exported.tables)
    for (const ExportedTable::Rule& rule : table.rules) {
      if (rule.runs == nullptr) continue;
      tokens += fmt::format(
          "{}{}:{}-{}:[{}-{}]:inf:@{}", tokens.empty() ? "" : "#",
          library.calls.at(table.place.collective), bytes_in_ucc(table.place, rule.from_bytes),
          rule.until_bytes > 0 ? std::to_string(bytes_in_ucc(table.place, rule.until_bytes))
                               : "inf",
          table.place.ranks, table.place.ranks, rule.runs->theirs);
    }
  return fmt::format("# from {}; to be sourced by a shell\nexport UCC_TL_UCP_TUNE=\"{}\"\n", origin,
                     tokens);
}

// Rows of the plugin's file. A row must name a protocol: LL has the least latency, and half the
// bandwidth. 0 channels let NCCL decide; -1 keeps the plugin's own default, which is 1.
std::string nccl_rows(std::string_view collective, const ExportedTable::Rule& rule,
                      std::string_view where) {
  constexpr std::size_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::size_t kSimpleFrom = 65536;
  const std::string_view algorithm = rule.runs->theirs;
  const std::size_t until = rule.until_bytes > 0 ? rule.until_bytes - 1 : kMost;
  const std::size_t split = algorithm == "pat" ? 0 : kSimpleFrom;  // PAT has no LL
  std::string rows;
  const auto add = [&](std::size_t first, std::size_t last, std::string_view protocol) {
    if (first <= last)
      rows +=
          fmt::format("{},{},{},{},{},0,{}\n", collective, first, last, algorithm, protocol, where);
  };
  if (split > 0) add(rule.from_bytes, std::min(until, split - 1), "ll");
  add(std::max(rule.from_bytes, split), until, "simple");
  return rows;
}

// The first row that fits is used. A call without a row would get one channel, and no row can leave
// the choice to NCCL, so the last rows fit all calls.
std::string for_nccl(const Library& library, const Exported& exported, const std::string& origin) {
  std::string text = fmt::format(
      "# from {}\n# collective,min_bytes,max_bytes,algorithm,protocol,channels,nodes,ranks\n",
      origin);
  for (const ExportedTable& table : exported.tables)
    for (const ExportedTable::Rule& rule : table.rules)
      if (rule.runs != nullptr)
        text += nccl_rows(library.calls.at(table.place.collective), rule,
                          fmt::format("{},{}", table.place.hosts, table.place.ranks));
  text += "# all other calls\n";
  for (const Counterpart& one : library.counterparts)
    if (one.ours == "ring" || one.ours == "chain")
      text += nccl_rows(library.calls.at(one.collective), {.runs = &one}, "-1,-1");
  return text;
}

struct Format {
  std::string_view name;
  std::string (*write)(const Library&, const Exported&, const std::string&);
};
constexpr std::array kFormats{Format{"openmpi", for_openmpi}, Format{"openmpi6", for_openmpi6},
                              Format{"mpich", for_mpich},     Format{"intel", for_intel},
                              Format{"ucc", for_ucc},         Format{"nccl", for_nccl}};

}  // namespace

std::string text_for(const Library& library, const Exported& exported, const std::string& origin) {
  const auto found = std::ranges::find(kFormats, library.writer, &Format::name);
  if (found == kFormats.end())
    throw Failure{ExitCode::environment,
                  fmt::format("{}: unknown writer '{}'", shared_file(kLibraries), library.writer)};
  return found->write(library, exported, origin);
}

}  // namespace tutti::perf
