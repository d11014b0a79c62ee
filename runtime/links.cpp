#include "links.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "address_space.hpp"

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
    : settings_{settings}, process_{random_number()} {
  peers_.push_back({.card = {.host = settings.host, .cores = cores_}, .process = process_});
  if (!settings_.shares_memory) return;
  segment_ =
      shm::make_segment(mappable_bytes(settings_.segment_bytes, std::max(ranks, kLeastRanks)));
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

void Links::add_local(Rank number, const Link& link, std::uint64_t process) {
  const auto [begin, end] = numbers_.equal_range(process);
  for (auto same = begin; same != end; ++same)
    if (same->second != number && domain_->reaches(same->second))
      return domain_->add_again(number, same->second);
  domain_->add({number, link.memory.get(), peer_process(link.control.get()).value_or(-1)});
}

std::vector<Rank> Links::add(Mesh& mesh, std::span<const std::uint64_t> processes, Rank self) {
  const std::lock_guard lock{mutex_};
  is_met_ = true;
  std::vector<Rank> numbers(processes.size());
  std::vector<Watched> watched;
  std::vector<tcp::Peer> remote;
  for (std::size_t rank = 0; rank < numbers.size(); ++rank) {
    if (rank == static_cast<std::size_t>(self)) continue;
    numbers[rank] = static_cast<Rank>(peers_.size());
    numbers_.emplace(processes[rank], numbers[rank]);
    peers_.push_back({.card = mesh.cards[rank],
                      .process = processes[rank],
                      .link = mesh.world,
                      .is_linked = false,
                      .is_local = false});
  }
  for (Link& link : mesh.links) {
    const Rank number = numbers[static_cast<std::size_t>(link.peer)];
    Peer& peer = peers_[static_cast<std::size_t>(number)];
    peer.is_linked = true;
    peer.is_local = link.local;
    peer.is_encrypted = link.control_cipher != nullptr;
    if (link.local && domain_) add_local(number, link, peer.process);
    else if (settings_.carries_data)
      remote.push_back({number, link.data.release(), std::move(link.data_cipher), self, link.peer});
    watched.push_back({number, peer.card.host.name, link.local, std::move(link.control),
                       std::move(link.control_cipher)});
  }
  if (control_) control_->add(std::move(watched));
  else if (!watched.empty())
    control_ = std::make_unique<Control>(0, std::move(watched), settings_.vigilance);
  if (fabric_) fabric_->add(remote);
  if (fabric_ || (remote.empty() && segment_) || !settings_.carries_data) return numbers;
  tcp::Options tcp;
  tcp.payload_checksum = settings_.payload_checksum;
  tcp.linger = settings_.vigilance.lost;
  fabric_ = std::make_shared<tcp::Fabric>(0, remote, tcp);
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
