#include "sync_setup.hpp"

#include <algorithm>
#include <cstring>

#include <tutti/spi/catalog.hpp>
#include <tutti/spi/copy.hpp>

#include "arrays.hpp"
#include "base/all_or_none.hpp"

namespace tutti::v0::detail {
namespace {

/// Keys of the groups that a GradientSync makes; none is a key of the program's groups.
constexpr std::uint64_t kKey = 0x6772616473796e63;
constexpr std::uint64_t kKeyOfSeconds = kKey - 1;
constexpr std::uint64_t kKeyOfControl = kKey - 2;

/// @return a communicator of the same ranks, whose operations advance by themselves, and give the
/// same bits on all ranks.
Communicator copy_of(Communicator& group, std::uint64_t key) {
  CommunicatorOptions own = group.options();
  own.progress_thread = true;
  own.determinism = std::max(own.determinism, Determinism::rank_identical);
  return duplicate_for_host(group, own, key);
}

/// Throws Error{invalid_argument} for an unknown algorithm.
void check_algorithm(const Communicator& world, const std::string& name, bool on_stream) {
  if (name.empty() || (on_stream && name == "native")) return;
  const Catalog usual;
  const auto& given = world.options().catalog;
  static_cast<void>(parse_choice(given ? *given : usual, Collective::all_reduce, name));
}

}  // namespace

SyncSetup::SyncSetup(Communicator& world, std::span<const Parameter> all,
                     const GradientOptions& given)
    : parameters{all.begin(), all.end()}, options{given}, op{given.average ? average : sum} {
  groups.reserve(1 + options.groups.size());  // calls refer to the first while others are added
  groups.push_back(copy_of(world, kKey));
}

void SyncSetup::check(Communicator& world) {
  compare(all_ranks(), [&] {
    check_parameters(parameters, options);
    check_algorithm(world, options.algorithm, options.stream.is_some());
    check_streams(world, parameters, options);
    return describe(parameters, options);
  });
  options.order = order_of(options);
  options.state = without_tied(options.state);
}

/// Only the communicators of groups have the GPU, and all ranks reduce the same buckets there.
void SyncSetup::connect(Communicator& world) {
  for (std::size_t i = 0; i < options.groups.size(); ++i)
    groups.push_back(copy_of(*options.groups[i], kKey + 1 + i));
  const bool has_seconds = options.on_shard || !options.compression.empty();
  if (has_seconds && !options.stream.is_some())
    for (Communicator& group : groups) seconds.push_back(copy_of(group, kKeyOfSeconds));
  if (is_negotiating()) control = copy_of(all_ranks(), kKeyOfControl);
  if (!options.stream.is_some()) return;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Communicator& given = i == 0 ? world : *options.groups[i - 1];
    attach_streams(groups[i], streams_of(given)->divide(groups[i]));
  }
  streams = std::make_unique<GradientStreams>(groups, options.stream);
}

std::string SyncSetup::name_of_parameter(std::size_t parameter) const {
  return std::to_string(parameter) + " '" + parameters[parameter].name + "'";
}

void SyncSetup::all_or_none(const std::function<void()>& part) {
  detail::all_or_none(exchange_over(all_ranks(), options.timeout), part);
}

void SyncSetup::copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
  if (bytes == 0) return;
  if (streams) streams->copy(to, from, bytes);
  else copy_bytes(to, from, bytes);
}

void SyncSetup::clear(std::byte* to, std::size_t bytes) const {
  if (bytes == 0) return;
  if (streams) streams->clear(to, bytes);
  else std::memset(to, 0, bytes);
}

}  // namespace tutti::v0::detail
