#include "perf/sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "perf/sweep_units.hpp"

namespace tutti::perf {

namespace {

constexpr double kProgress_s = 5;
constexpr std::size_t kLeastWidth = 9;

// A label in lines that fit above a column of numbers: "recursive_", "doubling".
std::vector<std::string> heading(const std::string& label) {
  std::vector<std::string> lines{""};
  for (const char c : label) {
    if (c == ':' || c == '#') lines.emplace_back();
    lines.back() += c;
    if (c == '_') lines.emplace_back();
  }
  // Short pieces share a line.
  for (std::size_t i = 0; i + 1 < lines.size();) {
    if (lines[i].size() + lines[i + 1].size() > kLeastWidth) {
      ++i;
      continue;
    }
    lines[i] += lines[i + 1];
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return lines;
}

char mark_of(const Verdict& verdict, std::size_t i) {
  if (verdict.standings[i] == Standing::best) return '*';
  return verdict.standings[i] == Standing::tie ? '~' : ' ';
}

std::string winner_of(const SizeResult& result, const Verdict& verdict) {
  if (!verdict.best) return "-";
  const std::string& best = result.measured[*verdict.best].candidate.label;
  if (!verdict.is_tie()) return best;
  constexpr std::size_t kNamed = 2;
  std::string text = "tie ~ " + best;
  for (std::size_t i = 0; i < std::min(kNamed, verdict.equals.size()); ++i)
    text += ", " + result.measured[verdict.equals[i]].candidate.label;
  if (verdict.equals.size() > kNamed) text += fmt::format(", +{}", verdict.equals.size() - kNamed);
  return text;
}

std::string auto_of(const SizeResult& result, const Verdict& verdict) {
  for (const Measured& measured : result.measured)
    if (measured.candidate.kind == Kind::automatic && !measured.times_us.empty())
      return measured.runs + (verdict.auto_loss.value_or(0) > 0
                                  ? fmt::format(" +{:.0f}%", *verdict.auto_loss * 100)
                                  : "");
  return "-";
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
  fmt::print(out_, "{}\n", text);
  std::fflush(out_);
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
      line(
          fmt::format("# !! {} is oversubscribed: {} ranks on {} cores; its times are those of a "
                      "crowded machine",
                      host.name, host.ranks.size(), host.cores));
  if (context.ranks == 1) line("# !! a single rank: nothing is sent; start it with mpirun -n N");
  for (const auto& [label, share] : options.inject)
    line(
        fmt::format("# !! {} IS SLOWED DOWN BY {:.1f}% ON PURPOSE (--inject)", label, share * 100));
  line(fmt::format("# ours over {}, {} buffers; {} {}; {}; {}", options.transport, options.buffers,
                   tutti::name_of(options.type), tutti::name_of(options.op),
                   options.in_place ? "in place" : "out of place",
                   options.touch ? "inputs rewritten before each sample" : "inputs left alone"));
  line(
      "# median microseconds of the slowest rank. * best  ~ as good as the best (paired test, p >= "
      "0.01, or less than 2% apart)");
  line(
      "# vs native: how many times faster our best is than the MPI. auto: what a plain call runs, "
      "and what that loses");
}

void Table::open(std::string_view name, const std::vector<Candidate>& candidates) {
  std::vector<std::vector<std::string>> headings;
  std::size_t height = 1;
  widths_.clear();
  for (const Candidate& candidate : candidates) {
    headings.push_back(heading(candidate.label));
    height = std::max(height, headings.back().size());
    std::size_t width = kLeastWidth;
    for (const std::string& piece : headings.back()) width = std::max(width, piece.size());
    widths_.push_back(width);
  }
  line("#");
  line(fmt::format("# {}", name));
  for (std::size_t row = 0; row < height; ++row) {
    const bool last = row + 1 == height;
    std::string text = fmt::format("#{:>10}", last ? "bytes" : "");
    for (std::size_t i = 0; i < headings.size(); ++i) {
      const std::size_t missing = height - headings[i].size();  // headings stand on the bottom line
      text += fmt::format(" {:>{}} ", row < missing ? "" : headings[i][row - missing], widths_[i]);
    }
    if (last)
      text += fmt::format(" {:>9} {:>7}  {:<26} {}", "vs native", "wrong", "auto", "winner");
    line(text);
  }
}

void Table::row(const SizeResult& result, const Verdict& verdict) {
  std::string text = fmt::format("{:>11}", total_bytes(result.problem));
  std::size_t wrong = 0;
  bool checked = false;
  for (std::size_t i = 0; i < result.measured.size(); ++i) {
    const Measured& measured = result.measured[i];
    const bool present = verdict.summaries[i].samples > 0;
    const std::string cell =
        fmt::format(" {:>{}}{}", present ? format_us(verdict.summaries[i].median) : "-", widths_[i],
                    present ? mark_of(verdict, i) : ' ');
    const bool is_best = color_ && verdict.standings[i] == Standing::best;
    text += is_best ? "\x1b[32m" + cell + "\x1b[0m" : cell;
    wrong += measured.wrong;
    checked = checked || measured.checked;
  }
  text += fmt::format(" {:>9} {:>7}  {:<26} {}", times(verdict.ours_vs_native),
                      checked ? fmt::format("{}", wrong) : "-", auto_of(result, verdict),
                      winner_of(result, verdict));
  line(text);
  for (const Measured& measured : result.measured) {
    const std::string& label = measured.candidate.label;
    if (!measured.refused.empty())
      note(fmt::format("{} takes no part: {}", label, measured.refused));
    if (measured.wrong > 0)
      note(fmt::format("!! {} gives {} WRONG ELEMENTS at {} bytes", label, measured.wrong,
                       total_bytes(result.problem)));
    if (!measured.bit_equal)
      note(fmt::format("!! {} DIFFERS BETWEEN RANKS at {} bytes", label,
                       total_bytes(result.problem)));
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
  if (std::chrono::duration<double>(now - last_).count() < kProgress_s) return;
  last_ = now;
  const double elapsed_s = std::chrono::duration<double>(now - start_).count();
  const double per_cell_s = done_ == 0 ? budget_s_ : elapsed_s / static_cast<double>(done_);
  const double left_s = per_cell_s * static_cast<double>(cells_ - std::min(done_, cells_));
  fmt::print(out_, "tutti sweep: {}, {} of {} configurations done, about {} left\n", what_, done_,
             cells_, format_duration(left_s));
  std::fflush(out_);
}

}  // namespace tutti::perf
