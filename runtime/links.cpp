#include "links.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "address_space.hpp"
#include "topology/machine.hpp"

namespace tutti::runtime {
namespace {

/// The segments of at least so many ranks must find room beside each other in the addresses of a
/// process, since later worlds may have more ranks than the first.
constexpr int kLeastRanks = 64;

std::uint64_t random_number() {
  const Digest drawn = random_digest();
  std::uint64_t number = 0;
  std::memcpy(&number, drawn.data(), sizeof number);
  return std::max<std::uint64_t>(number, 1);
}

/// Where the processors are that this process is bound to. To look takes milliseconds, which a
/// process that may run on all of them is spared: it is nowhere in particular.
Locality own_locality(const Cores& cores) {
  long usable = 0;
  for (const std::uint64_t word : cores.usable) usable += std::popcount(word);
  return usable < ::sysconf(_SC_NPROCESSORS_ONLN) ? locality_of(cores.usable) : Locality{};
}

// What worlds of this process share is the process's, so this is the one thing in the library that
// is. It holds nothing alive.
struct OfThisProcess {
  std::mutex mutex{};
  std::vector<std::weak_ptr<Links>> all{};
};
OfThisProcess& shared() {
  static OfThisProcess found;
  return found;
}

}  // namespace

std::shared_ptr<Links> Links::of_process(const LinkSettings& settings, int ranks) {
  OfThisProcess& here = shared();
  const std::lock_guard lock{here.mutex};
  std::erase_if(here.all, [](const std::weak_ptr<Links>& links) { return links.expired(); });
  for (const std::weak_ptr<Links>& links : here.all)
    if (std::shared_ptr<Links> found = links.lock();
        found && found->is_usable() && found->settings_ == settings)
      return found;
  auto made = std::make_shared<Links>(settings, ranks);
  here.all.push_back(made);
  return made;
}

Links::Links(const LinkSettings& settings, int ranks)
    : settings_{settings}, process_{random_number()}, locality_{own_locality(cores_)} {
  peers_.push_back({.info = {.host = settings.host, .cores = cores_, .locality = locality_},
                    .process = process_});
  if (!settings_.shares_memory) return;
  segment_ = shm::make_segment(
      mappable_bytes(settings_.options.segment_bytes, std::max(ranks, kLeastRanks)));
  domain_ = std::make_shared<shm::Domain>(0, segment_, std::span<const shm::Neighbour>{});
  visible_ = shm::make_visible_memory(segment_);
}

/// Of several links to a process both ends take the one whose Peer::link is the lowest.
/// @return the number of the peer at its other end, or -1 where there is no link.
Rank Links::find_locked(std::uint64_t process) const {
  Rank best = -1;
  const auto [begin, end] = numbers_.equal_range(process);
  for (auto found = begin; found != end; ++found) {
    const Rank number = found->second;
    const auto link_of = [this](Rank of) { return peers_[static_cast<std::size_t>(of)].link; };
    if (peers_[static_cast<std::size_t>(number)].is_linked && !control_->reaches(number)) continue;
    if (best < 0 || link_of(number) < link_of(best)) best = number;
  }
  return best;
}

Links::Known Links::find(std::span<const std::uint64_t> processes, Rank self) const {
  const std::lock_guard lock{mutex_};
  if (!is_met_) return {};
  Known known;
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    const bool is_own = rank == static_cast<std::size_t>(self);
    const Rank number = is_own ? 0 : find_locked(processes[rank]);
    if (number < 0) return {};
    known.numbers.push_back(number);
    const std::uint64_t link = peers_[static_cast<std::size_t>(number)].link;
    if (is_own) continue;
    known.balance += rank > static_cast<std::size_t>(self) ? link : ~link + 1;
  }
  return known;
}

void Links::add_local(Rank number, const Link& link) {
  const auto [begin, end] = numbers_.equal_range(peers_[static_cast<std::size_t>(number)].process);
  for (auto same = begin; same != end; ++same)
    if (domain_->reaches(same->second)) return domain_->add_again(number, same->second);
  domain_->add({number, link.memory.get(), peer_process(link.control.get()).value_or(-1)});
}

