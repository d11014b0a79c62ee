#include "perf/sweep/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/load.hpp"
#include "perf/sweep/problem.hpp"
#include "perf/units.hpp"

namespace tutti::perf {

namespace {

[[noreturn]] void reject(const std::string& message) {
  throw Failure{ExitCode::usage, message};
}

// Finds an enumerator by its name, among the first `count` of them.
template <class Enum>
Enum by_name(const char* what, const std::string& word, int count) {
  std::vector<std::string> choices;
  for (int i = 0; i < count; ++i) {
    choices.emplace_back(name_of(static_cast<Enum>(i)));
    if (choices.back() == word) return static_cast<Enum>(i);
  }
  reject_word(what, word, choices);
}

// What nccl-tests and others call our datatypes and operators.
std::string familiar(const std::string& word) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kNames{
      {{"float", "f32"},
       {"double", "f64"},
       {"half", "f16"},
       {"bfloat16", "bf16"},
       {"int8", "i8"},
       {"int16", "i16"},
       {"int32", "i32"},
       {"int64", "i64"},
       {"uint8", "u8"},
       {"uint16", "u16"},
       {"uint32", "u32"},
       {"uint64", "u64"},
       {"avg", "average"},
       {"int", "i32"}}};
  for (const auto& [theirs, ours] : kNames)
    if (word == theirs) return std::string{ours};
  return word;
}

std::size_t bytes_of(const char* flag, const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (!bytes) reject(fmt::format("{} '{}' is not a size: write 8, 64K, 4M or 1G", flag, text));
  return *bytes;
}

double seconds_of(const char* flag, const std::string& text) {
  const auto seconds = parse_seconds(text);
  if (!seconds || *seconds <= 0 || *seconds > 1e6)
    reject(fmt::format("{} '{}' is not a time: write 2s, 200ms or 1m", flag, text));
  return *seconds;
}

double share_of(const char* flag, const std::string& text) {
  const auto share = parse_share(text);
  if (!share) reject(fmt::format("{} '{}' is not a share: write 10% or 0.1", flag, text));
  return *share;
}

// The range of a whole number, for the message as much as for the check.
struct Bounds {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::int32_t>::max();
};

std::uint64_t number_of(const char* flag, const std::string& text, const Bounds& bounds) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || value < bounds.least || value > bounds.most)
    reject(fmt::format("{} '{}' is not a whole number in {} .. {}", flag, text, bounds.least,
                       bounds.most));
  return value;
}

std::string word_of(const char* flag, const std::string& word, std::vector<std::string> choices) {
  if (std::find(choices.begin(), choices.end(), word) == choices.end())
    reject_word(flag, word, choices);
  return word;
}

std::map<std::string, double> injections_of(const std::string& list) {
  std::map<std::string, double> result;
  if (list.empty()) return result;
  for (const std::string& item : split(list, ',')) {
    const std::size_t equals = item.rfind('=');
    if (equals == std::string::npos)
      reject(fmt::format("--inject '{}' is not a label and a share: write ring#2=5%", item));
    result[item.substr(0, equals)] = share_of("--inject", item.substr(equals + 1));
  }
  return result;
}

// v-forms, `send` and `sendrecv` beside collectives; `all` means all collectives.
void understand_names(const SweepFlags& flags, SweepOptions& options) {
  std::string collectives;
  for (const std::string& word : split(flags.collective, ',')) {
    const auto message = word == "send"       ? PointToPoint::send
                         : word == "sendrecv" ? PointToPoint::sendrecv
                                              : PointToPoint::none;
    if (message != PointToPoint::none) options.messages.push_back(message);
    else if (const auto uneven = uneven_named(word)) options.uneven.push_back(*uneven);
    else collectives += (collectives.empty() ? "" : ",") + word;
  }
  if (!collectives.empty() || (options.messages.empty() && options.uneven.empty()))
    options.collectives = collectives_named(collectives);
}

void understand_where(const SweepFlags& flags, SweepOptions& options) {
  const TransportTraits& transport = transport_named(flags.transport);
  options.transport = transport.name;
  options.buffers = word_of("kind of buffers", flags.buffers, {"private", "visible"});
  const std::string memory = word_of("memory", flags.memory, {"host", "cuda", "cuda:host"});
  options.on_gpus = memory != "host";
  if (options.on_gpus) options.gpu_transport = memory == "cuda" ? "nccl" : "host";
  options.graph = flags.graph;
  options.in_place = flags.in_place;
  if (!flags.segment.empty()) options.segment = bytes_of("--segment", flags.segment);
  if (options.graph && !options.on_gpus)
    reject("--graph replays graphs of a GPU: add --memory cuda");
  if (!options.on_gpus) {
    if (options.buffers == "visible" && !transport.shares_memory)
      reject(fmt::format(
          "--buffers visible: ranks cannot see each other's memory over transport {}; use "
          "--transport shm, or --buffers private",
          options.transport));
    return;
  }
  if (options.graph && options.gpu_transport == "host")
    reject("--graph: messages over the host cannot be captured; use --memory cuda");
  if (options.segment != 0)
    reject("--segment: calls on streams of a GPU have none; leave it out beside --memory cuda");
}

