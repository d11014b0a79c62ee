// Flags of `tutti gradients`, and the product of their lists.
#include "perf/gradients/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
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
/// The orders of --order: automatic is one of the others.
constexpr std::span kListedOrders = std::span{kGradientOrders}.first<kGradientOrders.size() - 1>();
static_assert(kGradientOrders.back().value == GradientOrder::automatic);

struct GradientsFlag {
  const char* name;
  std::string GradientsFlags::*member;
  bool is_output;
  const char* help;
  std::string (*names)() = nullptr;  // which follow the help
};

constexpr std::array kGradientsFlags{
    GradientsFlag{"--model", &GradientsFlags::model, false,
                  "resnet50, vgg16, bert_base, or a trace's file"},
    GradientsFlag{"--compute", &GradientsFlags::compute, false,
                  "time of a step: 120ms; default: the file's"},
    GradientsFlag{"--bucket-bytes", &GradientsFlags::bucket_bytes, false,
                  "list; 0: each tensor, flat: one bucket, predicted"},
    GradientsFlag{"--first-bucket-bytes", &GradientsFlags::first_bucket_bytes, false,
                  "list: sizes of the first bucket"},
    GradientsFlag{"--storage", &GradientsFlags::storage, false,
                  "list: ", [] { return joined_names(kGradientStorages); }},
    GradientsFlag{"--compression", &GradientsFlags::compression, false, "list: none, ",
                  [] { return joined_names(kGradientCompressions); }},
    GradientsFlag{"--algorithms", &GradientsFlags::algorithms, false,
                  "list of algorithms: auto, ring, ..."},
    GradientsFlag{"--order", &GradientsFlags::order, false,
                  "list: ", [] { return joined_names(kListedOrders); }},
    GradientsFlag{"--in-flight", &GradientsFlags::in_flight, false,
                  "list: buckets at the same time"},
    GradientsFlag{"--computing", &GradientsFlags::computing, false,
                  "work, or sleep if ranks outnumber cores"},
    GradientsFlag{"--steps", &GradientsFlags::steps, false, "steps of each setting"},
    GradientsFlag{"--warmup", &GradientsFlags::warmup, false, "first steps that do not count"},
    GradientsFlag{"--transport", &GradientsFlags::transport, false, kTransportNames.data()},
    GradientsFlag{"--timeout", &GradientsFlags::timeout, false, "deadline of one operation"},
    GradientsFlag{"--json", &GradientsFlags::json, true, "write a file of JSON lines"},
    GradientsFlag{"--plot", &GradientsFlags::plot, true, "draw an .svg or .png"},
    GradientsFlag{"--html", &GradientsFlags::html, true, "write a page with pictures and tables"},
    GradientsFlag{"--settings", &GradientsFlags::settings, true,
                  "write the best for tutti::load_gradient_options"},
};

[[noreturn]] void reject_flag(const std::string& message) {
  throw Failure{ExitCode::usage, message};
}