/// Numbers the other ranks' processes. Nobody finds them by that yet.
/// @return the numbers by rank.
std::vector<Rank> Links::number_locked(const Mesh& mesh, std::span<const std::uint64_t> processes,
                                       Rank self) {
  std::vector<Rank> numbers(processes.size());
  for (std::size_t rank = 0; rank < numbers.size(); ++rank) {
    if (rank == static_cast<std::size_t>(self)) continue;
    numbers[rank] = static_cast<Rank>(peers_.size());
    peers_.push_back({.info = mesh.infos[rank],
                      .process = processes[rank],
                      .link = mesh.world,
                      .is_linked = false,
                      .is_local = false});
  }
  for (const Link& link : mesh.links) {
    Peer& peer = peers_[static_cast<std::size_t>(numbers[static_cast<std::size_t>(link.peer)])];
    peer.is_linked = true;
    peer.is_local = link.local;
    peer.is_encrypted = link.control_cipher != nullptr;
  }
  return numbers;
}

/// Takes the ways over which data goes.
void Links::add_ways(Mesh& mesh, const std::vector<Rank>& numbers, Rank self) {
  const auto number_of = [&](const Link& link) {
    return numbers[static_cast<std::size_t>(link.peer)];
  };
  const auto is_shared = [&](const Link& link) { return link.local && domain_; };
  for (const Link& link : mesh.links)
    if (is_shared(link)) add_local(number_of(link), link);
  std::vector<tcp::Peer> remote;
  remote.reserve(mesh.links.size());  // from here on sockets have an owner at any time
  for (Link& link : mesh.links)
    if (!is_shared(link) && settings_.carries_data)
      remote.push_back(
          {number_of(link), link.data.release(), std::move(link.data_cipher), self, link.peer});
  if (fabric_) return fabric_->add(remote);
  if ((remote.empty() && segment_) || !settings_.carries_data) return;
  tcp::Options tcp;
  tcp.payload_checksum = settings_.options.payload_checksum;
  tcp.linger = settings_.options.heartbeat.lost;
  fabric_ = std::make_shared<tcp::Fabric>(0, remote, tcp);
}

/// The numbers of links of which one could not be made are never used again, and nobody finds
/// them. Control comes last: what it does not watch is closed, and the other end knows that.
std::vector<Rank> Links::add(Mesh& mesh, std::span<const std::uint64_t> processes, Rank self) {
  const std::lock_guard lock{mutex_};
  std::vector<Rank> numbers = number_locked(mesh, processes, self);
  add_ways(mesh, numbers, self);
  std::vector<Watched> watched;
  for (Link& link : mesh.links) {
    const Rank number = numbers[static_cast<std::size_t>(link.peer)];
    watched.push_back({number, peers_[static_cast<std::size_t>(number)].info.host.name, link.local,
                       std::move(link.control), std::move(link.control_cipher)});
  }
  if (control_) control_->add(std::move(watched));
  else if (!watched.empty())
    control_ = std::make_unique<Control>(0, std::move(watched), settings_.options.heartbeat);
  for (std::size_t rank = 0; rank < numbers.size(); ++rank)
    if (rank != static_cast<std::size_t>(self)) numbers_.emplace(processes[rank], numbers[rank]);
  is_met_ = true;
  return numbers;
}

const Links::Peer& Links::peer(Rank number) const {
  const std::lock_guard lock{mutex_};
  return peers_[static_cast<std::size_t>(number)];  // stays where it is
}

Control* Links::control() const {
  const std::lock_guard lock{mutex_};
  return control_.get();
}

std::shared_ptr<tcp::Fabric> Links::fabric() const {
  const std::lock_guard lock{mutex_};
  return fabric_;
}

NetworkSpeed Links::speed(const std::pair<std::string, std::string>& hosts) const {
  const std::lock_guard lock{mutex_};
  const auto found = speeds_.find(hosts);
  return found == speeds_.end() ? NetworkSpeed::unknown : found->second;
}

void Links::note_speed(const std::pair<std::string, std::string>& hosts, NetworkSpeed speed) {
  const std::lock_guard lock{mutex_};
  speeds_[hosts] = speed;
}

}  // namespace tutti::runtime
