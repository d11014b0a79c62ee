// Communicators made from communicators.
#include <tutti/communicator.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <tutti/attempt.hpp>
#include <tutti/batch.hpp>
#include <tutti/call_name.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/failure_signal.hpp>

#include "engine.hpp"

namespace tutti::v0 {
namespace {

// The contribution of a rank to a split.
struct Membership {
  bool wants = false;
  int color = 0;
  int key = 0;
};

std::vector<Membership> exchange(Communicator& communicator, const Membership& own) {
  detail::BatchScope::reject("a split");
  const CallName name{"split"};
  constexpr std::size_t kWords = 3;
  const std::array<std::int32_t, kWords> said{own.wants ? 1 : 0, own.color, own.key};
  std::vector<std::int32_t> heard(kWords * static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(said, std::span{heard});
  std::vector<Membership> memberships;
  for (std::size_t i = 0; i < heard.size(); i += kWords)
    memberships.push_back({heard[i] != 0, heard[i + 1], heard[i + 2]});
  return memberships;
}

void check_members(std::span<const Rank> members, Rank self, int size) {
  std::vector<bool> named(static_cast<std::size_t>(size), false);
  for (const Rank member : members) {
    if (member < 0 || member >= size)
      throw Error{ErrorCode::invalid_argument, "a group names rank " + std::to_string(member) +
                                                   ", but there are ranks 0 to " +
                                                   std::to_string(size - 1)};
    if (named[static_cast<std::size_t>(member)])
      throw Error{ErrorCode::invalid_argument,
                  "a group names rank " + std::to_string(member) + " twice"};
    named[static_cast<std::size_t>(member)] = true;
  }
  if (!named[static_cast<std::size_t>(self)])
    throw Error{ErrorCode::invalid_argument,
                "rank " + std::to_string(self) +
                    " makes a group in which it is not; only the members make it"};
}

/// If this rank cannot make its part of the communicator, for example without memory, it raises the
/// failure signal for the other members.
Communicator host_part_of(const detail::Engine& engine, std::span<const Rank> members,
                          std::uint64_t key, const CommunicatorOptions& options) {
  CommunicatorParts communicator_parts = engine.group().subgroup(members, key);
  const std::shared_ptr<FailureSignal> failure_signal = communicator_parts.failure_signal;
  try {
    return make_communicator(std::move(communicator_parts), engine.memory(), options);
  } catch (const std::exception& error) {
    if (failure_signal)
      failure_signal->raise(
          {ErrorCode::transport,
           std::string{"a rank could not make the communicator: "} + error.what()});
    throw;
  }
}

/// Makes a communicator of the members, with the GPU of the whole one if that has one.
Communicator part_of(const detail::Engine& engine, std::span<const Rank> members, std::uint64_t key,
                     const CommunicatorOptions& options) {
  if (!engine.has_streams()) return host_part_of(engine, members, key, options);
  detail::BatchScope::reject("a group of ranks that have GPUs");
  const detail::StreamCalls& calls = engine.streamed();
  Communicator part = host_part_of(engine, members, key, options);
  attach_streams(part, calls.transport()->divide(part), calls.compares());
  return part;
}

std::vector<Rank> everyone_of(const Communicator& communicator) {
  std::vector<Rank> everyone(static_cast<std::size_t>(communicator.size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  return everyone;
}

}  // namespace

Communicator Communicator::group(std::span<const Rank> members, std::uint64_t key) {
  const detail::Engine& engine = detail::engine_of(engine_);
  check_members(members, rank(), size());
  return part_of(engine, members, key, engine.options());
}

Result<Communicator> Communicator::try_group(std::span<const Rank> members,
                                             std::uint64_t key) noexcept {
  return detail::attempt([&] { return group(members, key); });
}

Communicator Communicator::duplicate(const CommunicatorOptions& options, std::uint64_t key) {
  return part_of(detail::engine_of(engine_), everyone_of(*this), key, options);
}

Communicator duplicate_for_host(Communicator& communicator, const CommunicatorOptions& options,
                                std::uint64_t key) {
  return host_part_of(detail::engine_of(communicator.engine_), everyone_of(communicator), key,
                      options);
}

const CommunicatorOptions& Communicator::options() const {
  return detail::engine_of(engine_).options();
}

Communicator Communicator::split(int color, int key) {
  return run_as_one(*this, [&] {
    const std::vector<Membership> memberships =
        exchange(*this, {.wants = true, .color = color, .key = key});
    std::vector<Rank> members;
    for (Rank rank = 0; rank < size(); ++rank) {
      const Membership& membership = memberships[static_cast<std::size_t>(rank)];
      if (membership.wants && membership.color == color) members.push_back(rank);
    }
    std::ranges::stable_sort(
        members, {}, [&](Rank rank) { return memberships[static_cast<std::size_t>(rank)].key; });
    return group(members, kKeyOfSplits);
  });
}

void Communicator::split(NoColor) {
  static_cast<void>(exchange(*this, {}));
}

Result<Communicator> Communicator::try_split(int color, int key) noexcept {
  return detail::attempt([&] { return split(color, key); });
}

std::string Communicator::describe() const {
  detail::Engine& engine = detail::engine_of(engine_);
  if (engine.has_group()) return engine.group().describe();
  return std::to_string(size()) + " ranks over " + engine.transport().capabilities().name;
}

namespace {

std::shared_ptr<Memory> visible_memory(const detail::Engine& engine) {
  return engine.has_group() ? engine.group().visible_memory() : nullptr;
}

}  // namespace

bool Communicator::allocates_visible() const {
  return visible_memory(detail::engine_of(engine_)) != nullptr;
}

std::shared_ptr<std::byte> Communicator::allocate_bytes(std::size_t bytes) const {
  const detail::Engine& engine = detail::engine_of(engine_);
  std::shared_ptr<Memory> visible = visible_memory(engine);
  std::shared_ptr<std::byte> memory;
  const auto allocate = [&] {
    memory = allocate_zeroed(visible ? std::move(visible) : engine.memory(), bytes);
  };
  if (const std::optional<Error> error = detail::error_of(detail::callee_of(allocate)))
    throw Error{error->code(), error->what(), rank()};
  return memory;
}

}  // namespace tutti::v0
