#include "perf/sweep/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "perf/command_line.hpp"
#include "perf/sweep/rounds.hpp"
#include "perf/units.hpp"

namespace tutti::perf {

namespace {

constexpr double kProgress_s = 5;
constexpr std::size_t kFastest = 63;  // columns, so that a row has 120 columns

// Candidates with a time, fastest first. auto and native have columns of their own, so they are
// included only as the best.
std::vector<std::size_t> by_speed(const SizeResult& result, const Verdict& verdict) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < result.measured.size(); ++i) {
    const CandidateType kind = result.measured[i].candidate.kind;
    const bool has_column = kind == CandidateType::automatic || kind == CandidateType::native;
    if (verdict.summaries[i].samples > 0 && (!has_column || i == verdict.best))
      indices.push_back(i);
  }
  std::ranges::sort(indices, {}, [&](std::size_t i) {
    return std::pair{i != verdict.best, verdict.summaries[i].median};
  });
  return indices;
}

char mark_of(const Verdict& verdict, std::size_t i) {
  if (verdict.standings[i] == Standing::best) return '*';
  return verdict.standings[i] == Standing::tie ? '~' : ' ';
}

// A time with its mark, such that numbers are aligned.
std::string time_of(const Verdict& verdict, std::size_t i) {
  return fmt::format("{}{}", format_us(verdict.summaries[i].median), mark_of(verdict, i));
}

// The column of auto, or of native.
std::string time_of(const SizeResult& result, const Verdict& verdict, CandidateType kind) {
  for (std::size_t i = 0; i < result.measured.size(); ++i)
    if (result.measured[i].candidate.kind == kind && verdict.summaries[i].samples > 0)
      return time_of(verdict, i);
  return "- ";
}

// The loss of auto.
std::string loss_of(const Verdict& verdict) {
  if (!verdict.auto_loss) return "-";
  return fmt::format("{}{:.0f}%", *verdict.auto_loss > 0 ? "+" : "", *verdict.auto_loss * 100);
}
std::string loser_of(const SizeResult& result, const Verdict& verdict) {
  if (verdict.auto_loss.value_or(0) <= 0) return {};
  const auto is_auto = [](const Measured& m) {
    return m.candidate.kind == CandidateType::automatic;
  };
  return "; auto runs " + std::ranges::find_if(result.measured, is_auto)->runs;
}

// The fastest candidates that fit, and the number of the others: "ring 10.0*, direct 10.1~, +9".
std::string fastest_of(const SizeResult& result, const Verdict& verdict, bool color) {
  const std::vector<std::size_t> indices = by_speed(result, verdict);
  const std::string last = loser_of(result, verdict);
  std::string text;
  std::size_t width = last.size();
  for (std::size_t shown = 0; shown < indices.size(); ++shown) {
    const std::size_t i = indices[shown];
    std::string entry = result.measured[i].candidate.label + " " + time_of(verdict, i);
    if (entry.back() == ' ') entry.pop_back();
    const std::size_t left = indices.size() - shown - 1;
    const std::size_t more = left == 0 ? 0 : fmt::formatted_size(", +{}", left);
    width += (shown > 0 ? 2 : 0) + entry.size();
    if (shown > 0 && width + more > kFastest) return text + fmt::format(", +{}", left + 1) + last;
    const bool is_best = color && i == verdict.best;
    text += (shown > 0 ? ", " : "") + (is_best ? "\x1b[32m" + entry + "\x1b[0m" : entry);
  }
  return text.empty() ? "-" : text + last;
}

std::string times(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.2f}x", *ratio) : "-";
}

}  // namespace

void Tally::add(const SizeResult& result, const Verdict& verdict) {
  for (const Measured& measured : result.measured) {
    cells += measured.times_us.empty() ? 0 : 1;
    wrong += measured.wrong;
    unequal += measured.bit_equal ? 0 : 1;
  }
  if (!verdict.best) return;
  ++sizes;
  ties += verdict.is_tie() ? 1 : 0;
  if (verdict.ours_vs_native) ours_vs_native.push_back(*verdict.ours_vs_native);
  if (verdict.auto_vs_native) auto_vs_native.push_back(*verdict.auto_vs_native);
  if (!verdict.auto_loss) return;
  ++auto_races;
  auto_best += *verdict.auto_loss > 0 ? 0 : 1;
  worst_auto_loss = std::max(worst_auto_loss, *verdict.auto_loss);
}

