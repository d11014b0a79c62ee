#include "gradient_plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include <tutti/attempt.hpp>
#include <tutti/call_name.hpp>

#include "arrays.hpp"
#include "base/all_or_none.hpp"
#include "base/different_lines.hpp"
#include "base/number_text.hpp"
#include "bytes.hpp"
#include "codec.hpp"

namespace tutti::v0::detail {
namespace {

[[noreturn]] void reject(const std::string& text) {
  throw Error{ErrorCode::invalid_argument, "GradientSync: " + text};
}

void check_groups(std::span<const Parameter> arrays, std::size_t groups) {
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i].group > groups)
      reject(name_of_array(arrays[i], i) + " is of group " + std::to_string(arrays[i].group) +
             ", but there are groups 0 to " + std::to_string(groups));
}

template <class E>
void check_enumerator(const char* option, E value) {
  if (name_of(value).empty())
    reject("GradientOptions::" + std::string{option} + " " +
           std::to_string(static_cast<int>(value)) + " is no value; expected " +
           joined_names(gradient_enumerators<E>(), " or "));
}

void check_flat(std::span<const Parameter> parameters) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < parameters.size(); ++i) {
    if (parameters[i].tied) continue;
    const Parameter& before = parameters[last];
    const auto* end =
        static_cast<const std::byte*>(before.data) + before.count * size_of(before.type);
    if (parameters[i].data != end || parameters[i].type != before.type ||
        parameters[i].group != before.group)
      reject("with flat storage parameters lie behind each other and have one type and group; " +
             name_of_array(parameters[i], i) + " does not follow " + name_of_array(before, last));
    last = i;
  }
}

/// @param owners of arrays, see check_apart.
std::string describe_arrays(std::span<const Parameter> arrays,
                            std::span<const std::size_t> owners) {
  std::string text;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    text += name_of_array(arrays[i], i) + ": " + std::to_string(arrays[i].count) + " ";
    text += name_of(arrays[i].type);
    text += ", group " + std::to_string(arrays[i].group) + ", layout " +
            std::to_string(arrays[i].layout) + ", rows " + std::to_string(arrays[i].rows) +
            (arrays[i].visible ? ", visible" : "");
    if (arrays[i].tied) text += ", tied to parameter " + std::to_string(owners[i]);
    text += "\n";
  }
  return text;
}

void check_steps(const GradientOptions& options, std::size_t parameters) {
  check_enumerators(options);
  if (options.timeout < Duration::zero())
    reject("the timeout is " + std::to_string(options.timeout.count()) +
           " ns; expected more than zero, or zero for that of the communicator");
  if (options.in_flight < 1)
    reject("in_flight is " + std::to_string(options.in_flight) + ", expected 1 or more");
  if (options.storage != GradientStorage::copies && options.order == GradientOrder::observed &&
      options.known_order.empty())
    reject(
        "an observed order moves gradients to other buckets, so it needs storage in copies; "
        "choose the order automatic or reversed");
  const bool detects = options.unused == UnusedGradients::detect;
  if (options.storage == GradientStorage::flat && !options.known_order.empty())
    reject("flat storage lies in the order of parameters; leave known_order empty");
  if (!options.compression.empty()) static_cast<void>(parse_compression(options.compression));
  if (options.on_shard && !options.compression.empty())
    reject("on_shard makes weights, which compression would change; choose one of them");
  if (options.on_shard && detects)
    reject("on_shard makes weights of all gradients, so none stays as it is; choose zeros");
  if (options.on_shard && options.order == GradientOrder::observed && options.known_order.empty())
    reject(
        "an observed order moves gradients to other owners, so it is none for on_shard; choose "
        "the order automatic or reversed");
  if (!std::isfinite(options.max_norm) || options.max_norm < 0)
    reject("max_norm is " + fixed_text(options.max_norm) + ", expected a number from 0 on");
  if (options.compression_after < 0) reject("compression_after is a number of steps, 0 or more");
  if (options.verify_every < 0 || options.resync_every < 0)
    reject("verify_every and resync_every are numbers of steps, 0 or more");
  if (options.resync_every > 0 && options.state.empty())
    reject("resync_every needs GradientOptions::state, which it makes equal");
  std::vector<std::size_t> order = options.known_order;
  std::ranges::sort(order);
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != i || order.size() != parameters)
      reject("known_order does not name each of the " + std::to_string(parameters) +
             " parameters once");
}

/// Whether a parameter is a bucket by itself, in its own memory.
bool lies_in_place(const Parameter& parameter, const GradientOptions& options) {
  return options.storage == GradientStorage::copies && options.unused != UnusedGradients::detect &&
         options.bucket_bytes != GradientOptions::kFlat && parameter.count > 0 &&
         parameter.count * size_of(parameter.type) >= options.in_place_bytes;
}

