#include "mesh.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "runtime/launch/config.hpp"
#include "runtime/meeting/folder.hpp"
#include "runtime/meeting/startup_step.hpp"
#include "runtime/security/tls.hpp"
#include "runtime/sockets/descriptors.hpp"
#include "runtime/sockets/fields.hpp"

#include "memory_domain.hpp"
#include "mesh_links.hpp"

namespace tutti::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// The part of the time that is reserved for reporting the result to all ranks.
constexpr std::chrono::milliseconds kLongestReport{1000};

/// The local addresses from which packets to the meeting place would leave.
std::vector<Endpoint> sources_towards(const HostAndPort& master, Deadline deadline) {
  constexpr std::chrono::seconds kLookUp{5};
  std::vector<Endpoint> sources;
  for (const Endpoint& address : resolve(master, std::min(deadline, Clock::now() + kLookUp))) try {
      sources.push_back(source_towards(address));
    } catch (const Error&) {  // no route; there may be one to another address of the name
    }
  return sources;
}

/// The address at which other hosts may reach rank 0, or nothing.
std::string address_of_rank_0(const MeshOptions& options, Deadline deadline) {
  if (!options.interface.empty()) return text_of(configured_address(options.interface));
  try {
    if (options.master)
      for (const Endpoint& source : sources_towards(*options.master, deadline))
        if (!is_loopback(source)) return text_of(source);
    return text_of(outward_address());
  } catch (const Error&) {  // harmless on one host; otherwise listening reports it
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
                .secret_digest = options.secret ? secret_digest(*options.secret) : std::string{}};
  if (channel.rank() != 0) return info;
  Digest bytes = random_digest();
  std::memcpy(&info.world, bytes.data(), sizeof info.world);
  info.address = address_of_rank_0(options, deadline);
  if (options.secret || !channel.is_private() || !has_cryptography()) return info;
  bytes = random_digest();
  info.secret.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  wipe(bytes);
  return info;
}

/// Whether all ranks share memory, which they pass over Unix sockets: only processes of their user
/// can connect there.
bool share_all_memory(const std::vector<PeerInfo>& infos) {
  return std::ranges::all_of(infos, [&](const PeerInfo& info) {
    return info.has_memory && share_loopback(info.host, infos.front().host);
  });
}

/// All ranks get the same result, since they have the same infos.
std::optional<Secret> shared_secret(const MeshOptions& options,
                                    const std::vector<PeerInfo>& infos) {
  const PeerInfo& first = infos.front();
  if (first.secret.empty()) return options.secret;
  if (loads_cryptography() && share_all_memory(infos)) return {};
  Digest bytes;
  if (first.secret.size() != bytes.size())
    throw Error{ErrorCode::transport, "rank 0 sent a secret of the wrong length", 0};
  std::memcpy(bytes.data(), first.secret.data(), bytes.size());
  return Secret{bytes};
}

/// All ranks get the same result, since they have the same infos.
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

/// Encrypts all links over TCP.
void encrypt_links(const MeshPlan& plan, std::vector<MeshLink>& links, Deadline deadline) {
  std::vector<TlsEnd> ends;
  const auto add = [&](const MeshLink& link, const Descriptor& socket, const char* purpose) {
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
  for (const MeshLink& link : links) {
    if (link.local) continue;
    add(link, link.control, "control");
    add(link, link.data, "data");
  }
  if (ends.empty()) return;
  auto ciphers = encrypt(ends, *plan.self.secret, deadline);
  auto next = ciphers.begin();
  for (MeshLink& link : links) {
    if (link.local) continue;
    link.control_cipher = *next++;
    if (link.data) link.data_cipher = *next++;
  }
}

/// The address on which this rank listens.
Endpoint listening_address(const MeshOptions& options, const std::vector<PeerInfo>& infos,
                           Deadline deadline) {
  if (options.only_local) return loopback();
  if (!options.interface.empty()) return configured_address(options.interface);
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
    throw Error{error.code(), error.what() + std::string{"; "} + std::string{kReachabilityHint}};
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
    raise_descriptor_limit(channel.size());
    require_descriptors(channel.size());
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
    plan.self.secret = shared_secret(options, plan.infos);
    check_tls(plan.infos, plan.self.secret);
    const Endpoint address = listening_address(options, plan.infos, deadline);
    require_protection(address, plan.self.secret, options.insecure);
    const std::string name = "tutti-" + random_name();
    listeners.push_back({listen_on(address), false});
    listeners.push_back({listen_locally(name), true});
    std::string place;
    write_text(place, text_of(bound_endpoint(listeners.front().socket.get())));
    write_text(place, name);
    return place;
  });
  std::optional<MeshConnector> connector;
  const auto reserve = std::min<Clock::duration>(kLongestReport, (deadline - start) / 4);
  std::vector<MeshLink> links;
  const auto reports = all_or_none(channel, options.host, deadline, [&] {
    for (std::string_view place : places) {
      const std::string address{read_text(place)};
      plan.addresses.push_back(resolve(parse_host_and_port(address), deadline).front());
      plan.names.emplace_back(read_text(place));
    }
    connector.emplace(plan, std::move(listeners), deadline - reserve);
    try {
      connector->run();
    } catch (...) {
      connector->abort();
      throw;
    }
    links = connector->take_links();
    std::string report;
    write_field(report, memory_domain_of(plan.self.rank, links));
    return report;
  });
  if (options.tls)  // when all are connected: earlier input would be mistaken for a lost rank
    all_or_none(channel, options.host, deadline, [&] {
      encrypt_links(plan, links, deadline - reserve);
      return std::string{};
    });
  // From here on each info has the address at which its rank is reached.
  for (std::size_t rank = 0; rank < plan.infos.size(); ++rank)
    plan.infos[rank].address = text_of(with_port(plan.addresses[rank], 0));
  std::vector<MemoryDomain> domains;
  for (std::string_view report : reports) domains.push_back(read_field<MemoryDomain>(report));
  return {.world = plan.self.job,
          .infos = std::move(plan.infos),
          .links = std::move(links),
          .memory_domains = memory_domains_of(domains)};
}

}  // namespace tutti::runtime
