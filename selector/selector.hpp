/// @file
/// Which algorithm a call runs: filter by traits, predict, take the least, and remember why.
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

/// Where the ranks of a communicator are, and what is known of that.
struct Placement {
  std::vector<int> hosts{};                        ///< As CommunicatorParts::hosts.
  std::vector<Locality> localities{};              ///< As CommunicatorParts::localities.
  std::string transport{};                         ///< What carries messages, as TunedPlace.
  std::shared_ptr<const SharedConfig> shared_config{};  ///< May be null.
};

/// The ground that predicted times stand on.
enum class TimeBasis : std::uint8_t {
  assumed,     ///< Costs of which some or all were not measured.
  calibrated,  ///< Costs that `tutti calibrate` measured.
  timed        ///< Plain calls that were timed when a world first started on this machine.
};
/// @return "assumed", "calibrated" or "timed".
[[nodiscard]] std::string_view name_of(TimeBasis basis) noexcept;

/// What was chosen, and from what.
struct Selection {
  Candidate chosen{};
  bool forced = false;
  std::vector<Candidate> candidates{};  ///< All that were looked at, in the catalog's order.
  std::string costs{};                  ///< What the predictions rest on, for a person.
  LinkCosts charged{};                  ///< Likewise, where candidates have no terms.
  std::string measured{};     ///< The file that the choice comes from, or why its one cannot serve.
  bool on_network = false;    ///< Whether candidates have terms.
  Determinism determinism{};  ///< What was to be kept.
  TimeBasis times{};          ///< What Candidate::predicted rests on.
  std::string transport{};    ///< The transport of messages, if there are several.
  std::vector<Selection> other_routes{};  ///< The choices for the other transports.

  /// Lines for a person: the winner, what was charged, every prediction, every refusal.
  [[nodiscard]] std::string explain() const;
};

/// Chooses, for one communicator. Equal problems give equal choices on all ranks, because nothing
/// that is known to one rank only is looked at.
class Selector {
 public:
  /// @param cost_model what messages and bytes cost. @param catalog what there is to
  /// choose from; null for tutti's own. @param surroundings of its ranks.
  Selector(CostModel cost_model, std::shared_ptr<const Catalog> catalog, Placement placement = {});
  /// Chooses for a network that is described. @param network with rank r on its host r.
  /// @param catalog likewise. @param hosts as CommunicatorParts::hosts. @param graph as
  /// router_graph; may be null.
  Selector(RankNetwork network, std::shared_ptr<const Catalog> catalog, std::vector<int> hosts,
           std::shared_ptr<const Graph> graph);

  /// Throws Error{invalid_argument} where a forced algorithm is unknown or cannot serve, and says
  /// why.
  [[nodiscard]] Selection select(const Problem& problem);
  /// Replaces predicted costs by times, where plain calls were timed on this machine: all
  /// candidates get the same factor, so that their order stays. @param selection of select. @param
  /// problem for which it was made.
  void put_times(Selection& selection, const Problem& problem);
  /// @return whether ranks outnumber their cores, as far as the cost model knows.
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
  [[nodiscard]] Femtoseconds cost_of(const TunedPlace& place, const TunedCell& cell,
                                     const Problem& problem);
  void prove(Candidate& candidate, const Contract& contract);
  [[nodiscard]] Profiles& profiles_for(const Choice& choice) noexcept;

  using Key = std::tuple<const Algorithm*, std::string, Rank>;

  CostModel cost_model_;
  Placement placement_{};
  std::shared_ptr<const Catalog> catalog_;
  std::vector<Level> levels_{};  // that part the ranks into groups of hierarchies
  std::shared_ptr<const RankNetwork> network_{};
  bool is_calibrated_ = false;  // whether the tariff's costs are those of a file
  bool is_described_ = false;   // whether the user described the network
  std::shared_ptr<const Graph> graph_{};
  std::shared_ptr<Profiles> own_profiles_ =
      std::make_shared<Profiles>();  // of rows that were added
  std::map<Key, Proof> proofs_{};
};

/// How many segments a vector is run in. @param bytes of the whole. @param segment_bytes 0 for one.
/// @param largest_block in elements: more segments than that would be empty. @return at least one.
[[nodiscard]] std::size_t segment_count(std::size_t bytes, std::size_t segment_bytes,
                                        std::size_t largest_block) noexcept;

}  // namespace tutti::v0::detail
