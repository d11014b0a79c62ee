/// @file
/// What was measured on a machine and is kept in a file: a person can read it, and selectors do.
///
/// The file is JSON: `"format": "tutti-tuning"`, `"version": 1`, `tutti`, the version that
/// measured, if only that one may use it; `machine` with `processor` and `cores`; `costs`, what
/// messages were measured to cost, which the model rests on; and `tables`, each for one collective
/// on one number of ranks and hosts over one transport and kind of buffers: `rules`, what to run
/// from how many bytes on, and `cells`, the measured times that they were made of.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/spi/costs.hpp>
#include <tutti/types.hpp>

namespace tutti::v0::detail {

/// The kind of machine that something was measured on.
struct TunedMachine {
  std::string processor{};  ///< Its model's name.
  int cores = 0;            ///< That are online.
  /// Equality of all members.
  friend bool operator==(const TunedMachine&, const TunedMachine&) = default;
};

/// What to run from a size on, until the next rule's.
struct TunedRule {
  std::size_t from_bytes = 0;     ///< Of the whole vector, as Problem::bytes.
  std::string algorithm{};        ///< A choice, such as "knomial:k=4".
  std::size_t segment_bytes = 0;  ///< Of the whole vector that travel at a time; 0: all of it.
  /// Equality of all members.
  friend bool operator==(const TunedRule&, const TunedRule&) = default;
};

/// One algorithm at one size.
struct TunedCell {
  std::size_t bytes = 0;          ///< Of the whole vector.
  std::string algorithm{};        ///< A choice.
  std::size_t segment_bytes = 0;  ///< As TunedRule.
  double median_us = 0;           ///< Of its times, in microseconds.
  double low_us = 0;              ///< Lower end of the median's 95% interval.
  double high_us = 0;             ///< Upper end of it.
  /// The alignment of arrays, as `--align` of `tutti tune`; not in older files.
  std::string align = "page";
  /// The order of calls, as `--pattern`; not in older files.
  std::string pattern = "back_to_back";
};

/// What a table is for.
struct TunedPlace {
  Collective collective{};  ///< The operation.
  int ranks = 0;            ///< How many take part.
  int hosts = 1;            ///< On how many hosts they are.
  std::string transport{};  ///< Name of what carries their messages, as Capabilities::name.
  bool visible = false;     ///< As Options::visible.
  /// Equality of all members.
  friend bool operator==(const TunedPlace&, const TunedPlace&) = default;
};

/// What to run, by size.
struct TunedTable {
  TunedPlace place{};              ///< Where it holds.
  std::vector<TunedRule> rules{};  ///< By size, from the least; the first from 0 bytes.
  std::vector<TunedCell> cells{};  ///< What was measured.
};

/// What messages cost among ranks that share no hosts, or all one.
struct TunedCosts {
  int ranks = 0;            ///< How many took part.
  int hosts = 1;            ///< On how many hosts they were: 1, or as many as ranks.
  std::string transport{};  ///< As TunedPlace.
  bool visible = false;     ///< As TunedPlace.
  LinkCosts costs{};        ///< Its cores and buffered bytes are those of that measurement.
  std::size_t cells = 0;    ///< How many times they were made of.
  double loss = 1;          ///< As Fit.
  double median_error = 0;  ///< As Fit.
};

/// A file.
struct Tuning {
  std::string origin{};              ///< Its path, for a person.
  std::string version{};             ///< The tutti that measured, or empty.
  TunedMachine machine{};            ///< Where it was measured.
  std::vector<TunedCosts> costs{};   ///< At most one for the same ranks, hosts and so on.
  std::vector<TunedTable> tables{};  ///< At most one for a place.
};

/// Reads a file's text. Throws Error{invalid_argument} that says the line or the place in it, and
/// what is wrong. @param text JSON. @return what it says.
[[nodiscard]] Tuning tuning_of(std::string_view text);
/// @param tuning any. @return the text that tuning_of reads, for a person to read too.
[[nodiscard]] std::string text_of(const Tuning& tuning);
/// Reads a file. Throws Error{invalid_argument} that begins with the path. @param path of the file.
/// @return what it says.
[[nodiscard]] Tuning read_tuning(const std::string& path);

/// @param tuning any. @return the table for it, or null.
[[nodiscard]] const TunedTable* find_table(const Tuning& tuning, const TunedPlace& place) noexcept;
/// Costs of as many ranks as come closest, with cores of their own or not, on one host or several.
/// @param tuning any. @param wanted of which ranks, hosts, transport, visible and the costs' cores
/// count. @return them, or null.
[[nodiscard]] const TunedCosts* find_costs(const Tuning& tuning, const TunedCosts& wanted) noexcept;
/// Adds costs, or replaces those of the same ranks. @param tuning a file. @param costs to keep.
void keep_costs(Tuning& tuning, TunedCosts costs);
/// @param table with rules. @param bytes of the whole vector. @return the rule for them.
[[nodiscard]] const TunedRule& rule_for(const TunedTable& table, std::size_t bytes) noexcept;

/// Makes rules of what was measured: at each size the fastest, but where the one of the size before
/// is within the interval of it, that one is kept. Between two sizes the rule changes at their
/// geometric mean. @param cells of one place. @return the rules.
[[nodiscard]] std::vector<TunedRule> rules_of(std::span<const TunedCell> cells);

}  // namespace tutti::v0::detail
