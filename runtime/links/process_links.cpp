#include "process_links.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "base/lock_by.hpp"
#include "runtime/sockets/address_space.hpp"
#include "topology/machine.hpp"

namespace tutti::runtime {
namespace {

/// The address space must have room for the segments of at least this many ranks, since later
/// worlds may have more ranks than the first.
constexpr int kLeastRanks = 64;

std::uint64_t random_number() {
  const Digest bytes = random_digest();
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return std::max<std::uint64_t>(number, 1);
}

/// The locality of the cores that this process is bound to. Looking it up takes milliseconds, so it
/// is skipped for a process that may run on all cores.
Locality own_locality(const Cores& cores) {
  long usable = 0;
  for (const std::uint64_t word : cores.usable) usable += std::popcount(word);
  return usable < ::sysconf(_SC_NPROCESSORS_ONLN) ? locality_of(cores.usable) : Locality{};
}

Deadline leave_deadline() {
  constexpr std::chrono::milliseconds kPatience{500};
  return std::chrono::steady_clock::now() + kPatience;
}

// The worlds of a process share its connections, so this is the only global state of the library.
// It owns nothing.
struct LinksRegistry {
  std::mutex mutex{};
  std::vector<std::weak_ptr<ProcessLinks>> all{};
  std::mutex early_mutex{};
  std::weak_ptr<shm::Segment> early{};  // a segment that no links have
};
LinksRegistry& links_registry() {
  static LinksRegistry registry;
  return registry;
}

std::shared_ptr<shm::Segment> make_segment(std::size_t bytes, int ranks) {
  return shm::make_segment(mappable_bytes(bytes, std::max(ranks, kLeastRanks)));
}

std::shared_ptr<shm::Segment> take_early_segment() {
  LinksRegistry& registry = links_registry();
  const std::lock_guard lock{registry.early_mutex};
  return std::exchange(registry.early, {}).lock();
}

}  // namespace

std::shared_ptr<shm::Segment> ProcessLinks::early_segment(int ranks) {
  std::shared_ptr<shm::Segment> made = make_segment(LinkOptions{}.segment_bytes, ranks);
  LinksRegistry& registry = links_registry();
  const std::lock_guard lock{registry.early_mutex};
  registry.early = made;
  return made;
}

std::shared_ptr<ProcessLinks> ProcessLinks::shared(const LinkSettings& settings, int ranks) {
  LinksRegistry& registry = links_registry();
  const std::lock_guard lock{registry.mutex};
  std::erase_if(registry.all,
                [](const std::weak_ptr<ProcessLinks>& links) { return links.expired(); });
  for (const std::weak_ptr<ProcessLinks>& links : registry.all)
    if (std::shared_ptr<ProcessLinks> found = links.lock();
        found && found->is_shared_ && found->is_usable() && found->settings_ == settings)
      return found;
  auto made = std::make_shared<ProcessLinks>(settings, ranks);
  made->is_shared_ = true;
  registry.all.push_back(made);
  return made;
}

std::shared_ptr<ProcessLinks> ProcessLinks::unshared(const LinkSettings& settings, int ranks) {
  auto made = std::make_shared<ProcessLinks>(settings, ranks);
  LinksRegistry& registry = links_registry();
  const std::lock_guard lock{registry.mutex};
  registry.all.push_back(made);
  return made;
}

void ProcessLinks::leave_all() noexcept try {
  std::vector<std::shared_ptr<ProcessLinks>> all;
  {
    LinksRegistry& registry = links_registry();
    const std::unique_lock lock = lock_by(registry.mutex, leave_deadline());
    if (!lock) return;
    for (const std::weak_ptr<ProcessLinks>& links : registry.all) all.push_back(links.lock());
  }
  for (const std::shared_ptr<ProcessLinks>& links : all)
    if (links != nullptr && links->is_usable()) links->leave();
} catch (const std::bad_alloc&) {
  // The peers find that this process has ended.
}

/// If a thread works with the links for long, perhaps this one in a function of the program, the
/// process ends as a rank in a call does: its peers find that it has ended.
void ProcessLinks::leave() noexcept {
  const Deadline deadline = leave_deadline();
  const std::unique_lock lock = lock_by(mutex_, deadline);
  if (!lock || (domain_ && !domain_->leave(deadline)) || (fabric_ && !fabric_->leave(deadline)))
    return;
  if (control_) control_->leave();
}

ProcessLinks::ProcessLinks(const LinkSettings& settings, int ranks)
    : settings_{settings}, process_{random_number()}, locality_{own_locality(cores_)} {
  peers_.push_back({.info = {.host = settings.host, .cores = cores_, .locality = locality_},
                    .process = process_});
  if (!settings_.shares_memory) return;
  segment_ = take_early_segment();
  if (segment_ == nullptr) segment_ = make_segment(settings_.options.segment_bytes, ranks);
  domain_ = std::make_shared<shm::Domain>(0, segment_, std::span<const shm::Neighbour>{});
  visible_ = shm::make_visible_memory(segment_);
}

/// If there are several links to a process, both ends use the one with the lowest LinkedPeer::link.
/// @return the number of the peer at its other end, or -1 without a link.
Rank ProcessLinks::find_locked(std::uint64_t process) const {
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

ProcessLinks::WorldLinks ProcessLinks::find(std::span<const std::uint64_t> processes,
                                            Rank self) const {
  const std::lock_guard lock{mutex_};
  if (!has_connected_) return {};
  WorldLinks known;
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

void ProcessLinks::add_local(Rank number, const MeshLink& link) {
  const auto [begin, end] = numbers_.equal_range(peers_[static_cast<std::size_t>(number)].process);
  for (auto same = begin; same != end; ++same)
    if (domain_->reaches(same->second)) return domain_->add_again(number, same->second);
  domain_->add({number, link.memory.get()});
}

/// Assigns numbers to the other ranks' processes; find() does not know them yet. @return the
/// numbers by rank.
std::vector<Rank> ProcessLinks::number_locked(const Mesh& mesh,
                                              std::span<const std::uint64_t> processes, Rank self) {
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
  for (const MeshLink& link : mesh.links) {
    LinkedPeer& peer =
        peers_[static_cast<std::size_t>(numbers[static_cast<std::size_t>(link.peer)])];
    peer.is_linked = true;
    peer.is_local = link.local;
    peer.is_encrypted = link.control_cipher != nullptr;
  }
  return numbers;
}

/// Hands the data connections over to the transports.
void ProcessLinks::add_transports(Mesh& mesh, const std::vector<Rank>& numbers, Rank self) {
  const auto number_of = [&](const MeshLink& link) {
    return numbers[static_cast<std::size_t>(link.peer)];
  };
  const auto is_shared = [&](const MeshLink& link) { return link.local && domain_; };
  for (const MeshLink& link : mesh.links)
    if (is_shared(link)) add_local(number_of(link), link);
  std::vector<tcp::Peer> remote;
  remote.reserve(mesh.links.size());  // from here on each socket has an owner at any time
  for (MeshLink& link : mesh.links)
    if (!is_shared(link) && settings_.carries_data)
      remote.push_back(
          {number_of(link), link.data.release(), std::move(link.data_cipher), self, link.peer});
  if (fabric_) return fabric_->add(remote);
  if ((remote.empty() && segment_) || !settings_.carries_data) return;
  tcp::Options tcp;
  tcp.payload_checksum = settings_.options.payload_checksum;
  tcp.linger = settings_.options.heartbeat.timeout;
  fabric_ = std::make_shared<tcp::Fabric>(0, remote, tcp);
}

/// If a link fails, the numbers are never used again, and find() does not return them. Control is
/// last: closing a socket that it does not watch shows the failure to the other end.
std::vector<Rank> ProcessLinks::add(Mesh& mesh, std::span<const std::uint64_t> processes,
                                    Rank self) {
  const std::lock_guard lock{mutex_};
  std::vector<Rank> numbers = number_locked(mesh, processes, self);
  add_transports(mesh, numbers, self);
  if (address_.empty() || address_.starts_with("127."))
    address_ = mesh.infos[static_cast<std::size_t>(self)].address;
  std::vector<WatchedProcess> watched;
  for (MeshLink& link : mesh.links) {
    const Rank number = numbers[static_cast<std::size_t>(link.peer)];
    watched.push_back({number, peers_[static_cast<std::size_t>(number)].info.host.name, link.local,
                       std::move(link.control), std::move(link.control_cipher)});
  }
  if (control_) control_->add(std::move(watched));
  else if (!watched.empty())
    control_ = std::make_unique<Control>(0, std::move(watched), settings_.options.heartbeat);
  for (std::size_t rank = 0; rank < numbers.size(); ++rank)
    if (rank != static_cast<std::size_t>(self)) numbers_.emplace(processes[rank], numbers[rank]);
  has_connected_ = true;
  return numbers;
}

const ProcessLinks::LinkedPeer& ProcessLinks::peer(Rank number) const {
  const std::lock_guard lock{mutex_};
  return peers_[static_cast<std::size_t>(number)];  // a deque does not move its elements
}

std::string ProcessLinks::address() const {
  const std::lock_guard lock{mutex_};
  return address_;
}

Control* ProcessLinks::control() const {
  const std::lock_guard lock{mutex_};
  return control_.get();
}

std::shared_ptr<tcp::Fabric> ProcessLinks::fabric() const {
  const std::lock_guard lock{mutex_};
  return fabric_;
}

NetworkSpeed ProcessLinks::speed(const std::pair<std::string, std::string>& hosts) const {
  const std::lock_guard lock{mutex_};
  const auto found = speeds_.find(hosts);
  return found == speeds_.end() ? NetworkSpeed::unknown : found->second;
}

void ProcessLinks::set_speed(const std::pair<std::string, std::string>& hosts, NetworkSpeed speed) {
  const std::lock_guard lock{mutex_};
  speeds_[hosts] = speed;
}

}  // namespace tutti::runtime
