/// @file
/// One collective with inputs, guarded outputs and the results it must have, for all ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tutti/call.hpp>

#include "tests/support/model.hpp"

namespace tutti::harness {

/// The ranks that pass the sizes of blocks.
enum class CountsAre : std::uint8_t {
  told_if_unequal,  ///< All ranks, where blocks differ.
  told,             ///< All ranks, always.
  own               ///< Each rank of its own blocks only, as scatterv, gatherv and all_to_allv do.
};

/// One run of a collective.
struct Case {
  Collective collective{};                ///< Which.
  std::string algorithm{};                ///< As Options::algorithm.
  int size = 1;                           ///< Number of ranks.
  std::vector<std::size_t> counts{};      ///< Elements of each block: one, one per rank or pair.
  Rank root = 0;                          ///< For rooted collectives.
  bool in_place = false;                  ///< Only if the collective allows it.
  std::size_t segment = Options::kWhole;  ///< As Options::segment.
  Model model{};                          ///< Elements and operator.
  std::size_t salt = 0;                   ///< Other values for another salt.
  CountsAre counts_are = CountsAre::told_if_unequal;

  /// @return what a failure report must name to be repeated.
  [[nodiscard]] std::string describe() const;
};

/// Blocks whose sizes differ by at most one and add up to the total.
/// @param total elements in all. @param blocks at least one. @return the size of each.
[[nodiscard]] std::vector<std::size_t> cut(std::size_t total, std::size_t blocks);
/// @param collective any. @param size number of ranks. @return the blocks of its vector.
[[nodiscard]] std::size_t blocks_of(Collective collective, int size);

/// One of all_models() after the other, but for those that the collective refuses.
/// @param collective any. @param index any. @return the model.
[[nodiscard]] const Model& model_at(Collective collective, std::size_t index);

/// Bytes with a guard on both sides.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  /// @param bytes how many. @param shift moves the data off a wide alignment.
  explicit GuardedBuffer(std::size_t bytes, std::size_t shift = 0);
  /// @return the bytes.
  [[nodiscard]] std::byte* data() noexcept { return storage_.data() + kGuard + shift_; }
  /// @return how many.
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  /// @return whether no byte around the buffer changed.
  [[nodiscard]] bool intact() const noexcept;

 private:
  static constexpr std::size_t kGuard = 64;
  std::size_t bytes_ = 0;
  std::size_t shift_ = 0;
  std::vector<std::byte> storage_ = std::vector<std::byte>(2 * kGuard);
};

/// The buffers of all ranks for one case.
class Experiment {
 public:
  /// @param what copied.
  explicit Experiment(Case what);

  /// @return what is run.
  [[nodiscard]] const Case& what() const noexcept { return case_; }
  /// @param rank whose. @return its call, on its buffers.
  [[nodiscard]] Call call(Rank rank);
  /// @return the options of all ranks' calls; refer to this object.
  [[nodiscard]] Options options() const;
  /// @param rank whose. @return what is wrong with its buffers after the operation, if anything.
  [[nodiscard]] std::optional<std::string> problem(Rank rank);
  /// Checks inputs and guards, also after an error. @param rank whose. @return what is wrong.
  [[nodiscard]] std::optional<std::string> damage(Rank rank);
  /// Puts the input back where it was and rubbish where the result was, for another run on the
  /// same buffers. @param rank whose.
  void restore(Rank rank);
  /// @param rank whose. @return the bytes of its result.
  [[nodiscard]] std::span<const std::byte> result(Rank rank);

 private:
  /// Everything of one rank. `out` is unused where the output lies within `in`, and vice versa.
  struct Side {
    GuardedBuffer in{};
    GuardedBuffer out{};
    std::vector<std::byte> in_before{};
    std::vector<std::byte> wanted{};
    std::size_t in_count = 0;
    std::size_t out_count = 0;
    std::vector<std::size_t> in_counts{};  // of its blocks
    std::vector<std::size_t> out_counts{};
    std::byte* input = nullptr;
    std::byte* output = nullptr;
  };

  [[nodiscard]] std::size_t elements(std::size_t first_block, std::size_t last_block) const;
  [[nodiscard]] std::size_t input_count(Rank rank) const;
  [[nodiscard]] std::size_t output_count(Rank rank) const;
  [[nodiscard]] std::vector<std::byte> input_of(Rank rank) const;
  [[nodiscard]] std::vector<std::byte> wanted_of(Rank rank) const;
  void reduce_into(std::vector<std::byte>& wanted, std::size_t first, std::size_t ranks) const;
  void place(Rank rank);
  void count_blocks(Rank rank);
  [[nodiscard]] bool is_in_place(Rank rank) const;
  [[nodiscard]] Side& side(Rank rank) { return sides_[static_cast<std::size_t>(rank)]; }

  Case case_;
  std::vector<std::vector<std::byte>> inputs_{};  // what each rank starts from
  std::vector<Side> sides_{};
  bool equal_ = false;  // whether all blocks are equal, so that no counts need to be given
};

}  // namespace tutti::harness
