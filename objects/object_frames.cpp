#include "object_frames.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include <tutti/spi/copy.hpp>

namespace tutti::v0::detail {
namespace {

template <std::size_t size>
void put_text(std::array<char, size>& to, std::string_view text) {
  constexpr std::string_view kCut = "...";
  const bool is_long = text.size() >= size;
  const std::size_t kept = is_long ? size - 1 - kCut.size() : text.size();
  if (kept > 0) copy_bytes(to.data(), text.data(), kept);
  if (is_long) copy_bytes(to.data() + kept, kCut.data(), kCut.size());
}

template <std::size_t size>
std::string text_in(const std::array<char, size>& text) {
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

std::string words_of_rank(std::size_t rank) {
  return "rank " + std::to_string(rank);
}

/// @return the number of ranks that make the same call as one.
std::size_t votes_for(std::span<const ObjectAccount> accounts, const ObjectAccount& one) {
  return static_cast<std::size_t>(std::ranges::count_if(accounts, [&](const ObjectAccount& other) {
    return other.report.fingerprint == one.report.fingerprint;
  }));
}

}  // namespace

void ObjectVote::join(const ObjectVote& other) noexcept {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = std::max(numbers[i], other.numbers[i]);
}

void ObjectFrame::check(int sender, const ObjectVote& vote) const {
  const bool is_sane = magic == kMagic && size <= report.largest && report.failed <= 1 &&
                       report.largest <= std::min<std::uint64_t>(vote.largest(), kMostObjectBytes);
  if (!is_sane)
    throw Error{ErrorCode::mismatch,
                words_of_rank(static_cast<std::size_t>(sender)) +
                    " sent something else than objects; all ranks must run the same tutti on "
                    "machines of one kind, and call the same collectives in the same order",
                sender};
}

ObjectAccount::ObjectAccount(const ObjectReport& own, std::string_view call_in_words,
                             std::string_view why)
    : report{own} {
  put_text(call, call_in_words);
  put_text(problem, why);
}

std::string words_of_exception() {
  std::string words = "an exception of unknown type";
  try {
    throw;
  } catch (const std::exception& error) {
    words = error.what();
  } catch (...) {
  }
  return words.empty() ? "an exception without words" : words;
}

Error failure_of(std::span<const ObjectAccount> accounts) {
  std::size_t example = 0;
  for (std::size_t rank = 1; rank < accounts.size(); ++rank)
    if (votes_for(accounts, accounts[rank]) > votes_for(accounts, accounts[example]))
      example = rank;
  const std::uint64_t usual = accounts[example].report.fingerprint;
  const std::string usual_call = text_in(accounts[example].call);
  for (std::size_t rank = 0; rank < accounts.size(); ++rank)
    if (accounts[rank].report.fingerprint != usual) {
      const std::string call = text_in(accounts[rank].call);
      return {ErrorCode::object,
              words_of_rank(rank) + " calls " + call + ", " + words_of_rank(example) + " calls " +
                  (call == usual_call ? "the same of another type with this name" : usual_call) +
                  "; objects must be of the same type on all ranks",
              static_cast<Rank>(rank)};
    }
  for (std::size_t rank = 0; rank < accounts.size(); ++rank)
    if (accounts[rank].report.failed != 0)
      return {ErrorCode::object,
              words_of_rank(rank) + " could not encode its part of " +
                  text_in(accounts[rank].call) + ": " + text_in(accounts[rank].problem),
              static_cast<Rank>(rank)};
  std::size_t giver = 0;
  std::size_t limiter = 0;
  for (std::size_t rank = 1; rank < accounts.size(); ++rank) {
    if (accounts[rank].report.largest > accounts[giver].report.largest) giver = rank;
    if (accounts[rank].report.most < accounts[limiter].report.most) limiter = rank;
  }
  return {ErrorCode::object,
          text_in(accounts[giver].call) + ": " + words_of_rank(giver) + " gives an object of " +
              std::to_string(accounts[giver].report.largest) + " bytes, " + words_of_rank(limiter) +
              " accepts at most " + std::to_string(accounts[limiter].report.most) +
              " (ObjectOptions::most_bytes)",
          static_cast<Rank>(giver)};
}

}  // namespace tutti::v0::detail