void Table::line(const std::string& text) {
  if (out_ != nullptr) write_out(text + "\n", out_);
}

void Table::warn(const std::string& text) {
  if (out_ != nullptr) return note(text);
  fmt::print(stderr, "tutti sweep: {}\n", text);
}

void Table::note(const std::string& text) {
  if (std::find(noted_.begin(), noted_.end(), text) != noted_.end()) return;
  noted_.push_back(text);
  line("# " + text);
}

void Table::header(const Context& context, const SweepOptions& options) {
  line(fmt::format("# tutti {}   {}   {}   seed {}   {}", context.version, context.library,
                   context.compiler, options.seed, context.started));
  line(fmt::format("# {} rank{} on {} host{}", context.ranks, context.ranks == 1 ? "" : "s",
                   context.hosts.size(), context.hosts.size() == 1 ? "" : "s"));
  for (const Host& host : context.hosts)
    if (host.ranks.size() > static_cast<std::size_t>(std::max(host.cores, 0)))
      warn(
          fmt::format("!! {} is oversubscribed: {} ranks on {} cores; its times are those of a "
                      "crowded machine",
                      host.name, host.ranks.size(), host.cores));
  if (context.ranks == 1) warn("!! a single rank: nothing is sent; start it with mpirun -n N");
  for (const auto& [label, share] : options.inject)
    warn(fmt::format("!! {} IS SLOWED DOWN BY {:.1f}% ON PURPOSE (--inject)", label, share * 100));
  const std::string type =
      fmt::format("{} {}", tutti::name_of(options.type), tutti::name_of(options.op));
  const std::string inputs =
      options.touch ? "inputs rewritten before each sample" : "inputs left alone";
  const std::string level =
      options.determinism ? fmt::format("; {}", tutti::name_of(*options.determinism)) : "";
  const std::string_view form = options.in_place                 ? "in place"
                                : options.format == "nccl-tests" ? "out of place and in place"
                                                                 : "out of place";
  if (options.on_gpus) return header_on_gpus(context, options, type + "; " + inputs + level);
  line(fmt::format("# ours over {}, {} buffers; {}; {}; {}{}", options.transport, options.buffers,
                   type, form, inputs, level));
  const std::size_t more = options.more_alignments.size();
  line(fmt::format(
      "# arrays: {}{} (--align); calls: {} (--pattern)", options.alignment_text(),
      more == 0 ? "" : fmt::format(", {} others behind @", more),
      options.is_isolated()
          ? fmt::format("isolated, each after a barrier and {} us of computing", kPause_us)
          : "back to back"));
  if (columns_) return;
  line("# median microseconds of the slowest rank, the fastest first, +N: N more are in the files");
  line("# * best  ~ as good as the best (paired test, p >= 0.01, or less than 2% apart)");
  line("# vs native: how many times faster our best is than the MPI. auto: a plain call");
}

void Table::header_on_gpus(const Context& context, const SweepOptions& options,
                           const std::string& how) {
  for (std::size_t rank = 0; rank < context.gpus.size(); ++rank)
    line(fmt::format("# rank {}: {}", rank, context.gpus[rank]));
  line(fmt::format("# memory of GPUs, {}; {}",
                   context.nccl.empty() ? "no NCCL" : "NCCL " + context.nccl, how));
  line(options.graph ? "# each call is a graph, replayed on one stream"
                     : "# calls on one stream, one after the other");
  if (columns_) return;
  line("# time: median of the slowest rank. native: NCCL's own call. auto: a plain call");
  line(
      "# * best  ~ as good as the best (paired test, p >= 0.01, or less than 2% apart): out of "
      "place, in place");
}

void Table::open(const Workload& first, bool on_gpus) {
  if (!columns_) return on_gpus ? open_on_gpus(name_of(first)) : open(name_of(first));
  for (const std::string& text : columns_->heading(first)) line(text);
}

