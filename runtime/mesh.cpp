#include "mesh.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "config.hpp"
#include "descriptors.hpp"
#include "fields.hpp"
#include "folder.hpp"
#include "memory_domain.hpp"
#include "mesh_links.hpp"
#include "startup_step.hpp"
#include "tls.hpp"

namespace tutti::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// What is kept of the time for telling everyone how it went.
constexpr std::chrono::milliseconds kLongestReport{1000};

/// The own addresses by which packets would leave to where ranks met.
std::vector<Endpoint> sources_towards(const HostAndPort& master, Deadline deadline) {
  constexpr std::chrono::seconds kLookUp{5};
  std::vector<Endpoint> sources;
  for (const Endpoint& address : resolve(master, std::min(deadline, Clock::now() + kLookUp))) try {
      sources.push_back(source_towards(address));
    } catch (const Error&) {  // no way leads there; to another address of the name one may
    }
  return sources;
}

/// The network address by which other hosts may know rank 0, or nothing.
std::string address_of_rank_0(const MeshOptions& options, Deadline deadline) {
  if (!options.interface.empty()) return text_of(chosen_address(options.interface));
  try {
    if (options.master)
      for (const Endpoint& source : sources_towards(*options.master, deadline))
        if (!is_loopback(source)) return text_of(source);
    return text_of(outward_address());
  } catch (const Error&) {  // no matter if all ranks share a host; else listening says so
    return {};
  }
}

PeerInfo own_info(const Channel& channel, const MeshOptions& options, Deadline deadline) {
  PeerInfo info{.versions = options.versions,
                .host = options.host,
                .has_memory = options.memory >= 0,
                .wants_tls = options.tls,
                .cores = options.cores.value_or(usable_cores()),
                .locality = options.locality,
                .agreed = options.agreed,
                .secret_mark = options.secret ? mark_of(*options.secret) : std::string{}};
  if (channel.rank() != 0) return info;
  Digest drawn = random_digest();
  std::memcpy(&info.world, drawn.data(), sizeof info.world);
  info.address = address_of_rank_0(options, deadline);
  if (options.secret || !channel.is_private() || !has_cryptography()) return info;
  drawn = random_digest();
  info.secret.assign(reinterpret_cast<const char*>(drawn.data()), drawn.size());
  forget(drawn);
  return info;
}

std::optional<Secret> shared_secret(const MeshOptions& options, const PeerInfo& first) {
  if (first.secret.empty()) return options.secret;
  Digest bytes;
  if (first.secret.size() != bytes.size())
    throw Error{ErrorCode::transport, "rank 0 sent a secret of the wrong length", 0};
  std::memcpy(bytes.data(), first.secret.data(), bytes.size());
  return Secret{bytes};
}

/// All ranks come to the same verdict, since all ranks have the peer info of all.
void check_tls(const std::vector<PeerInfo>& infos, const std::optional<Secret>& secret) {
  const bool wanted = infos.front().wants_tls;
  for (std::size_t rank = 0; rank < infos.size(); ++rank)
    if (infos[rank].wants_tls != wanted)
      throw Error{
          ErrorCode::mismatch,
          "rank " + std::to_string(rank) + " (host " + infos[rank].host.name + ") " +
              (wanted ? "does not use TLS, but rank 0 does" : "uses TLS, but rank 0 does not") +
              "; all ranks must, or none",
          static_cast<Rank>(rank)};
  if (!wanted) return;
  if (!has_tls())
    throw Error{ErrorCode::invalid_argument, "tutti was built without OpenSSL, so there is no TLS"};
  if (!secret)
    throw Error{ErrorCode::invalid_argument, "TLS needs the job's secret, and there is none"};
}

/// Encrypts all links that are no memory.
void encrypt_links(const MeshPlan& plan, std::vector<Link>& links, Deadline deadline) {
  std::vector<TlsEnd> ends;
  const auto add = [&](const Link& link, const Descriptor& socket, const char* purpose) {
    if (!socket) return;
    const Rank low = std::min(plan.self.rank, link.peer);
    const Rank high = std::max(plan.self.rank, link.peer);
    const PeerInfo& info = plan.infos[static_cast<std::size_t>(link.peer)];
    ends.push_back(
        {.socket = socket.get(),
         .connected = plan.self.rank == high,
         .identity = std::to_string(plan.self.job) + " " + std::to_string(high) + " " +
                     std::to_string(low) + " " + purpose,
         .peer = link.peer,
         .name = "rank " + std::to_string(link.peer) + " (host " + info.host.name + ")"});
  };
  for (const Link& link : links) {
    if (link.local) continue;
    add(link, link.control, "control");
    add(link, link.data, "data");
  }
  if (ends.empty()) return;
  auto ciphers = encrypt(ends, *plan.self.secret, deadline);
  auto next = ciphers.begin();
  for (Link& link : links) {
    if (link.local) continue;
    link.control_cipher = *next++;
    if (link.data) link.data_cipher = *next++;
  }
}