// One of a list.
Alignment alignment_of(const std::string& word, const SweepOptions& options) {
  const auto alignment = parse_alignment(word);
  if (!alignment)
    reject(
        fmt::format("--align '{}' is not an alignment: write malloc, page, a power of two "
                    "from 1 to 2048, or two of these as 16:page for inputs and outputs",
                    word));
  const std::size_t least = least_alignment(options.type);
  for (const std::size_t offset : {alignment->in_offset(), alignment->out_offset()})
    if (offset % least != 0)
      reject(fmt::format("--align '{}': elements of {} need an alignment of {} bytes or more", word,
                         name_of(options.type), least));
  if (options.in_place && alignment->in != alignment->out)
    reject(
        fmt::format("--align '{}': with --in-place input and output are one array; write one "
                    "alignment",
                    word));
  return *alignment;
}

// After the datatype, the kind of memory and --in-place.
void understand_arrays(const SweepFlags& flags, SweepOptions& options) {
  for (const std::string& word : split(flags.align, ',')) {
    const Alignment next = alignment_of(word, options);
    if (std::ranges::find(options.more_alignments, next.text(), &Alignment::text) !=
        options.more_alignments.end())
      reject(fmt::format("--align names '{}' twice: name each alignment once", next.text()));
    options.more_alignments.push_back(next);
  }
  options.align = options.more_alignments.front();
  options.more_alignments.erase(options.more_alignments.begin());
  options.pattern = by_name<CallPattern>("pattern", flags.pattern, kCallPatterns);
  if (!options.on_gpus) return;
  if (options.align.text() != Alignment{}.text() || !options.more_alignments.empty())
    reject("--align places arrays of the host: leave it out beside --memory cuda");
  if (options.is_isolated())
    reject(
        "--pattern isolated: calls on a stream of a GPU follow each other; leave it out beside "
        "--memory cuda");
}

void understand_what(const SweepFlags& flags, SweepOptions& options) {
  understand_names(flags, options);
  options.catalog = load_catalog(flags.load);
  if (!flags.algorithm.empty())
    options.algorithms = split(with_graphs_of_files(flags.algorithm), ',');
  options.type = by_name<Datatype>("datatype", familiar(flags.type), kDatatypes - 1);
  options.op = by_name<OperatorKind>("operator", familiar(flags.op), kOperatorKinds - 1);
  options.root = static_cast<Rank>(number_of("--root", flags.root, {}));
  understand_where(flags, options);
  understand_arrays(flags, options);
  if (!flags.determinism.empty())
    options.determinism = by_name<Determinism>("level", flags.determinism, kDeterminisms);
  if (!flags.ranks.empty())
    options.ranks = static_cast<int>(number_of("--ranks", flags.ranks, {.least = 1}));
  for (const auto& collectives : {options.collectives, options.uneven})
    if (std::ranges::any_of(collectives, is_reduction) && !is_defined(options.op, options.type))
      reject(fmt::format("operator {} is not defined for datatype {}", name_of(options.op),
                         name_of(options.type)));
}

void understand_how(const SweepFlags& flags, SweepOptions& options) {
  options.begin_bytes = bytes_of("--begin", flags.begin);
  options.end_bytes = bytes_of("--end", flags.end);
  if (options.begin_bytes == 0) reject("--begin 0 is no size to go on from: it must be 1 or more");
  if (options.end_bytes < options.begin_bytes)
    reject(fmt::format("--end {} is less than --begin {}", flags.end, flags.begin));
  options.factor = number_of("--factor", flags.factor, {.least = 2});
  if (!flags.rounds.empty())
    options.rounds = number_of("--rounds", flags.rounds, {.least = 1, .most = 1'000'000});
  if (!flags.warm_up.empty())
    options.warm_up_rounds = number_of("--warm-up", flags.warm_up, {.least = 0, .most = 1'000'000});
  options.check = flags.check.empty() || number_of("--check", flags.check, {.most = 1}) == 1;
  options.touch = flags.touch;
  options.budget_s = seconds_of("--budget", flags.budget);
  options.timeout_s = seconds_of("--timeout", flags.timeout);
  options.seed =
      number_of("--seed", flags.seed, {.most = std::numeric_limits<std::int64_t>::max()});
  options.inject = injections_of(flags.inject);
  options.fail_over = share_of("--fail-over", flags.fail_over);
  options.color = word_of("--color", flags.color, {"never", "always"}) == "always";
}

}  // namespace

std::vector<std::size_t> SweepOptions::sizes() const {
  std::vector<std::size_t> result;
  for (std::size_t bytes = begin_bytes; bytes <= end_bytes; bytes *= factor) {
    result.push_back(bytes);
    if (bytes > end_bytes / factor) break;
  }
  return result;
}

Alignment SweepOptions::array_alignment(const std::optional<Alignment>& other) const {
  const Alignment& wanted = other ? *other : align;
  return buffers == "visible" ? wanted.of_visible() : wanted;
}

std::string SweepOptions::alignment_text(const std::optional<Alignment>& other) const {
  return on_gpus ? "" : array_alignment(other).text();
}

std::string_view name_of(CallPattern pattern) {
  return pattern == CallPattern::isolated ? "isolated" : "back_to_back";
}

SweepOptions understand(const SweepFlags& flags) {
  SweepOptions options;
  understand_what(flags, options);
  understand_how(flags, options);
  return options;
}

}  // namespace tutti::perf
