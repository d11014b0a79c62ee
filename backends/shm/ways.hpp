/// @file
/// Which way a long message takes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include <tutti/types.hpp>

namespace tutti::shm {

/// Whether messages of a peer come quicker through the ring, which both ranks copy at a time, or
/// are read where they lie, by the receiver alone. That depends on whether the two cores share a
/// cache, which no rank is told and which changes where a system moves ranks, or a host its guests.
/// So the receiver takes the time, and tries the other way now and then. What arrives is the same.
class Ways {
 public:
  /// @param bytes of a message, not 0. @param folds whether it is reduced as it comes.
  /// @param usual what is right more often. @return whether it is to come through the ring.
  [[nodiscard]] bool streams(std::uint64_t bytes, bool folds, bool usual) noexcept {
    Likes& likes = likes_of(bytes, folds);
    ++likes.messages;
    for (const bool way : {usual, !usual})
      if (likes.cost[way] == 0) return way;
    const bool quicker = likes.cost[true] < likes.cost[false];
    return likes.messages % kTry == 0 ? !quicker : quicker;
  }
  /// Tells how long a message took. @param bytes of it, not 0. @param folds as above.
  /// @param streamed whether it came through the ring. @param time from its grant to its end.
  void took(std::uint64_t bytes, bool folds, bool streamed, Duration time) noexcept {
    std::int64_t& cost = likes_of(bytes, folds).cost[streamed];
    const auto kib = static_cast<std::int64_t>(bytes / 1024 + 1);
    const std::int64_t now = std::max<std::int64_t>(1024 * time.count() / kib, 1);
    // A message that was held up says little, one that was not says what is possible.
    cost = cost == 0 || now < cost ? now : cost + (now - cost) / 8;
  }

 private:
  static constexpr std::uint32_t kTry = 64;  ///< Messages from one trial to the next.
  /// Of messages of like sizes.
  struct Likes {
    std::array<std::int64_t, 2> cost{};  ///< Per byte, by whether it streams; 0 if not known.
    std::uint32_t messages = 0;
  };
  [[nodiscard]] Likes& likes_of(std::uint64_t bytes, bool folds) noexcept {
    constexpr int kFirst = 17;  // 64 KiB
    const int size = std::clamp(static_cast<int>(std::bit_width(bytes)) - kFirst, 0, kSizes - 1);
    return likes_[folds][static_cast<std::size_t>(size)];
  }

  static constexpr int kSizes = 9;  // to 16 MiB and beyond
  std::array<std::array<Likes, kSizes>, 2> likes_{};
};

}  // namespace tutti::shm