/// Whether a bucket has room for one more parameter.
bool fits(const Bucket& bucket, bool is_first, const Parameter& parameter,
          const GradientOptions& options) {
  if (options.bucket_bytes == GradientOptions::kFlat) return true;
  const std::size_t cap =
      is_first ? std::min(options.first_bucket_bytes, options.bucket_bytes) : options.bucket_bytes;
  return (bucket.count + parameter.count) * size_of(parameter.type) <= cap;
}

/// Buckets start in the order in which they are complete, if parameters come in the plan's order.
void sort_buckets(GradientPlan& plan, std::span<const std::size_t> completed) {
  std::vector<std::size_t> order(completed.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t bucket) { return completed[bucket]; });
  std::vector<Bucket> sorted;
  for (const std::size_t bucket : order) sorted.push_back(std::move(plan.buckets[bucket]));
  plan.buckets = std::move(sorted);
}

/// Assigns locations to parameters.
void place_parameters(GradientPlan& plan, std::span<const Parameter> parameters,
                      const GradientOptions& options) {
  std::vector<std::size_t> words;  // of the hash
  for (std::size_t i = 0; i < plan.buckets.size(); ++i) {
    Bucket& bucket = plan.buckets[i];
    if (options.storage == GradientStorage::flat)  // they lie in the order of parameters
      std::ranges::sort(bucket.parameters);
    std::size_t offset = 0;
    for (const std::size_t index : bucket.parameters) {
      plan.locations[index] = {i, offset};
      offset += parameters[index].count * size_of(bucket.type);
      words.insert(words.end(), {i, index});
    }
  }
  plan.hash = hash_of(std::as_bytes(std::span{words}));
}

}  // namespace

GradientPlan make_plan(std::span<const Parameter> parameters, const GradientOptions& options,
                       std::span<const std::size_t> order, InPlace in_place) {
  GradientPlan plan;
  plan.owners = owners_of(parameters);
  plan.names = std::vector<std::uint32_t>(parameters.size());
  for (const std::size_t owner : plan.owners) ++plan.names[owner];
  std::vector<std::uint32_t> missing = plan.names;
  plan.order.assign(order.begin(), order.end());
  plan.locations.resize(parameters.size());
  std::map<std::pair<std::uint32_t, Datatype>, std::size_t> open;  // a bucket with room
  std::vector<std::size_t> completed;  // by bucket: the position of its last parameter
  for (std::size_t position = 0; position < order.size(); ++position) {
    const std::size_t index = plan.owners[order[position]];
    if (--missing[index] > 0) continue;  // ready when all tied parameters are
    const Parameter& parameter = parameters[index];
    const bool may_lie_there =
        in_place == InPlace::all || (in_place == InPlace::visible && parameter.visible);
    const bool is_in_place = may_lie_there && lies_in_place(parameter, options);
    const std::pair kind{parameter.group, parameter.type};
    auto found = open.find(kind);
    if (found != open.end() && !is_in_place &&
        !fits(plan.buckets[found->second], found->second == 0, parameter, options))
      open.erase(std::exchange(found, open.end()));
    std::size_t bucket = plan.buckets.size();
    if (found != open.end() && !is_in_place) {
      bucket = found->second;
    } else {
      plan.buckets.push_back(
          {.type = parameter.type, .group = parameter.group, .is_in_place = is_in_place});
      completed.push_back(0);
      if (!is_in_place) open.emplace(kind, bucket);
    }
    plan.buckets[bucket].parameters.push_back(index);
    plan.buckets[bucket].count += parameter.count;
    completed[bucket] = position;
  }
  sort_buckets(plan, completed);
  place_parameters(plan, parameters, options);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    plan.locations[i] = plan.locations[plan.owners[i]];
  return plan;
}

GradientOrder order_of(const GradientOptions& options) noexcept {
  if (options.order != GradientOrder::automatic) return options.order;
  const bool may_move = options.storage == GradientStorage::copies && !options.on_shard;
  return may_move ? GradientOrder::observed : GradientOrder::reversed;
}

void check_enumerators(const GradientOptions& options) {
  check_enumerator("order", options.order);
  check_enumerator("storage", options.storage);
  check_enumerator("unused", options.unused);
}

