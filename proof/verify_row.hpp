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

/// Which shapes of a row are verified.
struct VerifyRange {
  int min_size = 1;        ///< Fewest ranks.
  int max_size = 64;       ///< Most ranks; up to here every size and every root.
  int sample_to = 0;       ///< If above max_size: a sample of shapes up to this size as well.
  int samples = 3;         ///< Shapes in that sample.
  int slim_fly_to = 0;     ///< If above max_size: Slim Flies of up to so many ranks as well.
  std::string choice{};    ///< If not empty: this choice only, where it serves the number of ranks.
  std::uint64_t seed = 1;  ///< Of the sample and of random skips.
  const Catalog* catalog = nullptr;  ///< What the choice is read by; null: tutti's own.
};

/// A number of ranks that a row does not serve, and what happens there.
struct Refusal {
  int size = 0;          ///< Number of ranks.
  std::string reason{};  ///< The error of the generator, or the finding of the verifier.
};

/// What one number of ranks costs, with default parameters and root 0.
struct SizeReport {
  int size = 0;   ///< Number of ranks.
  Facts facts{};  ///< Rounds, messages, units.
};

/// What holds for all verified shapes of a row.
struct ProvedTraits {
  When ordered = When::never;         ///< Where operands keep the order of ranks.
  When rank_identical = When::never;  ///< Where all ranks get the same bits.
  When size_invariant = When::never;  ///< Where all elements have the same tree.
  bool rotational = false;            ///< Rank r's schedule is rank 0's, shifted.
  bool own_counts_only = false;       ///< No foreign block is touched.
  bool lockstep = false;              ///< Ranks can go through their rounds together.
};

/// The outcome for one row.
struct RowReport {
  const Algorithm* algorithm = nullptr;  ///< The row.
  std::vector<Finding> findings{};       ///< What is wrong; at most a handful.
  std::vector<SizeReport> sizes{};       ///< Per verified number of ranks, ascending.
  std::vector<Refusal> refusals{};       ///< Numbers of ranks that the row does not serve.
  ProvedTraits proved_traits{};          ///< The strongest that hold over the verified shapes.
  std::size_t shapes = 0;                ///< Shapes verified: sizes, roots and parameters.
  std::vector<int> sample{};             ///< Numbers of ranks of those beyond max_size,
  std::vector<int> slim_flies{};         ///< and of the Slim Flies beyond.

  /// @return true if something is proved and nothing is wrong.
  [[nodiscard]] bool proved() const noexcept { return shapes > 0 && findings.empty(); }
  /// @return true if the row serves none of the numbers of ranks: neither proved nor wrong.
  [[nodiscard]] bool has_nothing_to_prove() const noexcept {
    return shapes == 0 && findings.empty();
  }
};

/// Whether the numerical traits (ordered, rank_identical, size_invariant) mean anything: where
/// nothing is reduced they hold trivially and are not judged.
/// @param collective the operation. @return true for reductions.
[[nodiscard]] constexpr bool judges_numbers(Collective collective) noexcept {
  return is_reduction(collective);
}

/// Whether own_counts_only means anything: where every rank has or wants every block, it holds
/// trivially and is not judged.
/// @param collective the operation. @return true for scatter and all_to_all.
[[nodiscard]] constexpr bool judges_counts(Collective collective) noexcept {
  return collective == Collective::scatter || collective == Collective::all_to_all;
}

/// @param row the row. @param size number of ranks. @param seed of random skips and graphs.
/// @return the choices of parameters that are verified at that size, at least one; the default one
/// first, where there is one.
[[nodiscard]] std::vector<Choice> verified_choices(const Algorithm& row, int size,
                                                   std::uint64_t seed);

/// What a row is built with for very many ranks: its default, or where it has none the torus whose
/// two sides differ least, or groups of about as many ranks as there are groups.
/// @param row the row. @param size number of ranks. @return the choice, which may not serve them.
[[nodiscard]] Choice typical_choice(const Algorithm& row, int size);

/// Verifies one row. Too little claimed is judged only if the range spans at least 2 to 16 ranks
/// and all choices, since of few ranks, and of one choice, more may hold. Throws
/// Error{invalid_argument} where the range's choice cannot be read.
/// @param row the row. @param range which shapes. @return the outcome.
[[nodiscard]] RowReport verify_row(const Algorithm& row, const VerifyRange& range);

}  // namespace tutti::v0
