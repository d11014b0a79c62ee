/// @file
/// What a sweep says on the terminal: a header, one row per size as soon as it is there, a last
/// line. No carriage returns, and colour only on request: under a launcher standard output looks
/// like a terminal even when it is a file.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "perf/sweep/bandwidths.hpp"
#include "perf/sweep/context.hpp"
#include "perf/sweep/verdict.hpp"

namespace tutti::perf {

/// Everything the last line and the summary record say. Filled cell by cell.
struct Tally {
  std::size_t cells = 0;                 ///< Configurations measured.
  std::size_t unequal = 0;               ///< Those whose ranks differ where they must not.
  std::size_t wrong = 0;                 ///< Wrong elements in all.
  std::size_t sizes = 0;                 ///< Races run.
  std::size_t ties = 0;                  ///< Races without a winner.
  std::vector<double> ours_vs_native{};  ///< One ratio per race.
  std::vector<double> auto_vs_native{};  ///< One ratio per race.
  std::size_t auto_races = 0;            ///< Races in which auto could be judged.
  std::size_t auto_best = 0;             ///< Those in which it lost nothing.
  double worst_auto_loss = 0;            ///< The most it lost.

  /// Adds a race. @param result its samples. @param verdict its outcome.
  void add(const SizeResult& result, const Verdict& verdict);
};

/// Writes the table. Used on rank 0. Throws Failure{environment} where it cannot be written.
class Table {
 public:
  /// @param color whether to colour.
  Table(std::FILE* out, bool color) : out_{out}, color_{color} {}

  /// Writes where and how. @param context the facts. @param options the flags.
  void header(const Context& context, const SweepOptions& options);
  /// Opens a collective's part. @param name of it, or of messages.
  void open(std::string_view name);
  /// Writes a row. @param result the samples. @param verdict the outcome.
  void row(const SizeResult& result, const Verdict& verdict);
  /// The same on GPUs. @param name as open.
  void open_on_gpus(std::string_view name);
  /// Writes the rows of a size. @param halves as bandwidth_rows.
  void rows_on_gpus(const Halves& halves);
  /// Writes the last lines. @param tally of the whole sweep. @param checked whether results were.
  void close(const Tally& tally, bool checked);
  /// Writes a remark. @param text one line.
  void note(const std::string& text);

 private:
  void line(const std::string& text);
  void header_on_gpus(const Context& context, const SweepOptions& options, const std::string& how);
  void remark(const SizeResult& result);

  std::FILE* out_;
  bool color_;
  std::vector<std::string> noted_{};
};

/// Says how far a sweep is, in a line of its own, at most every five seconds. Used on rank 0.
class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param cells configurations to measure. @param budget_s time for each, as first estimate.
  /// @param start of the measurement.
  ProgressLine(std::FILE* out, std::size_t cells, double budget_s,
               Clock::time_point start = Clock::now())
      : out_{out}, cells_{cells}, budget_s_{budget_s}, start_{start}, last_{start} {}

  /// @param what is being measured now.
  void at(std::string what) { what_ = std::move(what); }
  /// @param cells configurations that are done or left out.
  void done(std::size_t cells) { done_ += cells; }
  /// Says it, if it is time. @param now the time.
  void tick(Clock::time_point now = Clock::now());

 private:
  std::FILE* out_;
  std::size_t cells_;
  double budget_s_;
  Clock::time_point start_;
  Clock::time_point last_;
  std::size_t done_ = 0;
  std::string what_{};
};

}  // namespace tutti::perf
