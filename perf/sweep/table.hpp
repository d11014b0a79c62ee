/// @file
/// The terminal output of a sweep: a header, one row per size when it is measured, and a last line.
/// It has no carriage returns, and colour only on request: under a launcher, standard output looks
/// like a terminal even if it is a file.
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "perf/sweep/bandwidths.hpp"
#include "perf/sweep/columns.hpp"
#include "perf/sweep/context.hpp"
#include "perf/sweep/verdict.hpp"

namespace tutti::perf {

/// Input of the last line and of the summary record. It grows cell by cell.
struct Tally {
  std::size_t cells = 0;    ///< Configurations measured.
  std::size_t unequal = 0;  ///< Configurations whose ranks differ although they must not.
  std::size_t wrong = 0;    ///< Number of wrong elements.
  std::size_t sizes = 0;    ///< Races run.
  std::size_t ties = 0;     ///< Races without a winner.
  std::vector<double> ours_vs_native{};  ///< One ratio per race.
  std::vector<double> auto_vs_native{};  ///< One ratio per race.
  std::size_t auto_races = 0;            ///< Races in which auto took part.
  std::size_t auto_best = 0;             ///< Races in which auto lost nothing.
  double worst_auto_loss = 0;            ///< Largest loss of auto.

  /// Adds a race.
  void add(const SizeResult& result, const Verdict& verdict);
};

/// Writes the table. Used on rank 0. Throws Failure{environment} if a write fails.
class Table {
 public:
  /// @param out null writes only warnings, to standard error. @param color whether to colour.
  /// @param columns those of another tool, or null.
  Table(std::FILE* out, bool color, std::unique_ptr<Columns> columns = nullptr)
      : out_{out}, color_{color}, columns_{std::move(columns)} {}

  /// Writes the facts about machine, software and settings.
  void header(const Context& context, const SweepOptions& options);
  /// Starts the rows of a collective, or of messages. @param first its first workload.
  void open(const Workload& first, bool on_gpus);
  /// Writes the rows of a size.
  void rows(const Halves& halves, bool on_gpus);
  /// Ends the rows of a collective.
  void end_rows();
  /// Starts the rows of tutti's own columns.
  void open(std::string_view name);
  /// Writes the row of a size.
  void row(const SizeResult& result, const Verdict& verdict);
  /// As open, on GPUs.
  void open_on_gpus(std::string_view name);
  /// Writes the rows of a size on GPUs.
  void rows_on_gpus(const Halves& halves);
  /// Writes the last lines. @param checked whether results were checked.
  void close(const Tally& tally, bool checked);
  /// Writes a remark of one line.
  void note(const std::string& text);
  /// Writes a remark that must be seen, also without a table.
  void warn(const std::string& text);

 private:
  void line(const std::string& text);
  void header_on_gpus(const Context& context, const SweepOptions& options, const std::string& how);
  void remark(const SizeResult& result);
  void remark_on(const Halves& halves);

  std::FILE* out_;
  bool color_;
  std::unique_ptr<Columns> columns_;
  std::vector<std::string> noted_{};
};

/// Reports the progress of a sweep in a line of its own, at most every five seconds. Used on rank
/// 0.
class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param out prints nothing if it is null. @param cells configurations to measure. @param budget_s first estimate of the time for each.
  ProgressLine(std::FILE* out, std::size_t cells, double budget_s,
               Clock::time_point start = Clock::now())
      : out_{out}, cells_{cells}, budget_s_{budget_s}, start_{start}, last_{start} {}

  /// @param what is being measured now, as printed.
  void at(std::string what) { what_ = std::move(what); }
  /// @param cells configurations that are measured or left out.
  void done(std::size_t cells) { done_ += cells; }
  /// Prints the line if it is due.
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
