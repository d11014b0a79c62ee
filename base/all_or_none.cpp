#include "base/all_or_none.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include <tutti/communicator.hpp>

namespace tutti::v0::detail {
namespace {

constexpr char kSuccess = 1;
constexpr char kFailure = 0;
/// The longest text of an Error that is exchanged. A Channel carries 64 KiB.
constexpr std::size_t kLongestText = 4096;

/// The information of an Error about the cause of a failure, from little to much.
enum class Evidence : std::uint8_t { departure, dead_peer, deadline, cause };

/// The part of an Error in front of its text, as it is exchanged.
struct FailureHead {
  std::int32_t culprit = -1;
  std::uint8_t code = 0;
  std::uint8_t evidence = 0;
};

std::string bytes_of_failure(const Error& error, bool is_departure = false) {
  FailureHead head{.culprit = error.culprit(), .code = static_cast<std::uint8_t>(error.code())};
  Evidence evidence = Evidence::cause;
  if (error.code() == ErrorCode::timeout) evidence = Evidence::deadline;
  if (error.code() == ErrorCode::peer_dead) evidence = Evidence::dead_peer;
  if (is_departure) evidence = Evidence::departure;
  head.evidence = static_cast<std::uint8_t>(evidence);
  std::string bytes{kFailure};
  bytes.append(reinterpret_cast<const char*>(&head), sizeof head);
  return bytes += std::string_view{error.what()}.substr(0, kLongestText);
}

std::string outcome_of(const std::function<std::string()>& part) {
  std::string result;
  bool is_departure = false;
  auto call = [&] {
    try {
      result = kSuccess + part();
    } catch (const Departure&) {
      is_departure = true;
      throw;
    }
  };
  const std::optional<Error> error = error_of(callee_of(call));
  return error ? bytes_of_failure(*error, is_departure) : result;
}

struct Failure {
  FailureHead head{};
  std::size_t rank = 0;
  std::string_view text{};
};

/// The bytes may be those of a foreign program.
Failure failure_of(std::string_view bytes, std::size_t rank) {
  Failure failure{.rank = rank};
  bytes.remove_prefix(std::min(bytes.size(), sizeof kFailure));
  if (bytes.size() < sizeof failure.head)
    throw Error{ErrorCode::transport, "a rank sent a message that is too short"};
  std::memcpy(&failure.head, bytes.data(), sizeof failure.head);
  failure.text = bytes.substr(sizeof failure.head);
  return failure;
}

[[noreturn]] void throw_failure(const Failure& failure, bool is_of_all, std::string_view doing) {
  const FailureHead& head = failure.head;
  const auto rank = static_cast<Rank>(failure.rank);
  std::string text{failure.text};
  if (!doing.empty())
    text = "rank " + std::to_string(rank) + " " + std::string{doing} + ": " + text;
  const bool is_known = head.code <= static_cast<std::uint8_t>(ErrorCode::bug);
  throw Error{is_known ? static_cast<ErrorCode>(head.code) : ErrorCode::transport, text,
              head.culprit >= 0 || is_of_all ? head.culprit : rank};
}

/// A short text travels with its length.
struct TextCell {
  std::uint64_t bytes = 0;
  std::array<char, 16> text{};
};

}  // namespace

std::vector<std::string> exchange_outcomes(const Exchange& exchange,
                                           const std::function<std::string()>& part,
                                           std::string_view failure) {
  std::vector<std::string> all = exchange(outcome_of(part));
  std::optional<Failure> worst;
  std::size_t failures = 0;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].empty() && all[rank][0] == kSuccess) continue;
    ++failures;
    const Failure one = failure_of(all[rank], rank);
    if (!worst || one.head.evidence > worst->head.evidence) worst = one;
  }
  if (worst) throw_failure(*worst, failures > 1 && failures == all.size(), failure);
  for (std::string& one : all) one.erase(0, 1);
  return all;
}

std::vector<std::string> gather_texts(Communicator& world, std::string_view own, Duration timeout) {
  const Options options{.timeout = timeout};
  TextCell cell{.bytes = own.size()};
  std::ranges::copy(own.substr(0, cell.text.size()), cell.text.begin());
  const std::vector<TextCell> cells = world.all_gather(cell, options);
  std::vector<std::string> texts;
  const auto is_short = [](const TextCell& one) { return one.bytes <= one.text.size(); };
  if (std::ranges::all_of(cells, is_short)) {
    for (const TextCell& one : cells) texts.emplace_back(one.text.data(), one.bytes);
    return texts;
  }
  std::vector<std::size_t> counts;
  std::size_t total = 0;
  for (const TextCell& one : cells) total += counts.emplace_back(one.bytes);
  std::vector<char> all(total);
  world.all_gatherv(own, all, counts, options);
  const char* from = all.data();
  for (const std::size_t count : counts) {
    texts.emplace_back(from, count);
    from += count;
  }
  return texts;
}

}  // namespace tutti::v0::detail