void check_parameters(std::span<const Parameter> parameters, const GradientOptions& options) {
  constexpr std::string_view kCaller = "GradientSync";
  const bool views = options.storage == GradientStorage::views;
  check_steps(options, parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const auto type = parameter.type;
    if (type != Datatype::f16 && type != Datatype::bf16 && type != Datatype::f32 &&
        type != Datatype::f64)
      reject(name_of_array(parameter, i) + " is of " + std::string{name_of(type)} +
             "; expected f16, bf16, f32 or f64");
    if (parameter.rows > 0 && parameter.count % parameter.rows != 0)
      reject(name_of_array(parameter, i) + " has " + std::to_string(parameter.count) +
             " elements, which are no matrix of " + std::to_string(parameter.rows) + " rows");
  }
  check_groups(parameters, options.groups.size());
  check_sizes(kCaller, parameters, !views);
  for (std::size_t i = 0; views && i < parameters.size(); ++i)
    if (parameters[i].tied)
      reject(
          name_of_array(parameters[i], i) +
          " is tied, but with views GradientSync has one array for each parameter; list it once");
  static_cast<void>(check_apart(kCaller, parameters, options.on_shard != nullptr));
  check_groups(options.state, options.groups.size());
  check_sizes(kCaller, options.state, true);
  static_cast<void>(check_apart(kCaller, options.state));
  for (const Communicator* group : options.groups)
    if (group == nullptr) reject("a group is null");
  if (options.storage == GradientStorage::flat) check_flat(parameters);
}

std::string describe(std::span<const Parameter> parameters, const GradientOptions& options) {
  const std::string line{kOptionLine};
  std::string text = lines_of(options) + line + "resync_every " +
                     std::to_string(options.resync_every) + "\n" + line + "on_shard " +
                     (options.on_shard ? "set" : "not set") + "\n" + line + "stream " +
                     (options.stream.is_some() ? "set" : "not set") + "\n" +
                     std::to_string(options.groups.size()) + " groups\n" + line + "known_order";
  for (const std::size_t i : options.known_order) text += " " + std::to_string(i);
  text += "\n" + describe_arrays(parameters, owners_of(parameters));
  if (!options.state.empty())
    text += "state:\n" + describe_arrays(options.state, owners_of(options.state));
  return text;
}

namespace {

/// @return the first line in which texts differ; if they differ in options, all these options.
DifferentLines other_lines(const std::string& left, const std::string& right) {
  const std::string end = "no more parameters";
  DifferentLines lines = first_different_lines(left, right, end).value_or(DifferentLines{});
  const auto is_option = [](const std::string& line) { return line.starts_with(kOptionLine); };
  if (!is_option(lines.left) || !is_option(lines.right)) return lines;
  for (auto next = first_different_lines(left, right, end, lines.number + 1); next;
       next = first_different_lines(left, right, end, next->number + 1)) {
    if (!is_option(next->left) || !is_option(next->right)) break;
    lines.left += ", " + next->left;
    lines.right += ", " + next->right;
  }
  return lines;
}

}  // namespace

void compare(Communicator& world, const std::function<std::string()>& describe) {
  const CallName name{"GradientSync"};
  std::string own;
  const Result<void> outcome = attempt([&] { own = describe(); });
  if (!outcome) own = outcome.error().what();
  const std::vector<std::uint64_t> hashes =
      world.all_gather(hash_of(std::as_bytes(std::span{own})));
  if (std::ranges::all_of(hashes, [&](std::uint64_t hash) { return hash == hashes[0]; })) {
    if (!outcome) throw Error{outcome.error()};
    return;
  }
  const std::vector<std::string> all = gather_texts(world, own, Duration{0});
  const auto votes = [&](const std::string& text) { return std::ranges::count(all, text); };
  const auto usual = std::ranges::max_element(all, {}, votes);
  const auto odd = std::ranges::find_if(all, [&](const auto& text) { return text != *usual; });
  const DifferentLines line = other_lines(*odd, *usual);
  const auto rank = static_cast<Rank>(odd - all.begin());
  const bool is_majority = 2 * votes(*usual) > world.size();
  throw Error{ErrorCode::invalid_argument,
              "GradientSync: ranks differ: rank " + std::to_string(rank) + " has " + line.left +
                  ", rank " + std::to_string(usual - all.begin()) +
                  (is_majority ? " and most others have " : " has ") + line.right,
              is_majority ? rank : -1};
}

void compare_arrays(Communicator& world, std::span<const Parameter> arrays, std::size_t groups,
                    const std::function<void()>& check) {
  compare(world, [&] {
    check_groups(arrays, groups);
    check_sizes("GradientSync", arrays, true);
    const std::vector<std::size_t> owners = check_apart("GradientSync", arrays);
    if (check) check();
    return "arrays:\n" + describe_arrays(arrays, owners);
  });
}

}  // namespace tutti::v0::detail
