#include "blame.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <tutti/spi/fingerprint.hpp>
#include <tutti/spi/rejection.hpp>

#include "collectives/binding/call_fields.hpp"
#include "wait_for_graph.hpp"

namespace tutti::v0::detail {
namespace {

using CallMemory = CallStatus::Memory;

/// Time that ranks have to answer a question.
constexpr Duration kTimeToAnswer = std::chrono::milliseconds{500};
/// Time to answer while no rank is late yet.
constexpr Duration kTimeToAnswerInPassing = std::chrono::milliseconds{100};
/// Time that ranks have to enter a call, so that a majority can be found.
constexpr std::chrono::milliseconds kTimeToCome{1000};
/// A rank that has left is asked about this many of its latest calls.
constexpr std::uint64_t kLookedBack = 8;
/// The first and the longest pause between two questions in this time.
constexpr std::chrono::milliseconds kPause{1};
constexpr std::chrono::milliseconds kLongestPause{50};

std::string name_of_rank(Rank rank) {
  return "rank " + std::to_string(rank);
}

/// @return a text such as "3.0 s" or "500 ms".
std::string words_of(Duration time) {
  const auto milliseconds = std::chrono::round<std::chrono::milliseconds>(time).count();
  if (time < std::chrono::seconds{1}) return std::to_string(milliseconds) + " ms";
  const auto tenths = (milliseconds + 50) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

/// @return a text: what a rank does instead of the call in which another one waits for it.
std::string words_of(const CallStatus& found, const CallStatus::Wait& wait) {
  switch (found.state) {
    case CallStatus::State::unknown:
      return std::string{"has not "} + (wait.number > 0 ? "entered the call" : "called for it") +
             ", is stalled, or is dead";
    case CallStatus::State::dead: return "is dead";
    case CallStatus::State::left: return "has left the world";
    case CallStatus::State::silent:
      return "does not answer: its process is stopped, or its host is cut off";
    case CallStatus::State::absent: return "has not made this communicator";
    case CallStatus::State::ended: return "has destroyed this communicator";
    case CallStatus::State::there: break;
  }
  const std::string call = wait.call;
  if (wait.number == 0)
    return "has not called for it in " + words_of(wait.time) +
           (found.begun == 0 ? "" : "; its latest collective is #" + std::to_string(found.begun));
  if (wait.number > kPlanCalls)
    return found.memory == CallMemory::none ? "has not made " + words_of_number(wait.number)
                                            : "has not started " + call + " as often in " +
                                                  words_of(wait.time) + ", or is stalled in it";
  if (found.begun < wait.number) return "has not entered " + call + " for " + words_of(wait.time);
  if (found.begun > wait.number)
    return "has gone on from " + call + " to call #" + std::to_string(found.begun);
  return "has entered " + call + " too, and is stalled there, or does something else";
}

/// @return whether a call's name is that of a collective in which each rank may give its own
/// counts.
bool names_own_counts(std::string_view call) {
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    if (may_have_own_counts(collective) && call.starts_with(std::string{name_of(collective)} + " "))
      return true;
  }
  return false;
}

/// @return another possible reason for the timeout: counts that disagree, in the own call or in the
/// last one of the chain. An empty block is not sent, since otherwise every rank of an exchange
/// between neighbours would wait for all others.
std::string hint_for(const Binding& binding, const CallStatus& culprit,
                     const CallStatus::Wait& wait) {
  const bool has_gone_on = wait.number > 0 && culprit.begun > wait.number;
  return binding.has_own_counts || (has_gone_on && names_own_counts(wait.call))
             ? " (where counts disagree, a rank waits for what the other considers empty and does "
               "not send)"
             : "";
}

/// @return the number of the call nearest to `latest` that has a residue, see Error::call.
std::uint64_t near(std::uint64_t latest, std::uint64_t residue) {
  const std::uint64_t back = (latest - residue) % kFingerprintCalls;
  if (back <= latest && back < kFingerprintCalls / 2) return latest - back;
  return latest + (kFingerprintCalls - back);
}

/// Adds the reason to the error of a call whose message the other rank rejected. @param found the
/// reply of that rank.
Error with_reason(const Error& rejection, Rank culprit, const CallStatus& found) {
  const std::string reason = found.words.empty() ? "" : ": " + found.words;
  return {ErrorCode::mismatch, rejection.what() + reason, culprit};
}

}  // namespace

std::vector<CallStatus> Blame::ask(std::uint64_t number) const {
  std::vector<CallStatus> all(static_cast<std::size_t>(size_));
  all[static_cast<std::size_t>(self_)] = calls_.status_of(number);
  if (group_ == nullptr) return all;
  std::vector<Rank> others;
  for (Rank rank = 0; rank < size_; ++rank)
    if (rank != self_) others.push_back(rank);
  std::vector<CallStatus> found = group_->inquire(others, number, kTimeToAnswer);
  for (std::size_t i = 0; i < others.size(); ++i)
    all[static_cast<std::size_t>(others[i])] = std::move(found[i]);
  return all;
}

std::vector<CallStatus> Blame::ask_until_decided(std::uint64_t number) const {
  const auto until = std::chrono::steady_clock::now() + kTimeToCome;
  std::vector<CallStatus> all = ask(number);
  for (auto pause = kPause; std::chrono::steady_clock::now() < until;
       pause = std::min(2 * pause, kLongestPause)) {
    if (Majority{all, number, true}.is_decided()) break;
    std::this_thread::sleep_for(pause);
    all = ask(number);
  }
  return all;
}

Error Blame::explained(const Error& mismatch, std::uint64_t latest) const {
  if (mismatch.call() == kPlanCalls + kRejectedMessage) {
    const Rank culprit = mismatch.culprit() < 0 ? self_ : mismatch.culprit();
    return with_reason(
        mismatch, culprit,
        culprit == self_ ? calls_.status_of(mismatch.call())
        : group_ != nullptr
            ? group_->inquire(std::array{culprit}, mismatch.call(), kTimeToAnswer).front()
            : CallStatus{});
  }
  // An error without a number is about one message, whose two ends disagree.
  if (mismatch.call() == 0 || mismatch.culprit() < 0) return mismatch;
  const std::uint64_t number =
      mismatch.call() > kPlanCalls ? mismatch.call() : near(latest, mismatch.call());
  const std::vector<CallStatus> all = ask_until_decided(number);
  const Majority majority{all, number, true};
  if (majority.differs()) return majority.verdict();
  const CallStatus& own = all[static_cast<std::size_t>(self_)];
  const CallStatus& other = all[static_cast<std::size_t>(mismatch.culprit())];
  const std::string call = words_of_number(number);
  if (own.memory != CallMemory::known) return mismatch;
  const std::string culprit = name_of_rank(mismatch.culprit());
  if (other.memory != CallMemory::known && other.state == CallStatus::State::left)
    return {ErrorCode::mismatch,
            culprit + ", which has left, ran another " + call + " than this rank, whose " + call +
                " is " + own.words +
                "; all ranks must call the same collectives in the same order with matching "
                "arguments",
            mismatch.culprit()};
  if (other.memory != CallMemory::known)
    return {ErrorCode::mismatch,
            std::string{mismatch.what()} + " (" + call + " of this rank is " + own.words + ")",
            mismatch.culprit()};
  return {ErrorCode::mismatch,
          name_of_rank(self_) + " got a message of " + name_of_rank(mismatch.culprit()) + "'s " +
              call + " that its own does not wait for, although both are " + own.words +
              "; where each rank gives its own counts, sender and receiver must give the same",
          mismatch.culprit()};
}

Error Blame::behind_departure(const Error& departure, std::uint64_t latest) const {
  const Rank peer = departure.culprit();
  if (group_ == nullptr || peer < 0 || peer == self_ || peer >= size_) return departure;
  for (std::uint64_t number = latest; number > 0 && latest - number < kLookedBack; --number) {
    const std::vector<CallStatus> both{
        calls_.status_of(number),
        group_->inquire(std::array{peer}, number, kTimeToAnswerInPassing).front()};
    if (both[1].state != CallStatus::State::left && both[1].state != CallStatus::State::ended)
      break;
    if (!Majority{both, number, false}.differs()) continue;
    return disagreement(number, ask(number)).value_or(departure);
  }
  return departure;
}

std::optional<Error> Blame::disagreement(std::uint64_t number,
                                         const std::vector<CallStatus>& all) const {
  const Majority first{all, number, false};
  if (!first.differs()) return {};
  const Majority last{ask_until_decided(number), number, false};
  return (last.differs() ? last : first).verdict();  // some ranks may have left meanwhile
}

std::optional<Error> Blame::disagreement_with_awaited(const CallWait& wait) const {
  if (group_ == nullptr) return {};
  const std::vector<CallStatus> both{
      calls_.status_of(wait.number),
      group_->inquire(std::array{wait.rank}, wait.number, kTimeToAnswerInPassing).front()};
  // The transport reports that a rank has left only if that rank had made this communicator.
  const CallStatus& awaited = both.back();
  if (wait.number > 0 && awaited.state == CallStatus::State::left && awaited.begun == 0 &&
      awaited.memory == CallMemory::none)
    return Error{ErrorCode::peer_dead,
                 name_of_rank(wait.rank) + " has left the world, and " + tutti::words_of(wait) +
                     " waits for it",
                 wait.rank};
  if (!Majority{both, wait.number, false}.differs()) return {};
  return disagreement(wait.number, ask(wait.number));
}

Error Blame::lateness(const Execution& execution, Duration now) const {
  const CallWait noted = execution.wait(now);
  const CallStatus::Wait wait{tutti::words_of(noted), noted.number, noted.rank, noted.time};
  const std::vector<CallStatus> all = ask(wait.number);
  if (wait.number > 0)
    if (const auto error = disagreement(wait.number, all)) return *error;
  std::string text = execution.state() + " timed out on " + name_of_rank(self_) + ": ";
  if (wait.rank < 0) return {ErrorCode::timeout, text + "it does not go on by itself", self_};
  const WaitForGraph chain{all, self_, wait};
  if (const std::uint64_t earliest = chain.earliest_call(); earliest != wait.number)
    if (const auto error = disagreement(earliest, ask(earliest))) return *error;
  const std::string awaited = name_of_rank(wait.rank);
  const bool receives = execution.awaited().receives;
  text +=
      receives ? awaited + " did not receive what was sent to it" : "nothing came from " + awaited;
  if (chain.is_direct()) text += receives ? "; it " : ", which ";
  else text += ": " + chain.words();
  if (chain.culprit() < 0) return {ErrorCode::timeout, text, -1};
  if (!chain.is_direct()) text += ", " + name_of_rank(chain.culprit()) + " ";
  const CallStatus& culprit = all[static_cast<std::size_t>(chain.culprit())];
  return {
      ErrorCode::timeout,
      text + words_of(culprit, chain.last()) + hint_for(execution.binding(), culprit, chain.last()),
      chain.culprit()};
}

}  // namespace tutti::v0::detail
