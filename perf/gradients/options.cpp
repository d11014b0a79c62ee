// Flags of `tutti gradients`, and the product of their lists.
#include "perf/gradients/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/gradients/model.hpp"
#include "perf/units.hpp"

namespace tutti::perf {

namespace {

constexpr double kLeastTime_s = 100e-6;
constexpr double kMostStep_s = 60;
constexpr double kMostTimeout_s = 86400;
constexpr int kMostBucketsInFlight = 1024;
constexpr int kMostSteps = 1'000'000;
/// The orders of --order. The last enumerator, automatic, chooses one of them.
constexpr std::span kListedOrders = std::span{kGradientOrders}.first<kGradientOrders.size() - 1>();
static_assert(kGradientOrders.back().value == GradientOrder::automatic);

using O = GradientsOptions;
using S = GradientSetting;
using Text = const std::string&;

[[noreturn]] void reject_flag(const std::string& message) {
  throw Failure{ExitCode::usage, message};
}

std::vector<std::string> listed(const char* flag, const std::string& text) {
  std::vector<std::string> words;
  for (std::string& word : split(text, ',')) {
    if (word.empty()) reject_flag(fmt::format("{} '{}' has an empty entry", flag, text));
    if (std::ranges::find(words, word) == words.end()) words.push_back(std::move(word));
  }
  return words;
}

std::size_t bytes_listed(const char* flag, const std::string& word, const char* choices) {
  const auto bytes = parse_bytes(word);
  if (!bytes || *bytes == GradientOptions::kFlat)
    reject_flag(fmt::format("{} '{}' is not a size: write {}", flag, word, choices));
  return *bytes;
}

std::string algorithm_of(const std::string& word) {
  if (word == "auto") return {};
  std::vector<std::string> names{"auto"};
  for (std::string& name : algorithm_names(Collective::all_reduce))
    names.push_back(std::move(name));
  index_among("algorithm of all_reduce", word.substr(0, word.find_first_of("(:")), names);
  return word;
}

/// @return the enumerator with a name. Throws Failure{usage}.
template <class E, std::size_t Extent>
E value_among(const char* what, Text word, std::span<const GradientEnumerator<E>, Extent> table) {
  std::vector<std::string> names;
  for (const GradientEnumerator<E>& one : table) names.emplace_back(one.name);
  return table[index_among(what, word, names)].value;
}

// Reads one list of the product. @param value_of converts a word. @param set stores the value in a
// setting.
template <class ValueOf, class Set>
void read_list(O& o, std::size_t list, const char* flag, Text text, ValueOf value_of, Set set) {
  o.lists.at(list).clear();
  for (const std::string& word : listed(flag, text))
    o.lists.at(list).push_back([value = value_of(word), set](S& s) { set(s, value); });
}

void read_bucket_bytes(O& o, Text text) {
  const auto value_of = [](Text word) -> std::optional<std::size_t> {  // nothing: predicted
    if (word == "predicted") return {};
    if (word == "flat") return GradientOptions::kFlat;
    return bytes_listed("--bucket-bytes", word, "0, 64K, 5M, flat, or predicted");
  };
  read_list(o, 0, "--bucket-bytes", text, value_of, [](S& s, std::optional<std::size_t> bytes) {
    s.is_predicted = !bytes;
    if (bytes) s.options.bucket_bytes = *bytes;
  });
}

void read_first_bucket_bytes(O& o, Text text) {
  read_list(
      o, 1, "--first-bucket-bytes", text,
      [](Text word) { return bytes_listed("--first-bucket-bytes", word, "64K, 1M"); },
      [](S& s, std::size_t bytes) { s.options.first_bucket_bytes = bytes; });
}

void read_storage(O& o, Text text) {
  read_list(
      o, 2, "--storage", text,
      [](Text word) { return value_among("storage", word, std::span{kGradientStorages}); },
      [](S& s, GradientStorage storage) { s.options.storage = storage; });
}

void read_order(O& o, Text text) {
  read_list(
      o, 5, "--order", text, [](Text word) { return value_among("order", word, kListedOrders); },
      [](S& s, GradientOrder order) { s.options.order = order; });
}

struct GradientsFlag {
  const char* name;
  const char* usual;  // default; empty: none
  bool is_output;
  const char* help;
  void (*read)(O& options, Text text);
  std::string (*names)() = nullptr;  // choices, which follow the help
};

constexpr std::array kGradientsFlags{
    GradientsFlag{"--model", "", false, "resnet50, vgg16, bert_base, or a trace's file",
                  [](O& o, Text text) { o.model = text; }},
    GradientsFlag{"--compute", "", false, "time of a step: 120ms; default: the file's",
                  [](O& o, Text text) {
                    o.compute_s = seconds_in("--compute", text, kLeastTime_s, kMostStep_s);
                  }},
    GradientsFlag{"--bucket-bytes", "0,1M,5M,25M,flat,predicted", false,
                  "list; 0: each tensor, flat: one bucket, predicted", read_bucket_bytes},
    GradientsFlag{"--first-bucket-bytes", "1M", false, "list: sizes of the first bucket",
                  read_first_bucket_bytes},
    GradientsFlag{"--storage", "copies,views", false, "list: ", read_storage,
                  [] { return joined_names(kGradientStorages); }},
    GradientsFlag{"--compression", "none", false, "none, ",
                  [](O& o, Text text) {
                    read_list(
                        o, 3, "--compression", text,
                        [](Text word) { return word == "none" ? "" : word; },
                        [](S& s, Text word) { s.options.compression = word; });
                  },
                  [] { return joined_names(kGradientCompressions); }},
    GradientsFlag{"--algorithms", "auto", false, "list of algorithms: auto, ring, ...",
                  [](O& o, Text text) {
                    read_list(o, 4, "--algorithms", text, algorithm_of,
                              [](S& s, Text word) { s.options.algorithm = word; });
                  }},
    GradientsFlag{"--order", "reversed", false, "list: ", read_order,
                  [] { return joined_names(kListedOrders); }},
    GradientsFlag{"--in-flight", "2", false, "list: buckets at the same time",
                  [](O& o, Text text) {
                    read_list(
                        o, 6, "--in-flight", text,
                        [](Text word) {
                          return number_in("--in-flight", word, {1, kMostBucketsInFlight});
                        },
                        [](S& s, int buckets) { s.options.in_flight = buckets; });
                  }},
    GradientsFlag{"--computing", "work", false, "work, or sleep if ranks outnumber cores",
                  [](O& o, Text text) {
                    o.computing = static_cast<Computing>(
                        index_among("kind of computing", text, {"work", "sleep"}));
                  }},
    GradientsFlag{"--steps", "20", false, "steps of each setting",
                  [](O& o, Text text) { o.steps = count_in("--steps", text, 1, kMostSteps); }},
    GradientsFlag{"--warmup", "3", false, "first steps that do not count",
                  [](O& o, Text text) { o.warmup = count_in("--warmup", text, 0, kMostSteps); }},
    GradientsFlag{"--transport", "auto", false, kTransportNames.data(),
                  [](O& o, Text text) { o.transport = transport_named(text).name; }},
    GradientsFlag{"--timeout", "60s", false, "deadline of one operation",
                  [](O& o, Text text) {
                    o.timeout_s = seconds_in("--timeout", text, kLeastTime_s, kMostTimeout_s);
                  }},
    GradientsFlag{"--json", "", true, "write a file of JSON lines",
                  [](O& o, Text text) { o.json = text; }},
    GradientsFlag{"--plot", "", true, "draw an .svg or .png",
                  [](O& o, Text text) { o.plot = text; }},
    GradientsFlag{"--html", "", true, "write a page with pictures and tables",
                  [](O& o, Text text) { o.html = text; }},
    GradientsFlag{"--settings", "", true, "write the best for tutti::load_gradient_options",
                  [](O& o, Text text) { o.best = text; }},
};

// Bucket size and storage, and all options that differ from their defaults.
std::string label_of(const GradientSetting& setting) {
  const GradientOptions usual;
  const GradientOptions& options = setting.options;
  std::string label = "bucket_bytes " + bucket_text(options.bucket_bytes);
  if (setting.is_predicted) label += " (predicted)";
  if (options.first_bucket_bytes != std::min(usual.first_bucket_bytes, options.bucket_bytes) &&
      options.bucket_bytes != 0)
    label += ", first " + bucket_text(options.first_bucket_bytes);
  const bool is_flat = options.storage ==
                       GradientStorage::flat;  // "storage flat", since "flat" is also a bucket size
  label += fmt::format(", {}{}", is_flat ? "storage " : "", name_of(options.storage));
  if (!options.compression.empty()) label += ", " + options.compression;
  if (!options.algorithm.empty()) label += ", " + options.algorithm;
  if (options.order != GradientOrder::reversed)
    label += fmt::format(", {}", name_of(options.order));
  if (options.in_flight != usual.in_flight)
    label += fmt::format(", {} in flight", options.in_flight);
  return label;
}

void leave_out(const std::string& why, GradientsOptions& from) {
  if (std::ranges::find(from.left_out, why) == from.left_out.end()) from.left_out.push_back(why);
}

void add_setting(GradientSetting setting, GradientsOptions& to) {
  const GradientOptions& options = setting.options;
  if (options.order == GradientOrder::observed && options.storage != GradientStorage::copies) {
    return leave_out(
        fmt::format("storage {} with order observed, which moves gradients, does not exist",
                    name_of(options.storage)),
        to);
  }
  if (setting.is_predicted && !options.compression.empty())
    return leave_out("bucket_bytes predicted with compression, whose time has to be measured", to);
  normalize(setting);
  const auto is_same = [&](const GradientSetting& s) { return s.label == setting.label; };
  if (std::ranges::none_of(to.settings, is_same)) to.settings.push_back(std::move(setting));
}

// All combinations; the last list changes fastest.
void add_settings(std::size_t list, const GradientSetting& setting, GradientsOptions& to) {
  if (list == to.lists.size()) return add_setting(setting, to);
  for (const auto& change : to.lists[list]) {
    GradientSetting next = setting;
    change(next);
    add_settings(list + 1, next, to);
  }
}

void check_model(GradientsOptions& options) {
  const std::vector<std::string> names = built_in_models();
  if (options.model.empty())
    reject_flag(fmt::format("choose a model: --model {}, or a file of GradientSync::write_trace",
                            fmt::join(names, ", ")));
  options.is_built_in = std::ranges::find(names, options.model) != names.end();
  if (options.is_built_in && !options.compute_s)
    reject_flag(fmt::format("give the time of a step of {}: --compute 120ms", options.model));
}

}  // namespace

void declare_gradients_flags(CLI::App& app, GradientsOptions& options) {
  for (const GradientsFlag& flag : kGradientsFlags) {
    app.add_option_function<std::string>(
           flag.name, [&flag, &options](Text text) { flag.read(options, text); },
           flag.help + (flag.names != nullptr ? flag.names() : ""))
        ->default_str(flag.usual);
    if (*flag.usual != '\0') flag.read(options, flag.usual);
  }
}

void complete(const CLI::App& app, GradientsOptions& options) {
  check_model(options);
  add_settings(0, {}, options);
  if (options.settings.empty()) reject_flag("nothing to measure: " + options.left_out.front());
  for (const GradientsFlag& flag : kGradientsFlags) {
    const CLI::Option& option = *app.get_option(flag.name);
    const std::string text = option.count() > 0 ? option.results().back() : flag.usual;
    if (!flag.is_output && !text.empty())
      options.arguments.push_back(std::string{flag.name} + "=" + text);
  }
}

void normalize(GradientSetting& setting) {
  GradientOptions& options = setting.options;
  if (options.bucket_bytes == GradientOptions::kFlat || options.bucket_bytes == 0)
    options.first_bucket_bytes = GradientOptions{}.first_bucket_bytes;
  else if (!setting.is_predicted)
    options.first_bucket_bytes = std::min(options.first_bucket_bytes, options.bucket_bytes);
  setting.label = label_of(setting);
}

std::string bucket_text(std::size_t bytes) {
  return bytes == GradientOptions::kFlat ? "flat" : format_bytes(bytes);
}

}  // namespace tutti::perf
