/// @file
/// The flags of `tutti sweep`: as written, and as understood.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
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

/// The flags as written; an empty string is a flag that was not given.
struct SweepFlags {
  std::string collective = "all";
  std::string algorithm;
  std::string begin = "8";
  std::string end = "16M";
  std::string factor = "8";
  std::string rounds;
  std::string warm_up;
  std::string check = "1";
  std::string type = "f32";
  std::string op = "sum";
  std::string root = "0";
  std::string transport = "auto";
  std::string buffers = "private";
  std::string align = "malloc";
  std::string pattern = "back_to_back";
  std::string memory = "host";
  std::string segment;
  std::string determinism;
  std::string load;
  std::string ranks;
  std::string budget = "200ms";
  std::string timeout = "60s";
  std::string seed = "1";
  std::string inject;
  std::string csv;
  std::string json;
  std::string plot;
  std::string html;
  std::string replay;
  std::string baseline;
  std::string fail_over = "10%";
  std::string color = "never";
  bool in_place = false;
  bool touch = true;
  bool graph = false;
};

/// How calls follow each other in a sample.
enum class CallPattern : std::uint8_t {
  back_to_back,  ///< As many as fill a sample, one after the other.
  isolated       ///< One, after a barrier and a pause in which each rank computes.
};

/// Number of enumerators of CallPattern.
inline constexpr int kCallPatterns = 2;
/// @param pattern any. @return its name, such as "back_to_back".
[[nodiscard]] std::string_view name_of(CallPattern pattern);

/// The flags as understood.
struct SweepOptions {
  std::vector<Collective> collectives{};        ///< In the order of the catalog.
  std::vector<Collective> uneven{};             ///< After them: see Problem::uneven.
  std::vector<PointToPoint> messages{};         ///< After them: see Problem::point_to_point.
  std::vector<std::string> algorithms{};        ///< Empty: every fitting one, auto and native.
  std::size_t begin_bytes = 8;                  ///< Least size.
  std::size_t end_bytes = 0;                    ///< Greatest size.
  std::size_t factor = 8;                       ///< From one size to the next.
  std::optional<std::size_t> rounds{};          ///< Fixed number of samples; else by precision.
  std::optional<std::size_t> warm_up_rounds{};  ///< Fixed warm-up; else until it settles.
  bool check = true;                            ///< Whether results are checked.
  Datatype type = Datatype::f32;                ///< Element type.
  OperatorKind op = OperatorKind::sum;          ///< Of reductions.
  Rank root = 0;                                ///< Of rooted collectives.
  std::string transport{};                      ///< Which transport carries our own algorithms.
  std::string buffers{};                        ///< What kind of memory the buffers are.
  Alignment align{};                            ///< Where arrays of the host begin, as asked for.
  std::vector<Alignment> more_alignments{};     ///< Others, which race with it.
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

/// Declares the flags. @param app the subcommand. @param flags filled when it is parsed.
void declare_flags(CLI::App& app, SweepFlags& flags);

/// Refuses flags that steer the measurement, because the replayed file does. Throws
/// Failure{usage}. @param app the subcommand, parsed, with --replay.
void reject_beside_replay(const CLI::App& app);

/// Understands the flags. Throws Failure{usage}. @param flags as written. @return as understood.
[[nodiscard]] SweepOptions understand(const SweepFlags& flags);

/// @param flags as written. @return a command line that repeats the measurement: every flag that
/// steers it, none that says where results go.
[[nodiscard]] std::vector<std::string> repeat_arguments(const SweepFlags& flags);

/// Reads such a command line. Throws Failure{usage}. @param arguments as repeat_arguments gives
/// them. @param outputs where results go. @return the flags.
[[nodiscard]] SweepFlags flags_of(const std::vector<std::string>& arguments,
                                  const SweepFlags& outputs);

}  // namespace tutti::perf
