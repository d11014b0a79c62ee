#include "witnesses.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

namespace tutti::detail {
namespace {

using State = Whereabouts::State;

/// How long ranks may take to say what they do.
constexpr Duration kTimeToAnswer = std::chrono::milliseconds{500};
/// How long ranks that have not come to a call yet are waited for, so that most can be told from
/// few.
constexpr std::chrono::milliseconds kTimeToCome{100};
constexpr std::chrono::milliseconds kPause{2};

std::string name_of_rank(std::size_t rank) {
  return "rank " + std::to_string(rank);
}

/// What a rank does instead of what call `number`, counted from one, waits for.
std::string words_of(const Whereabouts& found, std::uint64_t number) {
  switch (found.state) {
    case State::unknown: break;
    case State::dead: return "is dead";
    case State::left: return "has left the world";
    case State::silent: return "does not answer: its process is stopped, or its host is cut off";
    case State::absent: return "has not made this communicator, or has destroyed it";
    case State::there:
      if (found.begun < number)
        return "has not entered the call: it has begun " + std::to_string(found.begun) +
               " calls on this communicator, and this is number " + std::to_string(number);
      if (found.begun > number) return "has gone on to call #" + std::to_string(found.begun - 1);
      return "is in the call too, and is stalled or waits for another rank";
  }
  return "has not entered the call, is stalled, or is dead";
}

/// What the other one of two ranks does instead of taking a message, or sending one.
std::string words_of_peer(const Whereabouts& found, bool receives) {
  if (found.state != State::there)
    return found.state == State::unknown ? "has not called for it, is stalled, or is dead"
                                         : words_of(found, 0);
  return std::string{"has not called "} + (receives ? "recv" : "send") + " for it, or is stalled" +
         (found.latest.empty() ? "" : "; the latest collective it has called is " + found.latest);
}

/// What else may be the reason. Nobody sends an empty block, since in an exchange among neighbours
/// every rank would wait for all others then.
std::string hint_for(const Binding& binding) {
  return binding.has_own_counts ? " (where counts disagree, a rank waits for what the other takes "
                                  "for empty and does not send)"
                                : "";
}

bool is_in(const Whereabouts& found, std::uint64_t number) {
  return found.state == State::there && found.begun == number && !found.latest.empty();
}

/// Whether a rank keeps others from going on.
bool is_missing(const Whereabouts& found, std::uint64_t number) {
  return found.state != State::unknown && (found.state != State::there || found.begun < number);
}

/// Whether so many are in a call that ranks still to come cannot turn the most into the few.
bool is_decided(const std::vector<Whereabouts>& all, std::uint64_t number) {
  std::map<std::string, std::size_t> votes;
  std::size_t most = 0;
  for (const Whereabouts& found : all)
    if (is_in(found, number)) most = std::max(most, ++votes[found.latest]);
  const bool all_came = std::ranges::none_of(all, [number](const Whereabouts& found) {
    return found.state == State::there && found.begun < number;
  });
  return all_came || 2 * most > all.size();
}

/// Who is in another call than most, or than rank 0 and its like where there are no most.
std::optional<Error> disagreement(const std::vector<Whereabouts>& all, std::uint64_t number) {
  std::map<std::string, std::size_t> votes;
  for (const Whereabouts& found : all)
    if (is_in(found, number)) ++votes[found.latest];
  if (votes.size() < 2) return {};
  std::size_t example = all.size();
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (is_in(all[rank], number) &&
        (example == all.size() || votes[all[rank].latest] > votes[all[example].latest]))
      example = rank;
  std::size_t odd = 0;
  while (!is_in(all[odd], number) || all[odd].latest == all[example].latest) ++odd;
  return Error{ErrorCode::mismatch,
               name_of_rank(odd) + " runs another call: its call #" + std::to_string(number - 1) +
                   " is " + all[odd].latest + ", that of " + name_of_rank(example) + " is " +
                   all[example].latest +
                   "; all ranks must call the same collectives in the same order with matching "
                   "arguments",
               static_cast<Rank>(odd)};
}

/// Whether this rank is the odd one: it waited for nobody in a call in which most others still are,
/// and met their messages in its next one.
std::optional<Error> haste(const std::vector<Whereabouts>& all, Rank self, std::uint64_t number) {
  std::map<std::string, std::size_t> votes;
  for (const Whereabouts& found : all)
    if (is_in(found, number - 1)) ++votes[found.latest];
  const auto most = std::ranges::find_if(
      votes, [&all](const auto& vote) { return 2 * vote.second > all.size(); });
  const Whereabouts& own = all[static_cast<std::size_t>(self)];
  if (number < 2 || most == votes.end() || !is_in(own, number)) return {};
  return Error{ErrorCode::mismatch,
               name_of_rank(static_cast<std::size_t>(self)) +
                   " runs another call: it is in call #" + std::to_string(number - 1) + ", " +
                   own.latest + ", and most ranks are in #" + std::to_string(number - 2) + ", " +
                   most->first +
                   ", whose messages to it are left over; all ranks must call the same "
                   "collectives in the same order with matching arguments",
               self};
}

}  // namespace

std::vector<Whereabouts> Witnesses::ask() const {
  std::vector<Whereabouts> all(static_cast<std::size_t>(size_));
  if (group_ == nullptr || calls_ == nullptr) return all;
  std::vector<Rank> others;
  for (Rank rank = 0; rank < size_; ++rank)
    if (rank != self_) others.push_back(rank);
  std::vector<Whereabouts> found = group_->inquire(others, kTimeToAnswer);
  for (std::size_t i = 0; i < others.size(); ++i)
    all[static_cast<std::size_t>(others[i])] = std::move(found[i]);
  all[static_cast<std::size_t>(self_)] = {State::there, calls_->begun(), calls_->latest()};
  return all;
}

Error Witnesses::explained(const Error& mismatch, std::uint64_t number) const {
  const auto until = std::chrono::steady_clock::now() + kTimeToCome;
  std::vector<Whereabouts> all = ask();
  while (!is_decided(all, number) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kPause);
    all = ask();
  }
  std::optional<Error> found = disagreement(all, number);
  if (!found) found = haste(all, self_, number);
  return found.value_or(mismatch);
}

