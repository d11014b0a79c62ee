/// @file
/// Chooses the algorithm of a call: filters by traits, predicts times, takes the least, and records
/// the reasons.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <tutti/spi/catalog.hpp>

#include "candidates.hpp"
#include "network_profile.hpp"
#include "predict.hpp"
#include "problem.hpp"
#include "proof/proof.hpp"
#include "shared_config.hpp"
#include "tuning.hpp"
#include "variants.hpp"

namespace tutti::v0::detail {

/// The placement of a communicator's ranks, and the shared configuration.
struct Placement {
  std::vector<int> hosts{};                             ///< As CommunicatorParts::hosts.
  std::vector<Locality> localities{};                   ///< As CommunicatorParts::localities.
  std::string transport{};                              ///< As TunedPlace::transport.
  std::shared_ptr<const SharedConfig> shared_config{};  ///< May be null.
};

/// A choice, and the candidates for it.
struct Selection {
  Candidate chosen{};
  bool forced = false;
  std::vector<Candidate> candidates{};  ///< All that were considered, in the catalog's order.
  std::string costs{};                  ///< The costs that predictions use, in words.
  LinkCosts charged{};                  ///< These costs, if candidates have no terms.
  std::string measured{};     ///< The tuning file of the choice, or why its choice cannot run.
  bool on_network = false;    ///< Whether candidates have terms.
  Determinism determinism{};  ///< Required by the call.
  /// The source of Candidate::predicted: "calibrated" for costs of `tutti calibrate`, or "assumed".
  std::string_view times = "assumed";
  std::string transport{};                ///< The transport of messages, if there are several.
  std::vector<Selection> other_routes{};  ///< The choices for the other transports.

  /// @return lines for a person: the winner, the costs, every prediction, every rejection.
  [[nodiscard]] std::string explain() const;
};

/// Chooses algorithms for one communicator. It uses only facts that all ranks know, so equal
/// problems give equal choices on all ranks.
class Selector {
 public:
  /// @param catalog null for tutti's own. @param placement the hosts and cores of the ranks.
  Selector(CostModel cost_model, std::shared_ptr<const Catalog> catalog, Placement placement = {});
  /// Chooses for a described network. @param network its host r is rank r. @param catalog null for
  /// tutti's own. @param hosts as CommunicatorParts::hosts. @param graph of router_graph; may be
  /// null.
  Selector(RankNetwork network, std::shared_ptr<const Catalog> catalog, std::vector<int> hosts,
           std::shared_ptr<const Graph> graph);

  /// Throws Error{invalid_argument} with the reason if a forced algorithm is unknown or cannot run,
  /// or if no algorithm can.
  [[nodiscard]] Selection select(const Problem& problem);
  /// @return whether ranks outnumber their cores, according to the cost model.
  [[nodiscard]] bool shares_cores() const noexcept { return cost_model_.costs.shared_cores > 0; }

 private:
  void look_around();
  [[nodiscard]] std::string levels_in_words() const;
  [[nodiscard]] Candidate judge(const Problem& problem, Variant variant);
  void predict(Candidate& candidate, const Problem& problem);
  [[nodiscard]] std::optional<Candidate> look_up(const Problem& problem, std::string& origin);
  [[nodiscard]] Candidate force(const Problem& problem);
  [[nodiscard]] Variant parsed(std::string_view text, const Problem& problem) const;
  [[nodiscard]] std::vector<Variant> variants_for(const Problem& problem) const;
  [[nodiscard]] std::string costs_in_words(const Problem& problem) const;
  [[nodiscard]] bool uses_network(const Problem& problem) const noexcept;
  [[nodiscard]] const LinkCosts& costs_of(const Problem& problem) const noexcept;
  [[nodiscard]] const Tuning* tuning() const noexcept;
  void calibrate();
  bool fit(LinkCosts& costs, const TunedCosts& wanted) const;
  [[nodiscard]] bool charges_what_lasts(const Problem& problem) const noexcept;
  void prove(Candidate& candidate, const Contract& contract);
  [[nodiscard]] Profiles& profiles_for(const Choice& choice) noexcept;

  using Key = std::tuple<const Algorithm*, std::string, Rank>;

  CostModel cost_model_;
  Placement placement_{};
  std::shared_ptr<const Catalog> catalog_;
  std::vector<Level> levels_{};  // groups of ranks that hierarchies may use
  std::shared_ptr<const RankNetwork> network_{};
  bool is_calibrated_ = false;  // whether cost_model_ comes from a tuning file
  bool is_described_ = false;   // whether the user described the network
  std::shared_ptr<const Graph> graph_{};
  std::shared_ptr<Profiles> own_profiles_ =
      std::make_shared<Profiles>();  // of rows that were added
  std::map<Key, Proof> proofs_{};
};

/// @return the number of segments of a vector, at least one. @param bytes of the whole vector.
/// @param segment_bytes 0 for one segment. @param largest_block in elements: the limit, since more
/// segments would be empty.
[[nodiscard]] std::size_t segment_count(std::size_t bytes, std::size_t segment_bytes,
                                        std::size_t largest_block) noexcept;

}  // namespace tutti::v0::detail
