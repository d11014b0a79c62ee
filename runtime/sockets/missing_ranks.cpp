#include "missing_ranks.hpp"

#include <algorithm>
#include <cmath>

namespace tutti::runtime {
namespace {

/// Longer lists end with the number of the others.
constexpr std::size_t kMostNamed = 16;

/// Joins texts with commas, and with another separator before the last; long lists are cut.
std::string enumerate(const std::vector<std::string>& texts, std::string_view before_last) {
  const std::size_t named = std::min(texts.size(), kMostNamed);
  std::string text;
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) text += i + 1 == texts.size() ? before_last : ", ";
    text += texts[i];
  }
  if (named < texts.size()) text += " and " + std::to_string(texts.size() - named) + " more";
  return text;
}

std::string rank_word(std::size_t count) {
  return count == 1 ? "rank " : "ranks ";
}

}  // namespace

std::string seconds_text(std::chrono::steady_clock::duration time) {
  const auto tenths = std::lround(std::chrono::duration<double>{time}.count() * 10);
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text + " s";
}

std::string ranks_text(const std::vector<Rank>& ranks) {
  std::vector<std::string> texts;
  for (const Rank rank : ranks) texts.push_back(std::to_string(rank));
  return rank_word(texts.size()) + enumerate(texts, " and ");
}

Error wrong_size(const WrongSize& wrong) {
  std::vector<Rank> ranks = wrong.ranks;
  std::ranges::sort(ranks);
  return {ErrorCode::mismatch,
          ranks_text(ranks) + (ranks.size() == 1 ? " counts " : " count ") + wrong.theirs +
              " ranks, but " + wrong.rank_0 + " counts " + wrong.own + ": wrong world size",
          ranks.size() > wrong.agreeing ? 0 : ranks.front()};
}

Error missing_ranks(const MissingRanks& known) {
  std::vector<std::string> missing;
  std::vector<std::string> present;
  for (std::size_t rank = 0; rank < known.hosts.size(); ++rank) {
    const bool absent =
        std::ranges::find(known.missing, static_cast<Rank>(rank)) != known.missing.end();
    const std::string& host = known.hosts[rank];
    (absent ? missing : present)
        .push_back(std::to_string(rank) + (host.empty() ? "" : " (host " + host + ")"));
  }
  const bool is_known = !missing.empty();
  return {ErrorCode::timeout,
          "rank " + std::to_string(known.self) + " waited " + seconds_text(known.waited) + " for " +
              (is_known ? rank_word(missing.size()) + enumerate(missing, " and ") : "other ranks") +
              " of " + std::to_string(known.hosts.size()) +
              (known.where.empty() ? "" : " over " + known.where) +
              (is_known ? "; present: " + enumerate(present, ", ") : ""),
          is_known ? known.missing.front() : -1};
}

Error ended_rank(Rank rank, const std::string& host, const std::string& how) {
  return {ErrorCode::peer_dead,
          "rank " + std::to_string(rank) + (host.empty() ? "" : " (host " + host + ")") +
              " has ended and did not join the world" + (how.empty() ? "" : ": it " + how),
          rank};
}

}  // namespace tutti::runtime
