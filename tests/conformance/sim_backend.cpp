// The simulated cluster has no links that communicators could share: each gets a cluster.
#include <algorithm>
#include <map>

#include <tutti/testing.hpp>

#include "backends.hpp"

namespace tutti::conformance {
namespace {

// Longer than the virtual time of any test.
constexpr std::chrono::hours kDeath{1};

class SimLinks final : public Links {
 public:
  explicit SimLinks(const LinksOptions& options) : options_{options} {}

  std::unique_ptr<Transport> transport(Rank world, const Membership& membership) override {
    const auto& members = membership.members;
    auto found = clusters_.find(membership.communicator);
    if (found == clusters_.end())
      found = clusters_.emplace(membership.communicator, options_of(members)).first;
    const auto place = std::find(members.begin(), members.end(), world);
    return found->second.transport(static_cast<Rank>(place - members.begin()));
  }
  void idle() override {
    for (auto& [id, cluster] : clusters_) cluster.advance();
  }
  void kill(Rank /*world*/) override {
    for (auto& [id, cluster] : clusters_) cluster.advance_by(kDeath);
  }

 private:
  [[nodiscard]] sim::ClusterOptions options_of(const std::vector<Rank>& members) const {
    sim::ClusterOptions options{.size = static_cast<int>(members.size()), .detect_death = true};
    const auto place = std::find(members.begin(), members.end(), options_.mortal);
    if (place != members.end())
      options.faults.push_back({.rank = static_cast<Rank>(place - members.begin()),
                                .kind = sim::Fault::Kind::death,
                                .at = kDeath});
    return options;
  }

  LinksOptions options_;
  std::map<std::uint64_t, sim::Cluster> clusters_{};
};

}  // namespace

Backend sim_backend() {
  return {
      .name = "sim",
      .bounded = false,
      .threads = false,
      .heeds_alarm = false,
      .connect = [](const LinksOptions& options) { return std::make_unique<SimLinks>(options); }};
}

}  // namespace tutti::conformance