/// The one address this rank listens on.
Endpoint listening_address(const MeshOptions& options, const std::vector<PeerInfo>& infos,
                           Deadline deadline) {
  if (options.only_local) return loopback();
  if (!options.interface.empty()) return chosen_address(options.interface);
  const bool one_host = std::ranges::all_of(
      infos, [&](const PeerInfo& info) { return share_loopback(info.host, infos.front().host); });
  if (one_host) return loopback();
  const std::string& hub = infos.front().address;
  if (hub.empty())
    throw Error{ErrorCode::transport,
                "rank 0 (host " + infos.front().host.name +
                    ") has no network address, but there are ranks on other hosts",
                0};
  try {
    return source_towards(resolve(parse_host_and_port(hub), deadline).front());
  } catch (const Error& error) {
    throw Error{error.code(), error.what() + std::string{"; "} + std::string{kHowToBeReached}};
  }
}

}  // namespace

Mesh connect_mesh(Channel& channel, const MeshOptions& options, Deadline deadline) {
  if (channel.size() > kLargestWorld)
    throw Error{ErrorCode::invalid_argument, "the channel has " + std::to_string(channel.size()) +
                                                 " ranks, but a world has at most " +
                                                 std::to_string(kLargestWorld)};
  const auto start = Clock::now();
  MeshPlan plan{.self = {.size = channel.size(), .rank = channel.rank()},
                .memory = options.memory,
                .carries_data = options.carries_data,
                .only_local = options.only_local};
  const auto infos = all_or_none(channel, options.host, deadline, [&] {
    make_room_for(channel.size());
    require_room_for(channel.size());
    return pack(own_info(channel, options, deadline));
  });
  std::vector<Listener> listeners;
  const auto places = all_or_none(channel, options.host, deadline, [&] {
    for (std::size_t rank = 0; rank < infos.size(); ++rank)
      plan.infos.push_back(unpack(infos[rank], static_cast<Rank>(rank), options.versions));
    check_agreed(plan.infos);
    check_secrets(plan.infos);
    plan.self.job = plan.infos.front().world;
    plan.self.versions = options.versions;
    plan.self.secret = shared_secret(options, plan.infos.front());
    check_tls(plan.infos, plan.self.secret);
    const Endpoint address = listening_address(options, plan.infos, deadline);
    require_protection(address, plan.self.secret, options.insecure);
    const std::string name = "tutti-" + random_name();
    listeners.push_back({listen_on(address), false});
    listeners.push_back({listen_locally(name), true});
    std::string place;
    put_text(place, text_of(bound_endpoint(listeners.front().socket.get())));
    put_text(place, name);
    return place;
  });
  std::optional<Connecting> connecting;
  const auto reserve = std::min<Clock::duration>(kLongestReport, (deadline - start) / 4);
  std::vector<Link> links;
  const auto reports = all_or_none(channel, options.host, deadline, [&] {
    for (std::string_view place : places) {
      const std::string address{take_text(place)};
      plan.addresses.push_back(resolve(parse_host_and_port(address), deadline).front());
      plan.names.emplace_back(take_text(place));
    }
    connecting.emplace(plan, std::move(listeners), deadline - reserve);
    try {
      connecting->run();
    } catch (...) {
      connecting->leave();
      throw;
    }
    links = connecting->take();
    std::string report;
    put(report, memory_domain_of(plan.self.rank, links));
    return report;
  });
  if (options.tls)  // when everyone is connected: before, whoever speaks is taken for gone
    all_or_none(channel, options.host, deadline, [&] {
      encrypt_links(plan, links, deadline - reserve);
      return std::string{};
    });
  std::vector<MemoryDomain> said;
  for (std::string_view report : reports) said.push_back(take<MemoryDomain>(report));
  return {.world = plan.self.job,
          .infos = std::move(plan.infos),
          .links = std::move(links),
          .memory_domains = memory_domains_of(said)};
}

}  // namespace tutti::runtime
