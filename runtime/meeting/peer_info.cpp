#include "peer_info.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <map>
#include <set>

#include "runtime/security/cryptography.hpp"
#include "runtime/sockets/descriptors.hpp"
#include "runtime/sockets/fields.hpp"

namespace tutti::runtime {
namespace {

/// The first bytes of every info, in every version; the two versions follow.
constexpr std::uint64_t kPeerInfoMagic = 0x64'72'61'63'74'75'74'0A;

/// A rank whose value differs from that of most ranks, and a rank that has the usual value.
struct Outlier {
  std::size_t rank;
  std::size_t usual;
};

/// @param value_of a rank. Among values that are equally frequent, that of the lowest ranks is
/// usual.
template <class ValueOf>
std::optional<Outlier> find_outlier(std::size_t ranks, const ValueOf& value_of) {
  std::map<std::string, std::size_t> times;
  for (std::size_t rank = 0; rank < ranks; ++rank) ++times[value_of(rank)];
  if (times.size() < 2) return {};
  std::size_t usual = 0;
  for (std::size_t rank = 1; rank < ranks; ++rank)
    if (times[value_of(rank)] > times[value_of(usual)]) usual = rank;
  std::size_t outlier = 0;
  while (value_of(outlier) == value_of(usual)) ++outlier;
  return Outlier{outlier, usual};
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
      throw_system_error("cannot identify this host: /proc is not readable", errno);
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
    const auto outlier = find_outlier(infos.size(), value_of);
    if (!outlier) continue;
    throw Error{ErrorCode::mismatch,
                "rank " + std::to_string(outlier->rank) + " was started with " +
                    value_of(outlier->rank) + ", rank " + std::to_string(outlier->usual) +
                    " with " + value_of(outlier->usual) + "; all ranks must give equal options",
                static_cast<Rank>(outlier->rank)};
  }
}

void check_secrets(const std::vector<PeerInfo>& infos) {
  if (!infos.front().secret.empty()) return;  // rank 0's own, for all
  const auto outlier =
      find_outlier(infos.size(), [&](std::size_t rank) { return infos[rank].secret_digest; });
  if (!outlier) return;
  const bool is_missing =
      infos[outlier->rank].secret_digest.empty() || infos[outlier->usual].secret_digest.empty();
  throw Error{
      ErrorCode::mismatch,
      name_of(infos, outlier->rank) + " and " + name_of(infos, outlier->usual) +
          " do not share a secret: wrong secret" +
          (is_missing ? ", only one of them has one; set TUTTI_SECRET_FILE on all ranks" : ""),
      static_cast<Rank>(outlier->rank)};
}

std::string secret_digest(const Secret& secret) {
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

Rank first_remote_rank(const std::vector<PeerInfo>& infos) {
  const auto remote = std::ranges::find_if(
      infos, [&](const PeerInfo& info) { return !share_loopback(info.host, infos.front().host); });
  return remote == infos.end() ? -1 : static_cast<Rank>(remote - infos.begin());
}

std::string pack(const PeerInfo& info) {
  std::string bytes;
  write_field(bytes, kPeerInfoMagic);
  write_field(bytes, info.versions);
  write_text(bytes, info.host.name);
  write_text(bytes, info.host.boot);
  write_text(bytes, info.host.network);
  write_field(bytes, info.host.user);
  write_field(bytes, info.has_memory);
  write_field(bytes, info.wants_tls);
  write_field(bytes, info.cores);
  write_field(bytes, info.locality.package);
  write_field(bytes, info.locality.cache);
  write_field(bytes, static_cast<std::uint32_t>(info.agreed.size()));
  for (const auto& [name, value] : info.agreed) {
    write_text(bytes, name);
    write_text(bytes, value);
  }
  write_field(bytes, info.world);
  write_text(bytes, info.secret);
  write_text(bytes, info.address);
  write_text(bytes, info.secret_digest);
  return bytes;
}

PeerInfo unpack(std::string_view bytes, Rank rank, const Versions& own) {
  if (read_field<std::uint64_t>(bytes) != kPeerInfoMagic)
    throw Error{ErrorCode::mismatch,
                "rank " + std::to_string(rank) + " does not use tutti's protocol", rank};
  PeerInfo info;
  info.versions = read_field<Versions>(bytes);
  check_versions(own, info.versions, "rank " + std::to_string(rank), rank);
  info.host.name = read_text(bytes);
  info.host.boot = read_text(bytes);
  info.host.network = read_text(bytes);
  info.host.user = read_field<std::uint32_t>(bytes);
  info.has_memory = read_field<std::uint8_t>(bytes) != 0;
  info.wants_tls = read_field<std::uint8_t>(bytes) != 0;
  info.cores = read_field<Cores>(bytes);
  info.locality.package = read_field<std::int32_t>(bytes);
  info.locality.cache = read_field<std::int32_t>(bytes);
  for (auto left = read_field<std::uint32_t>(bytes); left > 0; --left) {
    const std::string_view name = read_text(bytes);
    info.agreed.emplace_back(name, read_text(bytes));
  }
  info.world = read_field<std::uint64_t>(bytes);
  info.secret = read_text(bytes);
  info.address = read_text(bytes);
  info.secret_digest = read_text(bytes);
  return info;
}

}  // namespace tutti::runtime
