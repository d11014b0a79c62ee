#include "gradient_plan.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

namespace tutti::inline v0::detail {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw Error{ErrorCode::invalid_argument, "GradientSync: " + text};
}

std::string name_of_parameter(const Parameter& parameter, std::size_t index) {
  return "parameter " + std::to_string(index) + " '" + parameter.name + "'";
}

/// FNV-1a (Fowler, Noll, Vo).
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

void check_flat(std::span<const Parameter> parameters) {
  for (std::size_t i = 1; i < parameters.size(); ++i) {
    const Parameter& before = parameters[i - 1];
    const auto* end =
        static_cast<const std::byte*>(before.data) + before.count * size_of(before.type);
    if (parameters[i].data != end || parameters[i].type != before.type ||
        parameters[i].group != before.group)
      refuse("with flat storage parameters lie behind each other and have one type and group; " +
             name_of_parameter(parameters[i], i) + " does not follow " +
             name_of_parameter(before, i - 1));
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

std::vector<std::size_t> reversed_order(std::size_t count) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = count - 1 - i;
  return order;
}

GradientPlan make_plan(std::span<const Parameter> parameters, const GradientOptions& options,
                       std::span<const std::size_t> order) {
  GradientPlan plan;
  plan.places.resize(parameters.size());
  std::map<std::pair<std::uint32_t, Datatype>, std::size_t> open;  // a bucket that may take more
  std::ostringstream text;
  for (const std::size_t index : order) {
    const Parameter& parameter = parameters[index];
    const std::pair kind{parameter.group, parameter.type};
    const std::size_t bytes = size_of(parameter.type);
    auto found = open.find(kind);
    if (found != open.end()) {
      const bool is_first = found->second == 0 && options.bucket_bytes != GradientOptions::kFlat;
      const std::size_t cap = is_first ? std::min(options.first_bucket_bytes, options.bucket_bytes)
                                       : options.bucket_bytes;
      const Bucket& bucket = plan.buckets[found->second];
      const bool fits =
          cap == GradientOptions::kFlat || (bucket.count + parameter.count) * bytes <= cap;
      if (!fits) open.erase(std::exchange(found, open.end()));
    }
    if (found == open.end()) {
      found = open.emplace(kind, plan.buckets.size()).first;
      plan.buckets.push_back({.type = parameter.type, .group = parameter.group});
    }
    Bucket& bucket = plan.buckets[found->second];
    plan.places[index] = {found->second, bucket.count * bytes};
    bucket.parameters.push_back(index);
    bucket.count += parameter.count;
    text << found->second << ":" << index << " ";
  }
  if (options.storage == GradientStorage::flat)  // they lie in the order of parameters
    for (Bucket& bucket : plan.buckets) {
      std::ranges::sort(bucket.parameters);
      std::size_t offset = 0;
      for (const std::size_t index : bucket.parameters) {
        plan.places[index].offset = offset;
        offset += parameters[index].count * size_of(bucket.type);
      }
    }
  plan.hash = hash_of(text.str());
  return plan;
}

void check_parameters(std::span<const Parameter> parameters, const GradientOptions& options) {
  const bool views = options.storage == GradientStorage::views;
  if (options.in_flight < 1)
    refuse("in_flight is " + std::to_string(options.in_flight) + ", expected 1 or more");
  if (options.storage != GradientStorage::copies && options.order == GradientOrder::observed)
    refuse(
        "an observed order moves gradients to other buckets, so it needs storage in copies; "
        "choose GradientOrder::reversed");
  if (options.storage == GradientStorage::flat && options.unused == UnusedGradients::detect)
    refuse("flat storage cannot leave single gradients as they are; choose zeros");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const auto type = parameter.type;
    if (type != Datatype::f16 && type != Datatype::bf16 && type != Datatype::f32 &&
        type != Datatype::f64)
      refuse(name_of_parameter(parameter, i) + " is of " + std::string{name_of(type)} +
             "; expected f16, bf16, f32 or f64");
    if (parameter.group > options.groups.size())
      refuse(name_of_parameter(parameter, i) + " is of group " + std::to_string(parameter.group) +
             ", but there are groups 0 to " + std::to_string(options.groups.size()));
    if (parameter.data == nullptr && parameter.count > 0 && !views)
      refuse(name_of_parameter(parameter, i) + " has no data");
  }
  if (options.storage == GradientStorage::flat) check_flat(parameters);
}

std::string describe(std::span<const Parameter> parameters, const GradientOptions& options) {
  std::ostringstream text;
  text << "options: bucket_bytes " << options.bucket_bytes << ", first_bucket_bytes "
       << options.first_bucket_bytes << ", order " << static_cast<int>(options.order)
       << ", storage " << static_cast<int>(options.storage) << ", unused "
       << static_cast<int>(options.unused) << ", average " << options.average << ", check_finite "
       << options.check_finite << ", norm " << options.norm << ", verify_every "
       << options.verify_every << ", " << parameters.size() << " parameters\n";
  for (std::size_t i = 0; i < parameters.size(); ++i)
    text << name_of_parameter(parameters[i], i) << ": " << parameters[i].count << " "
         << name_of(parameters[i].type) << ", group " << parameters[i].group << ", layout "
         << parameters[i].layout << "\n";
  return text.str();
}

void compare(Communicator& world, const std::string& own) {
  const std::vector<std::uint64_t> hashes = world.all_gather(hash_of(own));
  if (std::ranges::all_of(hashes, [&](std::uint64_t hash) { return hash == hashes[0]; })) return;
  const Gathered<char> all = world.all_gatherv(own, with_counts);
  const auto text_of = [&](Rank rank) { return std::string{all[rank].begin(), all[rank].end()}; };
  const auto votes = [&](Rank rank) {
    return std::ranges::count(hashes, hashes[static_cast<std::size_t>(rank)]);
  };
  Rank usual = 0;
  for (Rank rank = 1; rank < world.size(); ++rank)
    if (votes(rank) > votes(usual)) usual = rank;
  Rank odd = 0;
  while (hashes[static_cast<std::size_t>(odd)] == hashes[static_cast<std::size_t>(usual)]) ++odd;
  const std::vector<std::string> theirs = lines_of(text_of(odd));
  const std::vector<std::string> ours = lines_of(text_of(usual));
  std::size_t line = 0;
  while (line < theirs.size() && line < ours.size() && theirs[line] == ours[line]) ++line;
  // Numbers of parameters stand in the first line; what is missing says more.
  std::size_t first = 1;
  while (first < theirs.size() && first < ours.size() && theirs[first] == ours[first]) ++first;
  const bool are_both_good = theirs[0].starts_with("options") && ours[0].starts_with("options");
  if (line == 0 && are_both_good && theirs.size() != ours.size()) line = first;
  const auto words = [line](const std::vector<std::string>& lines) {
    return line < lines.size() ? lines[line] : std::string{"no more parameters"};
  };
  const bool is_majority = 2 * votes(usual) > world.size();
  throw Error{ErrorCode::invalid_argument,
              "GradientSync: ranks differ: rank " + std::to_string(odd) + " has " + words(theirs) +
                  ", rank " + std::to_string(usual) +
                  (is_majority ? " and most others have " : " has ") + words(ours),
              is_majority ? odd : -1};
}

}  // namespace tutti::inline v0::detail