Error Witnesses::lateness_of_two(const Execution& execution) const {
  const Execution::Awaited awaited = execution.awaited();
  const auto peer = static_cast<std::size_t>(std::max<Rank>(awaited.rank, 0));
  const std::string rank = name_of_rank(peer);
  return {ErrorCode::timeout,
          execution.state() + " timed out on rank " + std::to_string(self_) + ": " +
              (awaited.receives ? rank + " did not take what was sent to it; it "
                                : "nothing came from " + rank + ", which ") +
              words_of_peer(ask()[peer], awaited.receives),
          awaited.rank};
}

Error Witnesses::lateness(const Execution& execution) const {
  if (!execution.binding().is_collective) return lateness_of_two(execution);
  const std::uint64_t number = execution.sequence() + 1;
  const std::vector<Whereabouts> all = ask();
  if (const auto error = disagreement(all, number)) return *error;
  const Execution::Awaited awaited = execution.awaited();
  const auto place = static_cast<std::size_t>(std::max<Rank>(awaited.rank, 0));
  std::string text = execution.state() + " timed out on rank " + std::to_string(self_) + ": ";
  const std::string rank = name_of_rank(place);
  const auto missing = std::ranges::find_if(
      all, [number](const Whereabouts& found) { return is_missing(found, number); });
  if (missing != all.end() && !is_missing(all[place], number)) {
    const auto culprit = static_cast<std::size_t>(missing - all.begin());
    text += (awaited.receives ? "it waits for " : "nothing came from ") + rank +
            ", which waits too; " + name_of_rank(culprit) + " ";
    return {ErrorCode::timeout, text + words_of(*missing, number), static_cast<Rank>(culprit)};
  }
  text += awaited.receives ? rank + " did not take what was sent to it; it "
                           : "nothing came from " + rank + ", which ";
  return {ErrorCode::timeout, text + words_of(all[place], number) + hint_for(execution.binding()),
          awaited.rank};
}

}  // namespace tutti::detail
