/// @file
/// The flags of `tutti sweep`, read into what they mean.
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
  back_to_back,  ///< As many as fill a sample, one after the other.
  isolated       ///< One, after a barrier and a pause in which each rank computes.
};

/// Number of enumerators of CallPattern.
inline constexpr int kCallPatterns = 2;
/// @param pattern any. @return its name, such as "back_to_back".
[[nodiscard]] std::string_view name_of(CallPattern pattern);

/// The values of the flags.
struct SweepOptions {
  std::vector<Collective> collectives{};          ///< In the order of the catalog.
  std::vector<Collective> uneven{};               ///< After them: see Workload::uneven.
  std::vector<PointToPoint> messages{};           ///< After them: see Workload::point_to_point.
  std::vector<std::string> algorithms{};          ///< Empty: every fitting one, auto and native.
  std::size_t begin_bytes = 8;                    ///< Least size.
  std::size_t end_bytes = std::size_t{16} << 20;  ///< Greatest size.
  std::size_t factor = 8;                         ///< From one size to the next.
  std::optional<std::size_t> rounds{};            ///< Fixed number of samples; else by precision.
  std::optional<std::size_t> warm_up_rounds{};    ///< Fixed warm-up; else until it settles.
  bool check = true;                              ///< Whether results are checked.
  Datatype type = Datatype::f32;                  ///< Element type.
  OperatorKind op = OperatorKind::sum;            ///< Of reductions.
  Rank root = 0;                                  ///< Of rooted collectives.
  std::string transport = "auto";                 ///< Which transport carries our own algorithms.
  std::string buffers = "private";                ///< The kind of memory of the buffers.
  Alignment align{};                              ///< Where arrays of the host begin, as asked for.
  std::vector<Alignment> more_alignments{};       ///< Others, which race with it.
  CallPattern pattern = CallPattern::back_to_back;  ///< How calls follow each other.
  bool on_gpus = false;                             ///< Whether that is memory of GPUs.
  std::string gpu_transport{};  ///< As cuda::AttachOptions::transport; empty: not on GPUs.
  bool graph = false;           ///< There: whether calls are replayed by a graph.
  bool in_place = false;        ///< Whether input and output share memory.
  bool touch = true;            ///< Whether inputs are rewritten before a sample.
  std::size_t segment = 0;      ///< Forced segment, or 0.
  /// What our algorithms keep; nothing: auto what a plain call does, those named anything.
  std::optional<Determinism> determinism{};
  /// What there is to choose from.
  std::shared_ptr<const Catalog> catalog = std::make_shared<const Catalog>();
  std::optional<int> ranks{};              ///< Expected number of ranks.
  double budget_s = 0.2;                   ///< Longest time per size and algorithm.
  double timeout_s = 60;                   ///< Deadline of one operation.
  std::uint64_t seed = 1;                  ///< Of the shuffling.
  std::map<std::string, double> inject{};  ///< Label to share of time added, for testing.
  double fail_over = 0.1;                  ///< Slowdown against the baseline that fails.
  bool color = false;                      ///< Whether the table is coloured.
  std::string csv{};                       ///< File of the table; empty: none.
  std::string json{};                      ///< File of records.
  std::string plot{};                      ///< Picture.
  std::string html{};                      ///< Page.
  std::string replay{};                    ///< File of records whose run is repeated.
  std::string baseline{};                  ///< File of records to compare with.
  /// A command line that repeats the measurement: every flag that steers it, none that says where
  /// results go.
  std::vector<std::string> arguments{};

  /// @return the sizes asked for, ascending.
  [[nodiscard]] std::vector<std::size_t> sizes() const;
  /// @param other one of more_alignments, or nothing: align. @return where arrays of the host
  /// begin: malloc does not place visible ones.
  [[nodiscard]] Alignment array_alignment(const std::optional<Alignment>& other = {}) const;
  /// @param other as array_alignment. @return that as text; nothing on GPUs, whose driver places
  /// arrays.
  [[nodiscard]] std::string alignment_text(const std::optional<Alignment>& other = {}) const;
  /// @return whether calls are isolated.
  [[nodiscard]] bool is_isolated() const noexcept { return pattern == CallPattern::isolated; }
};

/// Declares flags, which are read into the options while a command line is parsed; what is wrong
/// throws Failure{usage} from there. @param app the subcommand. @param options get what the flags
/// mean, at first by themselves. @param names the long names of those to declare; empty: all.
void declare_flags(CLI::App& app, SweepOptions& options,
                   const std::vector<std::string_view>& names = {});

/// Gives a flag another value by itself. @param app with the flag. @param options get it. @param
/// name the long name. @param text as on a command line; empty: none.
void set_usual(CLI::App& app, SweepOptions& options, std::string_view name, const char* text);

/// @param app the subcommand, parsed. @param options of it. @return SweepOptions::arguments.
[[nodiscard]] std::vector<std::string> repeat_arguments(const CLI::App& app,
                                                        const SweepOptions& options);

/// Throws Failure{usage} where flags contradict each other. @param options of a parsed command
/// line.
void check_together(const SweepOptions& options);

/// Refuses flags that steer the measurement, because the replayed file does. Throws
/// Failure{usage}. @param app the subcommand, parsed, with --replay.
void reject_beside_replay(const CLI::App& app);

/// Reads a command line. Throws Failure{usage}. @param arguments of `tutti sweep`, such as
/// SweepOptions::arguments. @return what they mean.
[[nodiscard]] SweepOptions sweep_options(const std::vector<std::string>& arguments);

/// The run of other arguments, with the outputs of these options. Throws Failure{usage}. @param
/// arguments that were recorded. @param outputs say where results go. @return all options.
[[nodiscard]] SweepOptions repeated(std::vector<std::string> arguments,
                                    const SweepOptions& outputs);

}  // namespace tutti::perf
