// Shared memory: each process has a segment, which the others map.
#include "backends/shm/domain.hpp"

#include "backends.hpp"

namespace tutti::conformance {
namespace {

class ShmLinks final : public Links {
 public:
  ShmLinks(const LinksOptions& options, const shm::Options& transports) : options_{transports} {
    for (int i = 0; i < options.size; ++i) segments_.push_back(shm::make_segment(kSegmentBytes));
    for (Rank rank = 0; rank < options.size; ++rank) {
      std::vector<shm::Neighbour> neighbours;
      for (Rank other = 0; other < options.size; ++other)
        if (other != rank)
          neighbours.push_back({other, segments_[static_cast<std::size_t>(other)]->descriptor()});
      domains_.push_back(std::make_shared<shm::Domain>(
          rank, segments_[static_cast<std::size_t>(rank)], neighbours));
    }
  }

  std::unique_ptr<Transport> transport(Rank world, const Membership& membership) override {
    return domains_[static_cast<std::size_t>(world)]->transport(
        membership.communicator, membership.members, membership.failure_signal, options_);
  }
  void kill(Rank world) override { domains_[static_cast<std::size_t>(world)].reset(); }

 private:
  shm::Options options_;
  std::vector<std::shared_ptr<shm::Segment>> segments_{};
  std::vector<std::shared_ptr<shm::Domain>> domains_{};
};

Backend backend(const std::string& variant, const shm::Options& domain) {
  return {.name = "shm",
          .variant = variant,
          .helps_others = false,
          .connect = [domain](const LinksOptions& options) {
            return std::make_unique<ShmLinks>(options, domain);
          }};
}

}  // namespace

Backend shm_backend() {
  return backend("", {});
}

Backend shm_crowded_backend() {
  return backend("_crowded", {.oversubscribed = true});
}

}  // namespace tutti::conformance
