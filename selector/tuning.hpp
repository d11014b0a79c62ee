/// @file
/// Measurements of a machine, in a file that selectors read and a person can read.
///
/// The file is JSON, with `"format": "tutti-tuning"` and `"version": 1`. `tutti` is the version
/// that measured, if only that one may use the file. `machine` has `processor` and `cores`. `costs`
/// are the measured costs of messages, which the model uses. Each of `tables` is for one collective
/// on one number of ranks and hosts, over one transport and kind of buffers. Its `rules` state the
/// choice from each number of bytes on; its `cells` are the measured times behind the rules.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/spi/costs.hpp>
#include <tutti/types.hpp>

namespace tutti::v0::detail {

/// The kind of machine that was measured.
struct TunedMachine {
  std::string processor{};  ///< Its model's name.
  int cores = 0;            ///< Online cores.
  /// Equality of all members.
  friend bool operator==(const TunedMachine&, const TunedMachine&) = default;
};

/// The choice from a size on, up to the size of the next rule.
struct TunedRule {
  std::size_t from_bytes = 0;     ///< Bytes of the whole vector, as Problem::bytes.
  std::string algorithm{};        ///< A choice, such as "knomial:k=4".
  std::size_t segment_bytes = 0;  ///< Segments, in bytes of the whole vector; 0: one segment.
  /// Equality of all members.
  friend bool operator==(const TunedRule&, const TunedRule&) = default;
};

/// The times of one choice at one size.
struct TunedCell {
  std::size_t bytes = 0;          ///< Bytes of the whole vector.
  std::string algorithm{};        ///< A choice.
  std::size_t segment_bytes = 0;  ///< As TunedRule.
  double median_us = 0;           ///< The median time, in microseconds.
  double low_us = 0;              ///< Lower end of the median's 95% interval.
  double high_us = 0;             ///< Upper end of it.
  /// The alignment of arrays, as `--align` of `tutti tune`; not in older files.
  std::string align = "page";
  /// The order of calls, as `--pattern`; not in older files.
  std::string pattern = "back_to_back";
};

/// The calls that a table is for.
struct TunedPlace {
  Collective collective{};  ///< The operation.
  int ranks = 0;            ///< Number of ranks.
  int hosts = 1;            ///< Number of their hosts.
  std::string transport{};  ///< The transport, as Capabilities::name.
  bool visible = false;     ///< As Options::visible.
  /// Equality of all members.
  friend bool operator==(const TunedPlace&, const TunedPlace&) = default;
};

/// The choices for one place, by size.
struct TunedTable {
  TunedPlace place{};              ///< Its calls.
  std::vector<TunedRule> rules{};  ///< By size, from the least; the first from 0 bytes.
  std::vector<TunedCell> cells{};  ///< The measured times.
};

/// Measured costs of messages between ranks that all share one host, or share none.
struct TunedCosts {
  int ranks = 0;            ///< Number of ranks.
  int hosts = 1;            ///< Number of their hosts: 1, or as many as ranks.
  std::string transport{};  ///< As TunedPlace.
  bool visible = false;     ///< As TunedPlace.
  LinkCosts costs{};        ///< With the cores and buffered bytes of the measurement.
  std::size_t cells = 0;    ///< Number of times that they were fitted to.
  double loss = 1;          ///< As Fit.
  double median_error = 0;  ///< As Fit.
};

/// A tuning file.
struct Tuning {
  std::string origin{};              ///< Its path, for a person.
  std::string version{};             ///< The version of tutti that measured, or empty.
  TunedMachine machine{};            ///< The machine of the measurement.
  std::vector<TunedCosts> costs{};   ///< At most one for the same ranks, hosts, transport, visible.
  std::vector<TunedTable> tables{};  ///< At most one for a place.
};

/// @return whether this build reads and writes tuning files. Without nlohmann-json it does not, and
/// the next three functions throw Error{invalid_argument}.
[[nodiscard]] bool has_tuning_files() noexcept;
/// Reads a file's text, which is JSON. Throws Error{invalid_argument} that names the line or the
/// place in it, and the fault.
[[nodiscard]] Tuning tuning_of(std::string_view text);
/// @return the text that tuning_of reads, laid out for a person.
[[nodiscard]] std::string text_of(const Tuning& tuning);
/// Reads a file. Throws Error{invalid_argument} that begins with the path.
[[nodiscard]] Tuning read_tuning(const std::string& path);

/// @return the table for a place, or null if it has no rules.
[[nodiscard]] const TunedTable* find_table(const Tuning& tuning, const TunedPlace& place) noexcept;
/// @param wanted must be equal in transport and visible, in whether there are several hosts, and in
/// whether ranks share cores. @return such costs with the nearest number of ranks, or null.
[[nodiscard]] const TunedCosts* find_costs(const Tuning& tuning, const TunedCosts& wanted) noexcept;
/// Adds costs, or replaces those of the same ranks, hosts, transport and visible.
void keep_costs(Tuning& tuning, TunedCosts costs);
/// @param table with at least one rule. @param bytes of the whole vector. @return the rule for
/// them.
[[nodiscard]] const TunedRule& rule_for(const TunedTable& table, std::size_t bytes) noexcept;

/// Makes rules of measured times. At each size the fastest choice wins, except that the one of the
/// size before is kept if their intervals overlap. Between two sizes the rule changes at their
/// geometric mean. @param cells of one place.
[[nodiscard]] std::vector<TunedRule> rules_of(std::span<const TunedCell> cells);

}  // namespace tutti::v0::detail
