#include "runtime/refused.hpp"

#include <charconv>

#include "runtime/missing_ranks.hpp"

namespace tutti::runtime {

void leave_refusal(Folder& folder, const std::string& nonce, const Refused& refused) {
  folder.write(std::string{kRefused} + nonce + "." + std::to_string(refused.rank),
               text_of(refused.hello));
}

std::vector<Refused> refusals(const Folder& folder, const std::string& nonce) {
  const std::string start = std::string{kRefused} + nonce + ".";
  std::vector<Refused> found;
  for (const std::string& name : folder.names()) {
    if (!name.starts_with(start)) continue;
    Rank rank = 0;
    const auto [end, error] =
        std::from_chars(name.data() + start.size(), name.data() + name.size(), rank);
    if (error != std::errc{} || end != name.data() + name.size()) continue;  // still a draft
    if (const auto text = folder.read(name)) found.push_back({rank, hello_of(*text)});
  }
  return found;
}

std::string text_of(const std::vector<Refused>& all, const Hello& own) {
  std::string text;
  for (const Refused& refused : all)
    text += (text.empty() ? "; turned away: rank " : "; rank ") + std::to_string(refused.rank) +
            " (host " + refused.hello.host + "), which " + claim_of(refused.hello, own);
  return text;
}

std::optional<Error> wrong_sizes(const std::vector<Refused>& all, const Hello& own,
                                 std::size_t agreeing) {
  std::vector<Rank> ranks;
  std::string theirs;
  for (const auto& [rank, hello] : all) {
    if (hello.format != own.format || hello.job != own.job || hello.size == own.size) continue;
    if (ranks.empty()) theirs = hello.size;
    if (hello.size == theirs) ranks.push_back(rank);
  }
  if (ranks.empty()) return {};
  return wrong_size({.ranks = ranks,
                     .theirs = theirs,
                     .rank_0 = "rank 0 (host " + own.host + ")",
                     .own = own.size,
                     .agreeing = agreeing});
}

}  // namespace tutti::runtime
