#include "agreement.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

namespace tutti::v0::detail {
namespace {

/// What ranks have to know of each other's outcomes.
struct OwnOutcome {
  std::int32_t code = -1;  // no Error
  std::int32_t culprit = -1;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The name of the host, which containers change, and its boot, which tells hosts of one name
/// apart.
std::string identity_of_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  std::string boot;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot;
  return std::string{name.data()} + " " + boot;
}

}  // namespace

void agree(Communicator& world, const Result<void>& own, Duration timeout) {
  OwnOutcome outcome;
  if (!own) outcome = {static_cast<std::int32_t>(own.error().code()), own.error().culprit()};
  const std::vector<OwnOutcome> all = world.all_gather(outcome, Options{.timeout = timeout});
  const auto first = std::ranges::find_if(all, [](const OwnOutcome& o) { return o.code >= 0; });
  if (first == all.end()) return;
  const std::vector<std::string> texts = texts_of(world, own ? "" : own.error().what(), timeout);
  throw Error{static_cast<ErrorCode>(first->code),
              texts[static_cast<std::size_t>(first - all.begin())], first->culprit};
}

std::string text_of_caught() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception without a text";
  }
}

std::vector<std::string> texts_of(Communicator& world, std::string_view own, Duration timeout) {
  const Gathered<char> all = world.all_gatherv(own, with_counts, Options{.timeout = timeout});
  std::vector<std::string> texts;
  for (Rank rank = 0; rank < world.size(); ++rank)
    texts.emplace_back(all[rank].begin(), all[rank].end());
  return texts;
}

std::optional<OtherLine> first_other_line(const std::string& left, const std::string& right,
                                          const std::string& end, std::size_t from) {
  const std::vector<std::string> lefts = lines_of(left);
  const std::vector<std::string> rights = lines_of(right);
  const auto line_of = [&](const std::vector<std::string>& lines, std::size_t i) {
    return i < lines.size() ? lines[i] : end;
  };
  for (std::size_t i = from; i < std::max(lefts.size(), rights.size()); ++i)
    if (line_of(lefts, i) != line_of(rights, i))
      return OtherLine{i, line_of(lefts, i), line_of(rights, i)};
  return std::nullopt;
}

Rank first_rank_of_host(Communicator& world, Duration timeout) {
  const std::vector<std::string> hosts = texts_of(world, identity_of_host(), timeout);
  const std::string& own = hosts[static_cast<std::size_t>(world.rank())];
  return static_cast<Rank>(std::ranges::find(hosts, own) - hosts.begin());
}

}  // namespace tutti::v0::detail
