/// @file
/// The flags of `tutti sweep` as typed values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/determinism.hpp>
#include <tutti/operators.hpp>
#include <tutti/spi/catalog.hpp>
#include <tutti/types.hpp>

#include "perf/sweep/alignment.hpp"

// CLI/CLI.hpp takes seconds to compile, so only the sources that use it include it.
namespace CLI {
class App;
}

namespace tutti::perf {

/// How calls follow each other in a sample.
enum class CallPattern : std::uint8_t {
  back_to_back,  ///< Enough to fill a sample, one after the other.
  isolated       ///< One, after a barrier and a pause in which each rank computes.
};

/// Number of enumerators of CallPattern.
inline constexpr int kCallPatterns = 2;
/// @param pattern any. @return its name, such as "back_to_back".
[[nodiscard]] std::string_view name_of(CallPattern pattern);

/// The values of the flags.
struct SweepOptions {
  std::vector<Collective> collectives{};          ///< In the order of the catalog.
  std::vector<Collective> uneven{};               ///< Measured next: see Workload::uneven.
  std::vector<PointToPoint> messages{};           ///< Measured last: see Workload::point_to_point.
  std::vector<std::string> algorithms{};          ///< Empty: every fitting one, auto and native.
  std::size_t begin_bytes = 8;                    ///< Least size.
  std::size_t end_bytes = std::size_t{16} << 20;  ///< Greatest size.
  std::size_t factor = 8;                         ///< Ratio of a size to the one before.
  std::optional<std::size_t> rounds{};  ///< Fixed number of samples; nothing: until precise.
  std::optional<std::size_t> warm_up_rounds{};  ///< Fixed warm-up; nothing: until times are stable.
  bool check = true;                            ///< Whether results are checked.
  Datatype type = Datatype::f32;                ///< Element type.
  OperatorKind op = OperatorKind::sum;          ///< Operator of reductions.
  Rank root = 0;                                ///< Root of rooted collectives.
  std::string transport = "auto";               ///< Transport of tutti's calls.
  std::string buffers = "private";              ///< The kind of memory of the buffers.
  Alignment align{};                            ///< Requested start of arrays of the host.
  std::vector<Alignment> more_alignments{};     ///< Further ones, which race with it.
  CallPattern pattern = CallPattern::back_to_back;  ///< How calls follow each other.
  bool on_gpus = false;                             ///< Whether buffers are in memory of GPUs.
  std::string gpu_transport{};  ///< As cuda::AttachOptions::transport; empty: not on GPUs.
  bool graph = false;           ///< On GPUs: whether a graph replays the calls.
  bool in_place = false;        ///< Whether input and output share memory.
  bool touch = true;            ///< Whether inputs are rewritten before a sample.
  std::size_t segment = 0;      ///< Fixed segment, or 0.
  /// Level of tutti's algorithms. Nothing: auto runs as a plain call, named ones at any level.
  std::optional<Determinism> determinism{};
  /// The available algorithms.
  std::shared_ptr<const Catalog> catalog = std::make_shared<const Catalog>();
  std::optional<int> ranks{};              ///< Expected number of ranks.
  double budget_s = 0.2;                   ///< Longest time per size and algorithm.
  double timeout_s = 60;                   ///< Deadline of one operation.
  std::uint64_t seed = 1;                  ///< Seed of the shuffling.
  std::map<std::string, double> inject{};  ///< Added share of time by label, for tests.
  double fail_over = 0.1;                  ///< Slowdown against the baseline that is an error.
  bool color = false;                      ///< Whether the table is coloured.
  std::string format = "table";            ///< Columns of the table.
  bool quiet = false;                      ///< Whether the table is left out.
  std::string csv{};                       ///< CSV file; empty: none; "-": standard output.
  std::string json{};                      ///< File of JSON records, as `csv`.
  std::string plot{};                      ///< Picture.
  std::string html{};                      ///< Page.
  std::string replay{};                    ///< File of records whose run is repeated.
  std::string baseline{};                  ///< File of records for comparison.
  /// A command line that repeats the measurement: all flags that change it, none that only changes
  /// the output.
  std::vector<std::string> arguments{};

  /// @return the requested sizes, ascending.
  [[nodiscard]] std::vector<std::size_t> sizes() const;
  /// @param other one of more_alignments; nothing: align. @return the start of arrays of the host,
  /// where "malloc" means "page" for visible ones.
  [[nodiscard]] Alignment array_alignment(const std::optional<Alignment>& other = {}) const;
  /// @param other as array_alignment. @return that as text; empty on GPUs, whose driver places
  /// arrays.
  [[nodiscard]] std::string alignment_text(const std::optional<Alignment>& other = {}) const;
  /// @return whether the table goes to standard output.
  [[nodiscard]] bool has_table() const noexcept { return !quiet && csv != "-" && json != "-"; }
  /// @return whether calls are isolated.
  [[nodiscard]] bool is_isolated() const noexcept { return pattern == CallPattern::isolated; }
};

/// Declares flags. The parser of the command line stores their values in `options`, and throws
/// Failure{usage} for wrong ones. @param options get the defaults at once. @param names the long
/// names of the flags to declare; empty: all.
void declare_flags(CLI::App& app, SweepOptions& options,
                   const std::vector<std::string_view>& names = {});

/// Changes the default of a flag. @param name the long name. @param text as on a command line;
/// empty: no default.
void set_usual(CLI::App& app, SweepOptions& options, std::string_view name, const char* text);

/// @param app the subcommand, parsed. @return SweepOptions::arguments.
[[nodiscard]] std::vector<std::string> repeat_arguments(const CLI::App& app);

/// Throws Failure{usage} if flags that only change the output contradict each other.
void check_output(const SweepOptions& options);

/// As check_output, for flags that change the measurement.
void check_together(const SweepOptions& options);

/// Throws Failure{usage} if --replay stands beside flags that change the measurement, since the
/// replayed file has them. @param app the subcommand, parsed.
void reject_beside_replay(const CLI::App& app);

/// Parses a command line of `tutti sweep`. Throws Failure{usage}. @param arguments such as
/// SweepOptions::arguments.
[[nodiscard]] SweepOptions sweep_options(const std::vector<std::string>& arguments);

/// The options of recorded arguments, with other outputs. Throws Failure{usage}. @param outputs
/// whose output flags are taken.
[[nodiscard]] SweepOptions repeated(std::vector<std::string> arguments,
                                    const SweepOptions& outputs);

}  // namespace tutti::perf
