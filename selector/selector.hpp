/// @file
/// Which algorithm a call runs: filter by traits, predict, take the least, and remember why.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tutti/spi/catalog.hpp>

#include "network_profile.hpp"
#include "predict.hpp"
#include "problem.hpp"
#include "proof/proof.hpp"
#include "tuning.hpp"

namespace tutti::inline v0::detail {

/// A candidate and what became of it.
struct Candidate {
  Choice choice{};
  std::size_t segment_bytes = 0;  ///< 0 runs the vector as a whole.
  Femtoseconds predicted = 0;     ///< Meaningful if not refused.
  std::string refusal{};          ///< Why it cannot serve; empty if it can.
  NetworkTerms terms{};           ///< What that is made of, if it was predicted on a network.
  std::uint64_t digest = 0;       ///< As Proof::digest, of what was added to the catalog.
  bool is_measured = false;       ///< Whether it was chosen by what was measured.
};

/// What was measured, where a communicator can look for it.
struct Measurements {
  std::shared_ptr<const Tuning> tuning{};  ///< May be null.
  std::string transport{};                 ///< The communicator's, as TunedPlace.
};

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

  /// Lines for a person: the winner, what was charged, every prediction, every refusal.
  [[nodiscard]] std::string explain() const;
};

/// Chooses. Remembers profiles, so one is kept per communicator. Equal problems give equal choices
/// on all ranks, because nothing that is known to one rank only is looked at.
class Selector {
 public:
  /// @param tariff what messages and bytes are taken to cost. @param catalog what there is to
  /// choose from; null for tutti's own. @param hosts as Footing::hosts.
  /// @param measurements of this machine.
  Selector(Tariff tariff, std::shared_ptr<const Catalog> catalog, std::vector<int> hosts = {},
           Measurements measurements = {});
  /// Chooses for a network that is described. @param network with rank r on its host r.
  /// @param catalog likewise. @param hosts likewise. @param graph as router_graph; may be null.
  Selector(RankNetwork network, std::shared_ptr<const Catalog> catalog, std::vector<int> hosts,
           std::shared_ptr<const Graph> graph);

  /// Throws Error{invalid_argument} where a forced algorithm is unknown or cannot serve, and says
  /// why.
  [[nodiscard]] Selection select(const Problem& problem);
  /// Whether ranks outnumber the cores that they have, as far as the tariff says.
  [[nodiscard]] bool shares_cores() const noexcept { return tariff_.costs.shared_cores > 0; }

 private:
  [[nodiscard]] Candidate judge(const Problem& problem, Choice choice);
  void predict(Candidate& candidate, const Problem& problem);
  [[nodiscard]] std::optional<Candidate> look_up(const Problem& problem, std::string& origin);
  [[nodiscard]] std::vector<Choice> choices_for(const Problem& problem) const;
  [[nodiscard]] std::string costs_in_words(const Problem& problem) const;
  [[nodiscard]] const RankNetwork* network_for(const Problem& problem) const noexcept;
  [[nodiscard]] const LinkCosts& costs_of(const Problem& problem) const noexcept;
  void calibrate();
  bool fit(LinkCosts& costs, const TunedCosts& wanted) const;
  [[nodiscard]] bool charges_what_lasts(const Problem& problem) const noexcept;
  void prove(Candidate& candidate, const Contract& contract);
  [[nodiscard]] const Profile& profile(const Choice& choice, const Contract& contract);
  [[nodiscard]] const NetworkProfile& profile(const Choice& choice, const Contract& contract,
                                              const RankNetwork& network);

  using Key = std::tuple<const Algorithm*, std::string, Rank>;

  Tariff tariff_;
  std::vector<int> hosts_;
  std::shared_ptr<const Catalog> catalog_;
  std::optional<RankNetwork> network_{};
  std::shared_ptr<const Graph> graph_{};
  Measurements measurements_{};
  std::map<Key, Profile> profiles_;
  std::map<Key, NetworkProfile> network_profiles_;
  std::map<Key, Proof> proofs_;
};

/// How many segments a vector is run in. @param bytes of the whole. @param segment_bytes 0 for one.
/// @param largest_block in elements: more segments than that would be empty. @return at least one.
[[nodiscard]] std::size_t segment_count(std::size_t bytes, std::size_t segment_bytes,
                                        std::size_t largest_block) noexcept;

}  // namespace tutti::inline v0::detail
