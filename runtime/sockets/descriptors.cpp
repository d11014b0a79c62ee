#include "descriptors.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <mutex>

#include "socket.hpp"

namespace tutti::runtime {
namespace {

/// The fewest descriptors of a connection to another rank: two sockets, or one and its memory.
constexpr rlim_t kLeastPerLink = 2;
/// While a world starts: the connection to the store and the descriptor of its process too.
constexpr rlim_t kPerLink = 4;
/// Listeners, epoll and event descriptors, and the like.
constexpr rlim_t kOtherDescriptors = 8;
/// Connections that are not authenticated; see AcceptorLimits.
constexpr rlim_t kUnauthenticated = 64;

/// The limit belongs to the process: two worlds that start at once must not lower it again.
std::mutex limit_mutex;

rlimit limit() {
  rlimit found{};
  if (::getrlimit(RLIMIT_NOFILE, &found) != 0)
    throw Error{ErrorCode::transport, "cannot read the limit of file descriptors"};
  return found;
}

/// The number of open descriptors. Counting takes one more.
rlim_t count_open(rlim_t most) {
  std::error_code error;
  std::filesystem::directory_iterator entry{"/proc/self/fd", error};
  rlim_t count = 0;
  for (; !error && entry != end(entry); entry.increment(error)) ++count;
  if (error) return error.value() == EMFILE ? most : 0;
  return count - 1;
}

rlim_t links_of(int ranks) {
  return static_cast<rlim_t>(std::max(ranks, 1) - 1);
}

}  // namespace

Error DescriptorShortage::with_rank(Rank rank, const std::string& host) const {
  const std::string where = host.empty() ? "" : " (host " + host + ")";
  return {code(), "rank " + std::to_string(rank) + where + " " + what_, rank};
}

void throw_system_error(const std::string& what, int error) {
  if (error == ENFILE)
    throw DescriptorShortage{
        "has no file descriptors left, as all of its host: raise fs.file-max there"};
  if (error == EMFILE)
    throw DescriptorShortage{"has no file descriptors left: raise `ulimit -n`, which is " +
                             std::to_string(limit().rlim_cur)};
  throw system_error(what, error);
}

DescriptorNeed descriptor_need(int ranks) {
  const rlimit allowed = limit();
  const rlim_t open = count_open(allowed.rlim_cur) + kOtherDescriptors;
  return {.allowed = allowed.rlim_cur,
          .most = allowed.rlim_max,
          .least = open + kLeastPerLink * links_of(ranks),
          .wanted = open + kPerLink * links_of(ranks) + kUnauthenticated};
}

void raise_descriptor_limit(int ranks) {
  const std::lock_guard lock{limit_mutex};
  const DescriptorNeed need = descriptor_need(ranks);
  if (need.wanted <= need.allowed || need.allowed == need.most) return;
  const rlimit raised{.rlim_cur = std::min(need.wanted, need.most), .rlim_max = need.most};
  ::setrlimit(RLIMIT_NOFILE, &raised);  // if this fails, require_descriptors reports it
}

void require_descriptors(int ranks) {
  const DescriptorNeed need = descriptor_need(ranks);
  if (need.least > need.allowed)
    throw DescriptorShortage{"has too few file descriptors for a world of " +
                             std::to_string(ranks) + " ranks: " + std::to_string(need.least) +
                             " are needed with those that are open, and `ulimit -n` allows " +
                             std::to_string(need.allowed) + "; raise it"};
}

}  // namespace tutti::runtime