// Where in a list of names a word stands.
template <class Names>
std::size_t index_among(const char* what, const std::string& word, const Names& names) {
  const auto found = std::ranges::find(names, word);
  if (found == names.end()) reject_word(what, word, {names.begin(), names.end()});
  return static_cast<std::size_t>(found - names.begin());
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

double duration_in(const char* flag, const std::string& text, double most_s) {
  const auto seconds = parse_seconds(text);
  if (!seconds || *seconds < kLeastTime_s || *seconds > most_s)
    reject_flag(fmt::format("{} '{}' is not a time in 100us .. {}s: write 120ms or 1.5s", flag,
                            text, most_s));
  return *seconds;
}

std::string algorithm_of(const std::string& word) {
  if (word == "auto") return {};
  std::vector<std::string> names{"auto"};
  for (std::string& name : algorithm_names(Collective::all_reduce))
    names.push_back(std::move(name));
  index_among("algorithm of all_reduce", word.substr(0, word.find_first_of("(:")), names);
  return word;
}

/// @return the value of a name. Throws Failure{usage}.
template <class E, std::size_t Extent>
E value_among(const char* what, const std::string& word,
              std::span<const GradientEnumerator<E>, Extent> table) {
  std::vector<std::string_view> names;
  for (const GradientEnumerator<E>& one : table) names.push_back(one.name);
  return table[index_among(what, word, names)].value;
}

// One list of the product: its entries and what each does to a setting.
struct Axis {
  std::vector<std::string> words;
  void (*set)(GradientSetting&, const std::string& word);
};

std::vector<Axis> axes_of(const GradientsFlags& flags) {
  using S = GradientSetting;
  return {
      {listed("--bucket-bytes", flags.bucket_bytes),
       [](S& s, const std::string& word) {
         s.is_predicted = word == "predicted";
         if (s.is_predicted) return;
         s.options.bucket_bytes = word == "flat" ? GradientOptions::kFlat
                                                 : bytes_listed("--bucket-bytes", word,
                                                                "0, 64K, 5M, flat, or predicted");
       }},
      {listed("--first-bucket-bytes", flags.first_bucket_bytes),
       [](S& s, const std::string& word) {
         s.options.first_bucket_bytes = bytes_listed("--first-bucket-bytes", word, "64K, 1M");
       }},
      {listed("--storage", flags.storage),
       [](S& s, const std::string& word) {
         s.options.storage = value_among("storage", word, std::span{kGradientStorages});
       }},
      {listed("--compression", flags.compression),
       [](S& s, const std::string& word) { s.options.compression = word == "none" ? "" : word; }},
      {listed("--algorithms", flags.algorithms),
       [](S& s, const std::string& word) { s.options.algorithm = algorithm_of(word); }},
      {listed("--order", flags.order),
       [](S& s, const std::string& word) {
         s.options.order = value_among("order", word, std::span{kListedOrders});
       }},
      {listed("--in-flight", flags.in_flight), [](S& s, const std::string& word) {
         s.options.in_flight = number_in("--in-flight", word, {1, kMostBucketsInFlight});
       }}};
}

// Buckets and storage, and of the rest what is not as usual.
std::string label_of(const GradientSetting& setting) {
  const GradientOptions usual;
  const GradientOptions& options = setting.options;
  std::string label = "bucket_bytes " + bucket_text(options.bucket_bytes);
  if (setting.is_predicted) label += " (predicted)";
  if (options.first_bucket_bytes != std::min(usual.first_bucket_bytes, options.bucket_bytes) &&
      options.bucket_bytes != 0)
    label += ", first " + bucket_text(options.first_bucket_bytes);
  const bool is_flat = options.storage == GradientStorage::flat;  // not to be taken for buckets
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

// All combinations, with the last list turning fastest.
void add_settings(const std::vector<Axis>& axes, std::size_t index, const GradientSetting& setting,
                  GradientsOptions& to) {
  if (index == axes.size()) return add_setting(setting, to);
  for (const std::string& word : axes[index].words) {
    GradientSetting next = setting;
    axes[index].set(next, word);
    add_settings(axes, index + 1, next, to);
  }
}

void understand_model(const GradientsFlags& flags, GradientsOptions& options) {
  const std::vector<std::string> names = built_in_models();
  if (flags.model.empty())
    reject_flag(fmt::format("say which model: --model {}, or a file of GradientSync::write_trace",
                            fmt::join(names, ", ")));
  options.model = flags.model;
  options.is_built_in = std::ranges::find(names, flags.model) != names.end();
  if (!flags.compute.empty())
    options.compute_s = duration_in("--compute", flags.compute, kMostStep_s);
  else if (options.is_built_in)
    reject_flag(fmt::format("say how long a step of {} computes: --compute 120ms", flags.model));
}

}  // namespace

void declare_gradients_flags(CLI::App& app, GradientsFlags& flags) {
  for (const GradientsFlag& flag : kGradientsFlags)
    app.add_option(flag.name, flags.*flag.member, flag.help + (flag.names ? flag.names() : ""))
        ->capture_default_str();
  app.footer(
      "GradientSync replays the gradients of a model over the ranks at hand, with\n"
      "each combination of the lists by turns, and the best options are told:\n"
      "tutti run -n 4 tutti gradients --model resnet50 --compute 120ms");
}

GradientsOptions understand(const GradientsFlags& flags) {
  GradientsOptions options;
  understand_model(flags, options);
  const std::vector<std::string> kinds{"work", "sleep"};
  options.computing =
      static_cast<Computing>(index_among("kind of computing", flags.computing, kinds));
  options.steps = static_cast<std::size_t>(number_in("--steps", flags.steps, {1, kMostSteps}));
  options.warmup = static_cast<std::size_t>(number_in("--warmup", flags.warmup, {0, kMostSteps}));
  options.transport = transport_named(flags.transport).name;
  options.timeout_s = duration_in("--timeout", flags.timeout, kMostTimeout_s);
  add_settings(axes_of(flags), 0, {}, options);
  if (options.settings.empty()) reject_flag("nothing to measure: " + options.left_out.front());
  return options;
}

std::vector<std::string> repeat_arguments(const GradientsFlags& flags) {
  std::vector<std::string> arguments;
  for (const GradientsFlag& flag : kGradientsFlags)
    if (const std::string& value = flags.*flag.member; !flag.is_output && !value.empty())
      arguments.push_back(std::string{flag.name} + "=" + value);
  return arguments;
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