void Table::rows(const Halves& halves, bool on_gpus) {
  if (!columns_ && on_gpus) return rows_on_gpus(halves);
  for (const std::optional<Raced>& raced : {halves.out_of_place, halves.in_place})
    if (!columns_ && raced) row(raced->result, raced->verdict);
  if (!columns_) return;
  const std::string text = columns_->row(halves);
  if (!text.empty()) line(text);
  remark_on(halves);
}

void Table::end_rows() {
  if (!columns_) return;
  for (const std::string& text : columns_->end()) line(text);
}

void Table::open(std::string_view name) {
  line("#");
  line(fmt::format("# {}", name));
  line(fmt::format("#{:>10} {:>9} {:>8}  {:>8}  {:>6} {:>6}  {}", "bytes", "vs native", "native",
                   "auto", "loses", "wrong", "fastest"));
}

void Table::row(const SizeResult& result, const Verdict& verdict) {
  std::size_t wrong = 0;
  bool checked = false;
  for (const Measured& measured : result.measured) {
    wrong += measured.wrong;
    checked = checked || measured.checked;
  }
  line(fmt::format("{:>11} {:>9} {:>9} {:>9} {:>6} {:>6}  {}", total_bytes(result.workload),
                   times(verdict.ours_vs_native), time_of(result, verdict, CandidateType::native),
                   time_of(result, verdict, CandidateType::automatic), loss_of(verdict),
                   checked ? fmt::format("{}", wrong) : "-", fastest_of(result, verdict, color_)));
  remark(result);
}

void Table::open_on_gpus(std::string_view name) {
  line("#");
  line(fmt::format("# {}", name));
  for (const std::string& text : bandwidth_heading()) line(text);
}

void Table::rows_on_gpus(const Halves& halves) {
  for (const std::string& text : bandwidth_rows(halves)) line(text);
  remark_on(halves);
}

void Table::remark_on(const Halves& halves) {
  for (const std::optional<Raced>& raced : {halves.out_of_place, halves.in_place})
    if (raced) remark(raced->result);
}

// Reports wrong results and missing candidates.
void Table::remark(const SizeResult& result) {
  for (const Measured& measured : result.measured) {
    const std::string& label = measured.candidate.label;
    if (!measured.refused.empty())
      note(fmt::format("{} takes no part: {}", label, measured.refused));
    if (measured.wrong > 0)
      warn(fmt::format("!! {} gives {} WRONG ELEMENTS at {} bytes", label, measured.wrong,
                       total_bytes(result.workload)));
    if (!measured.bit_equal)
      warn(fmt::format("!! {} DIFFERS BETWEEN RANKS at {} bytes", label,
                       total_bytes(result.workload)));
  }
}

void Table::close(const Tally& tally, bool checked) {
  line("#");
  line(checked
           ? fmt::format("# checked {} configurations: {} wrong elements, {} differ between ranks",
                         tally.cells, tally.wrong, tally.unequal)
           : fmt::format("# {} configurations, NOT CHECKED (-c 0)", tally.cells));
  std::string text = fmt::format("# {} sizes, {} of them ties", tally.sizes, tally.ties);
  if (!tally.ours_vs_native.empty())
    text += fmt::format("; geometric mean against native: best of ours {:.2f}x",
                        geometric_mean(tally.ours_vs_native));
  if (!tally.auto_vs_native.empty())
    text += fmt::format(", auto {:.2f}x", geometric_mean(tally.auto_vs_native));
  if (tally.auto_races > 0)
    text += fmt::format("; auto lost nothing in {} of {} sizes, {:.0f}% at worst", tally.auto_best,
                        tally.auto_races, tally.worst_auto_loss * 100);
  line(text);
}

void ProgressLine::tick(Clock::time_point now) {
  if (out_ == nullptr || std::chrono::duration<double>(now - last_).count() < kProgress_s) return;
  last_ = now;
  const double elapsed_s = std::chrono::duration<double>(now - start_).count();
  const double per_cell_s = done_ == 0 ? budget_s_ : elapsed_s / static_cast<double>(done_);
  const double left_s = per_cell_s * static_cast<double>(cells_ - std::min(done_, cells_));
  fmt::print(out_, "tutti sweep: {}, {} of {} configurations done, about {} left\n", what_, done_,
             cells_, format_duration(left_s));
  std::fflush(out_);
}

}  // namespace tutti::perf
