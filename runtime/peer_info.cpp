#include "peer_info.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <map>
#include <set>

#include "cryptography.hpp"
#include "descriptors.hpp"
#include "fields.hpp"

namespace tutti::runtime {
namespace {

/// The first bytes of every info, in every version; the two versions follow.
constexpr std::uint64_t kMagic = 0x64'72'61'63'74'75'74'0A;

/// A rank whose value differs from that of most ranks, and a rank that has the usual value.
struct Outlier {
  std::size_t rank;
  std::size_t usual;
};

/// @param value_of a rank. Among values that are equally frequent, that of the lowest ranks is
/// usual.
template <class ValueOf>
std::optional<Outlier> odd_one(std::size_t ranks, const ValueOf& value_of) {
  std::map<std::string, std::size_t> times;
  for (std::size_t rank = 0; rank < ranks; ++rank) ++times[value_of(rank)];
  if (times.size() < 2) return {};
  std::size_t usual = 0;
  for (std::size_t rank = 1; rank < ranks; ++rank)
    if (times[value_of(rank)] > times[value_of(usual)]) usual = rank;
  std::size_t odd = 0;
  while (value_of(odd) == value_of(usual)) ++odd;
  return Outlier{odd, usual};
}

std::string name_of(const std::vector<PeerInfo>& infos, std::size_t rank) {
  return "rank " + std::to_string(rank) + " (host " + infos[rank].host.name + ")";
}

}  // namespace

Host this_host() {
  // Facts that do not change while this process lives, and take system calls. A program that
  // changes its network namespace does so before its first world.
  static const Host kept = [] {
    Host host;
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) == 0) host.name = name.data();
    std::ifstream{"/proc/sys/kernel/random/boot_id"} >> host.boot;
    struct stat status {};
    if (::stat("/proc/self/ns/net", &status) != 0 || host.boot.empty())
      throw_system_error("cannot tell this host from others: /proc is not readable", errno);
    host.network = std::to_string(status.st_ino);
    return host;
  }();
  Host host = kept;
  host.user = ::geteuid();
  return host;
}

bool share_memory(const Host& a, const Host& b) {
  return a.boot == b.boot && a.user == b.user;
}

bool share_loopback(const Host& a, const Host& b) {
  return a.boot == b.boot && a.network == b.network;
}

void check_agreed(const std::vector<PeerInfo>& infos) {
  std::size_t options = infos.front().agreed.size();
  for (const PeerInfo& info : infos) options = std::min(options, info.agreed.size());
  for (std::size_t option = 0; option < options; ++option) {
    const auto value_of = [&](std::size_t rank) {
      const auto& [name, value] = infos[rank].agreed[option];
      return name + " " + value;
    };
    const auto odd = odd_one(infos.size(), value_of);
    if (!odd) continue;
    throw Error{ErrorCode::mismatch,
                "rank " + std::to_string(odd->rank) + " was started with " + value_of(odd->rank) +
                    ", rank " + std::to_string(odd->usual) + " with " + value_of(odd->usual) +
                    "; all ranks must give equal options",
                static_cast<Rank>(odd->rank)};
  }
}

void check_secrets(const std::vector<PeerInfo>& infos) {
  if (!infos.front().secret.empty()) return;  // rank 0's own, for all
  const auto odd = odd_one(infos.size(), [&](std::size_t rank) { return infos[rank].secret_mark; });
  if (!odd) return;
  throw Error{ErrorCode::mismatch,
              name_of(infos, odd->rank) + " and " + name_of(infos, odd->usual) +
                  " do not share a secret: wrong secret",
              static_cast<Rank>(odd->rank)};
}

std::string mark_of(const Secret& secret) {
  constexpr std::string_view kPurpose = "tutti card";
  const Digest code = message_code(secret.bytes(), {std::as_bytes(std::span{kPurpose})});
  return {reinterpret_cast<const char*>(code.data()), code.size()};
}

int shared_cores(const std::vector<PeerInfo>& infos, Rank self) {
  const PeerInfo& own = infos[static_cast<std::size_t>(self)];
  std::vector<Cores> machine;
  for (const PeerInfo& info : infos)
    if (info.host.boot == own.host.boot) machine.push_back(info.cores);
  return tutti::shared_cores(machine, own.cores);
}

int fewest_shared_cores(const std::vector<PeerInfo>& infos) {
  std::set<std::string> machines;
  int fewest = 0;
  for (std::size_t rank = 0; rank < infos.size(); ++rank) {
    if (!machines.insert(infos[rank].host.boot).second) continue;
    const int cores = shared_cores(infos, static_cast<Rank>(rank));
    if (cores > 0 && (fewest == 0 || cores < fewest)) fewest = cores;
  }
  return fewest;
}

Rank first_far_from_rank_0(const std::vector<PeerInfo>& infos) {
  const auto far = std::ranges::find_if(
      infos, [&](const PeerInfo& info) { return !share_loopback(info.host, infos.front().host); });
  return far == infos.end() ? -1 : static_cast<Rank>(far - infos.begin());
}

std::string pack(const PeerInfo& info) {
  std::string bytes;
  put(bytes, kMagic);
  put(bytes, info.versions);
  put_text(bytes, info.host.name);
  put_text(bytes, info.host.boot);
  put_text(bytes, info.host.network);
  put(bytes, info.host.user);
  put(bytes, info.has_memory);
  put(bytes, info.wants_tls);
  put(bytes, info.cores);
  put(bytes, info.locality.package);
  put(bytes, info.locality.cache);
  put(bytes, static_cast<std::uint32_t>(info.agreed.size()));
  for (const auto& [name, value] : info.agreed) {
    put_text(bytes, name);
    put_text(bytes, value);
  }
  put(bytes, info.world);
  put_text(bytes, info.secret);
  put_text(bytes, info.address);
  put_text(bytes, info.secret_mark);
  return bytes;
}

PeerInfo unpack(std::string_view bytes, Rank rank, const Versions& own) {
  if (take<std::uint64_t>(bytes) != kMagic)
    throw Error{ErrorCode::mismatch,
                "rank " + std::to_string(rank) + " does not speak tutti's protocol", rank};
  PeerInfo info;
  info.versions = take<Versions>(bytes);
  check_versions(own, info.versions, "rank " + std::to_string(rank), rank);
  info.host.name = take_text(bytes);
  info.host.boot = take_text(bytes);
  info.host.network = take_text(bytes);
  info.host.user = take<std::uint32_t>(bytes);
  info.has_memory = take<std::uint8_t>(bytes) != 0;
  info.wants_tls = take<std::uint8_t>(bytes) != 0;
  info.cores = take<Cores>(bytes);
  info.locality.package = take<std::int32_t>(bytes);
  info.locality.cache = take<std::int32_t>(bytes);
  for (auto left = take<std::uint32_t>(bytes); left > 0; --left) {
    const std::string_view name = take_text(bytes);
    info.agreed.emplace_back(name, take_text(bytes));
  }
  info.world = take<std::uint64_t>(bytes);
  info.secret = take_text(bytes);
  info.address = take_text(bytes);
  info.secret_mark = take_text(bytes);
  return info;
}

}  // namespace tutti::runtime
