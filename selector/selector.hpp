/// @file
/// Which algorithm a call runs: filter by traits, predict, take the least, and remember why.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tutti/spi/catalog.hpp>

#include "predict.hpp"
#include "problem.hpp"
#include "proof/proof.hpp"

namespace tutti::inline v0::detail {

/// A candidate and what became of it.
struct Candidate {
  Choice choice{};
  std::size_t segment_bytes = 0;  ///< 0 runs the vector as a whole.
  Femtoseconds predicted = 0;     ///< Meaningful if not refused.
  std::string refusal{};          ///< Why it cannot serve; empty if it can.
  std::uint64_t digest = 0;       ///< As Proof::digest, of what was added to the catalog.
};

/// What was chosen, and from what.
struct Selection {
  Candidate chosen{};
  bool forced = false;
  std::vector<Candidate> candidates{};  ///< All that were looked at, in the catalog's order.
  LinkCosts costs{};                    ///< What the predictions rest on,
  std::string origin{};                 ///< and where that comes from.
  Determinism determinism{};            ///< What was to be kept.

  /// Lines for a person: the winner, what was charged, every prediction, every refusal.
  [[nodiscard]] std::string explain() const;
};

/// Chooses. Remembers profiles, so one is kept per communicator. Equal problems give equal choices
/// on all ranks, because nothing that is known to one rank only is looked at.
class Selector {
 public:
  /// @param tariff what messages and bytes are taken to cost. @param catalog what there is to
  /// choose from; null for tutti's own. @param hosts as Footing::hosts.
  Selector(Tariff tariff, std::shared_ptr<const Catalog> catalog, std::vector<int> hosts = {})
      : tariff_{std::move(tariff)}, hosts_{std::move(hosts)},
        catalog_{catalog ? std::move(catalog) : std::make_shared<const Catalog>()} {}

  /// Throws Error{invalid_argument} where a forced algorithm is unknown or cannot serve, and says
  /// why.
  [[nodiscard]] Selection select(const Problem& problem);
  /// Whether ranks outnumber the cores that they have, as far as the tariff says.
  [[nodiscard]] bool shares_cores() const noexcept { return tariff_.costs.shared_cores > 0; }

 private:
  [[nodiscard]] Candidate judge(const Problem& problem, Choice choice);
  [[nodiscard]] const LinkCosts& costs_of(const Problem& problem) const noexcept;
  [[nodiscard]] bool charges_what_lasts(const Problem& problem) const noexcept;
  void prove(Candidate& candidate, const Contract& contract);
  [[nodiscard]] const Profile& profile(const Choice& choice, const Contract& contract);

  using Key = std::tuple<const Algorithm*, std::string, Rank>;

  Tariff tariff_;
  std::vector<int> hosts_;
  std::shared_ptr<const Catalog> catalog_;
  std::map<Key, Profile> profiles_;
  std::map<Key, Proof> proofs_;
};

/// How many segments a vector is run in. @param bytes of the whole. @param segment_bytes 0 for one.
/// @param largest_block in elements: more segments than that would be empty. @return at least one.
[[nodiscard]] std::size_t segment_count(std::size_t bytes, std::size_t segment_bytes,
                                        std::size_t largest_block) noexcept;

}  // namespace tutti::inline v0::detail
