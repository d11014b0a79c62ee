#include "perf/gradients/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "perf/units.hpp"

namespace tutti::perf {

namespace {

using ReportJson = nlohmann::ordered_json;

std::string plural(std::size_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f}%", *share * 100) : "-";
}

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / 1e6);
}

// Rounds to tenths of a microsecond: further digits are noise.
double microseconds(double seconds) {
  return std::round(seconds * 1e7) / 10;
}

ReportJson rounded_share(const std::optional<double>& share) {
  if (!share) return nullptr;
  return std::round(*share * 1e4) / 1e4;
}

void add_quartiles(ReportJson& record, const std::string& name, const Quartiles& times) {
  record[name + "_us"] = microseconds(times.median);
  record[name + "_q1_us"] = microseconds(times.low);
  record[name + "_q3_us"] = microseconds(times.high);
}

// Warnings against misreading the numbers.
std::string warnings_of(const Context& context, const GradientsOptions& options) {
  std::string text;
  if (context.ranks == 1)
    text +=
        "# !! a single rank: nothing is sent; start it with tutti run -n N tutti gradients ..\n";
  for (const Host& host : context.hosts) {
    if (options.computing == Computing::sleep || context.ranks == 1) break;
    const auto cores = static_cast<std::size_t>(std::max(host.cores, 0));
    const std::size_t ranks = host.ranks.size();
    if (ranks > cores)
      text += fmt::format(
          "# !! {} is oversubscribed: {} compute on {}; with --computing sleep they would not "
          "slow each other down\n",
          host.name, plural(ranks, "rank"), plural(cores, "core"));
    else if (2 * ranks > cores)
      text += fmt::format(
          "# !! {} has no core to spare for communication: {} compute on {}, so hidden "
          "communication takes time from computing\n",
          host.name, plural(ranks, "rank"), plural(cores, "core"));
  }
  return text;
}

// Shares of a difference have no meaning if it is within the variation of computing.
bool is_beyond_noise(const GradientVerdict& verdict, const SettingResult& result) {
  return result.medians.serial - result.medians.computing > verdict.noise();
}

// The ideal step is a measure only if the machine satisfies its assumptions.
std::string distance_from_ideal(const SettingResult& best) {
  if (!best.is_far_from_ideal()) return {};
  const double over = best.medians.overlapped - best.medians.ideal;
  return fmt::format(
      "# !! the best setting takes {} ms {} than its ideal step of {} ms: {}\n",
      format_ms(std::abs(over)), over > 0 ? "longer" : "less", format_ms(best.medians.ideal),
      over > 0 ? "communication slows computing down here, or takes longer beside it than alone"
               : "buckets took longer when they were measured alone; measure again");
}

// Signs that other programs were running.
std::string disturbances_of(const GradientVerdict& verdict, std::optional<double> wanted_s) {
  constexpr double kMuchLonger = 1.1;
  std::string text;
  const Quartiles& computing = verdict.computing;
  if (wanted_s && computing.median > kMuchLonger * *wanted_s)
    text += fmt::format(
        "# !! without communication a step took {} ms, which was to compute {} ms: other programs "
        "run here, or ranks slow each other down\n",
        format_ms(computing.median), format_ms(*wanted_s));
  if (verdict.is_noisy())
    text += fmt::format(
        "# !! steps without communication vary by {} ms: smaller differences mean little; try a "
        "quieter machine, or more --steps\n",
        format_ms(verdict.noise()));
  return text;
}

}  // namespace

std::string gradients_header(const Context& context, const Model& model,
                             const GradientsOptions& options) {
  std::string text = fmt::format("# tutti {}   {}   {}   {}\n", context.version, context.library,
                                 context.compiler, context.started);
  text += fmt::format("# {} on {}\n", plural(static_cast<std::size_t>(context.ranks), "rank"),
                      plural(context.hosts.size(), "host"));
  text += warnings_of(context, options);
  text += fmt::format(
      "# {}: {} of {} elements, {} MB; {} {} ms a step\n", model.name,
      plural(model.tensors.size(), "tensor"), model.elements(), megabytes(model.bytes()),
      options.computing == Computing::sleep ? "sleeps" : "computes", format_ms(model.compute_s));
  for (const std::string& why : options.left_out) text += fmt::format("# left out: {}\n", why);
  return text;
}

