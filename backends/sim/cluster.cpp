#include <tutti/testing.hpp>

#include "network.hpp"
#include "sim_transport.hpp"

namespace tutti::v0::sim {

Cluster::Cluster(const ClusterOptions& options) : network_{std::make_shared<Network>(options)} {}

std::unique_ptr<Transport> Cluster::transport(Rank rank) {
  network_->mark_taken(rank);
  return std::make_unique<SimTransport>(network_, rank);
}

bool Cluster::advance() {
  return network_->advance();
}
void Cluster::advance_by(Duration span) {
  network_->advance_by(span);
}
Duration Cluster::now() const noexcept {
  return network_->now();
}
std::uint64_t Cluster::transfers() const noexcept {
  return network_->transfers();
}
std::uint64_t Cluster::activity() const noexcept {
  return network_->activity();
}
bool Cluster::is_dead(Rank rank) const noexcept {
  return network_->is_dead(rank);
}

}  // namespace tutti::v0::sim
