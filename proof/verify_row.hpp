/// @file
/// Verifies a row of the catalog: every number of ranks, every root, several parameters; and judges
/// whether its traits claim neither too much nor too little.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/spi/algorithm.hpp>

#include "verify.hpp"

namespace tutti::v0 {

class Catalog;

/// The shapes of a row to verify.
struct VerifyRange {
  int min_size = 1;        ///< Fewest ranks.
  int max_size = 64;       ///< Most ranks; up to here every size and every root.
  int sample_to = 0;       ///< If above max_size: a sample of shapes up to this size as well.
  int samples = 3;         ///< Shapes in that sample.
  int slim_fly_to = 0;     ///< If above max_size: Slim Flies of up to this many ranks as well.
  std::string choice{};    ///< If not empty: only this choice, for the sizes that it serves.
  std::uint64_t seed = 1;  ///< Seed of the sample and of random skips.
  const Catalog* catalog = nullptr;  ///< The catalog of `choice`; null: tutti's own.
};

/// A number of ranks that a row does not serve, and the reason.
struct Refusal {
  int size = 0;          ///< Number of ranks.
  std::string reason{};  ///< The error of the generator, or the finding of the verifier.
};

/// The costs of one number of ranks, with default parameters and root 0.
struct SizeReport {
  int size = 0;   ///< Number of ranks.
  Facts facts{};  ///< Rounds, messages, units.
};

/// Traits that hold for all verified shapes of a row.
struct ProvedTraits {
  When ordered = When::never;         ///< When operands keep the order of ranks.
  When rank_identical = When::never;  ///< When all ranks get the same bits.
  When size_invariant = When::never;  ///< When all elements have the same tree.
  bool rotational = false;            ///< Rank r's schedule is rank 0's, shifted.
  bool own_counts_only = false;       ///< No foreign block is touched.
  bool lockstep = false;              ///< Ranks can go through their rounds together.
};

/// The outcome for one row.
struct RowReport {
  const Algorithm* algorithm = nullptr;  ///< The row.
  std::vector<Finding> findings{};       ///< The faults, at most eight.
  std::vector<SizeReport> sizes{};       ///< Per verified number of ranks, ascending.
  std::vector<Refusal> refusals{};       ///< Numbers of ranks that the row does not serve.
  ProvedTraits proved_traits{};          ///< The strongest that hold over the verified shapes.
  std::size_t shapes = 0;                ///< Shapes verified: sizes, roots and parameters.
  std::vector<int> sample{};             ///< Numbers of ranks of the sample.
  std::vector<int> slim_flies{};         ///< Numbers of ranks of Slim Flies above max_size.

  /// @return true if something is proved and nothing is wrong.
  [[nodiscard]] bool proved() const noexcept { return shapes > 0 && findings.empty(); }
  /// @return true if the row serves none of the numbers of ranks: neither proved nor wrong.
  [[nodiscard]] bool has_nothing_to_prove() const noexcept {
    return shapes == 0 && findings.empty();
  }
};

/// @return whether ordered, rank_identical and size_invariant are judged. They are for reductions;
/// for other collectives they hold trivially.
[[nodiscard]] constexpr bool judges_numbers(Collective collective) noexcept {
  return is_reduction(collective);
}

/// @return whether own_counts_only is judged. It is for scatter and all_to_all; it holds trivially
/// if every rank has or wants every block.
[[nodiscard]] constexpr bool judges_counts(Collective collective) noexcept {
  return is_between_pairs(collective) || (is_scattering(collective) && is_rooted(collective));
}

/// @param seed of random skips and graphs. @return the choices of parameters to verify at that
/// size, at least one; the default one first, if there is one.
[[nodiscard]] std::vector<Choice> verified_choices(const Algorithm& row, int size,
                                                   std::uint64_t seed);

/// @return a choice for very many ranks: the row's default or, if it has none, the torus whose two
/// sides differ least, or groups of about as many ranks as there are groups. It may not serve
/// `size`.
[[nodiscard]] Choice typical_choice(const Algorithm& row, int size);

/// Verifies one row. It reports too_little_claimed only if the range has 2 to 16 ranks and all
/// choices, since more traits may hold on few ranks or for one choice. Throws
/// Error{invalid_argument} if the range's choice cannot be read.
[[nodiscard]] RowReport verify_row(const Algorithm& row, const VerifyRange& range);

}  // namespace tutti::v0