std::string gradients_table(const GradientVerdict& verdict, std::optional<double> wanted_s) {
  std::string text =
      disturbances_of(verdict, wanted_s) + distance_from_ideal(verdict.results.front());
  text += fmt::format(
      "#\n# milliseconds of the slowest rank, medians of {}; without communication {} ({} .. {})\n"
      "# * best  ~ as good as the best ({})\n"
      "# exposed: by how much communication makes a step longer than that of its round without\n"
      "# serial: step that communicates when all is computed\n"
      "# hidden: share of communication that overlapping hides\n"
      "# ideal: step in which communication disturbs nothing    of ideal: share of what that "
      "saves\n"
      "# MB: sent by a rank in a step    -: too little to tell\n#\n",
      plural(verdict.steps, "step"), format_ms(verdict.computing.median),
      format_ms(verdict.computing.low), format_ms(verdict.computing.high),
      verdict.steps >= kFewestForTest ? "paired test, p >= 0.01, or less than 2% apart"
                                      : "quartiles overlap; 8 steps are enough for a test");
  std::size_t width = 7;
  for (const SettingResult& result : verdict.results)
    width = std::max(width, result.setting.label.size());
  text += fmt::format("# {:<{}} {:>7}  {:>17} {:>7} {:>7} {:>6} {:>7} {:>8} {:>7} {:>7}\n",
                      "setting", width, "step", "quartiles", "exposed", "serial", "hidden", "ideal",
                      "of ideal", "buckets", "MB");
  for (std::size_t i = 0; i < verdict.results.size(); ++i) {
    const SettingResult& result = verdict.results[i];
    const char mark = i == 0 ? '*' : result.is_tie ? '~' : ' ';
    const Quartiles& step = result.overlapped;
    const bool is_clear = is_beyond_noise(verdict, result);
    text += fmt::format("  {:<{}} {:>7}{} {:>17} {:>7} {:>7} {:>6} {:>7} {:>8} {:>7} {:>7}\n",
                        result.setting.label, width, format_ms(step.median), mark,
                        fmt::format("{} .. {}", format_ms(step.low), format_ms(step.high)),
                        format_ms(exposed(result.medians)), format_ms(result.serial.median),
                        is_clear ? percent(hidden_share(result.medians)) : "-",
                        format_ms(result.medians.ideal),
                        is_clear ? percent(overlap_efficiency(result.medians)) : "-",
                        result.buckets, megabytes(result.sent_bytes));
  }
  return text + "#\n# " + sentence_of(verdict) + "\n";
}

ReportJson gradients_record(const Context& context, const Model& model,
                            const GradientsOptions& options) {
  ReportJson record{{"record", "context"}, {"schema", "tutti gradients/1"}};
  record.update(json_of(context));
  record["model"] = model.name;
  record["tensors"] = model.tensors.size();
  record["elements"] = model.elements();
  record["bytes"] = model.bytes();
  record["compute_us"] = microseconds(model.compute_s);
  record["computing"] = options.computing == Computing::sleep ? "sleep" : "work";
  return record;
}

ReportJson gradients_record(const GradientVerdict& verdict, std::size_t index) {
  const SettingResult& result = verdict.results[index];
  const GradientOptions& options = result.setting.options;
  ReportJson record{{"record", "setting"}, {"label", result.setting.label}};
  if (options.bucket_bytes == GradientOptions::kFlat) record["bucket_bytes"] = "flat";
  else record["bucket_bytes"] = options.bucket_bytes;
  record["predicted"] = result.setting.is_predicted;
  record["first_bucket_bytes"] = options.first_bucket_bytes;
  record["storage"] = name_of(options.storage);
  record["compression"] = options.compression;
  record["algorithm"] = options.algorithm;
  record["order"] = name_of(options.order);
  record["in_flight"] = options.in_flight;
  record["buckets"] = result.buckets;
  add_quartiles(record, "overlapped", result.overlapped);
  add_quartiles(record, "serial", result.serial);
  add_quartiles(record, "exposed", result.exposed);
  record["ideal_us"] = microseconds(result.medians.ideal);
  record["over_ideal_us"] = microseconds(result.medians.overlapped - result.medians.ideal);
  record["far_from_ideal"] = result.is_far_from_ideal();
  record["hidden"] = rounded_share(hidden_share(result.medians));
  record["overlap_efficiency"] = rounded_share(overlap_efficiency(result.medians));
  record["sent_bytes"] = result.sent_bytes;
  record["plain_bytes"] = result.plain_bytes;
  record["standing"] = index == 0 ? "best" : result.is_tie ? "tie" : "slower";
  record["ratio_to_best"] = std::round(result.against_best.ratio * 1e5) / 1e5;
  record["p_value"] = result.against_best.p;
  return record;
}

ReportJson gradients_summary(const GradientVerdict& verdict, bool is_interrupted) {
  ReportJson record{{"record", "summary"}, {"steps", verdict.steps}};
  if (verdict.steps > 0) {
    add_quartiles(record, "computing", verdict.computing);
    record["best"] = verdict.results.front().setting.label;
    record["sentence"] = sentence_of(verdict);
  }
  record["interrupted"] = is_interrupted;
  return record;
}

}  // namespace tutti::perf
