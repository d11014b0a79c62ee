/// @file
/// Which way a long message takes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include <tutti/types.hpp>

namespace tutti::shm {

/// What a message is part of.
struct Course {
  bool folds = false;      ///< It is reduced as it comes.
  bool exchanged = false;  ///< Its sender has something else to do meanwhile.
};

/// Whether messages of a peer come quicker through the ring, which both ranks copy at a time, or
/// are read where they lie, by the receiver alone. That depends on whether the two cores share a
/// cache, which no rank is told and which changes where a system moves ranks, or a host its guests.
/// So the receiver takes the time, and tries the other way now and then. What arrives is the same.
class Ways {
 public:
  /// Shorter messages always come through the ring.
  static constexpr std::uint64_t kLeast = std::uint64_t{8} << 10;

  /// @param bytes of a message, kLeast or more. @param course of it. @param usual what is right
  /// more often. @return whether it is to come through the ring.
  [[nodiscard]] bool streams(std::uint64_t bytes, Course course, bool usual) noexcept {
    Likes& likes = likes_of(bytes, course);
    ++likes.messages;
    for (const bool way : {usual, !usual})
      if (likes.cost[way] == 0) return way;
    const bool quicker = likes.cost[true] < likes.cost[false];
    return likes.messages % kTry == 0 ? !quicker : quicker;
  }
  /// Tells how long a message took. @param bytes of it, kLeast or more. @param course of it.
  /// @param streamed whether it came through the ring. @param time from when both ranks had begun
  /// with it to its end.
  void took(std::uint64_t bytes, Course course, bool streamed, Duration time) noexcept {
    std::int64_t& cost = likes_of(bytes, course).cost[streamed];
    const auto kib = static_cast<std::int64_t>(bytes / 1024 + 1);
    const std::int64_t now = std::max<std::int64_t>(1024 * time.count() / kib, 1);
    // A message that was held up says little, one that was not says what is possible.
    cost = cost == 0 || now < cost ? now : cost + (now - cost) / 8;
  }
  /// @param bytes of a message. @param exchanged whether its sender has something else to do.
  /// @return the bit by which its receiver asks for messages of the kind.
  [[nodiscard]] static std::uint32_t bit_of(std::uint64_t bytes, bool exchanged) noexcept {
    return 1u << (2 * size_of(bytes) + (exchanged ? 1 : 0));
  }

 private:
  static constexpr std::uint32_t kTry = 64;  ///< Messages from one trial to the next.
  static constexpr int kSizes = 12;          ///< To 16 MiB and beyond.
  /// Of messages of like sizes.
  struct Likes {
    std::array<std::int64_t, 2> cost{};  ///< Per byte, by whether it streams; 0 if not known.
    std::uint32_t messages = 0;
  };
  [[nodiscard]] static std::size_t size_of(std::uint64_t bytes) noexcept {
    const int size =
        static_cast<int>(std::bit_width(bytes)) - static_cast<int>(std::bit_width(kLeast));
    return static_cast<std::size_t>(std::clamp(size, 0, kSizes - 1));
  }
  [[nodiscard]] Likes& likes_of(std::uint64_t bytes, Course course) noexcept {
    return likes_[course.folds][course.exchanged][size_of(bytes)];
  }

  std::array<std::array<std::array<Likes, kSizes>, 2>, 2> likes_{};
};

}  // namespace tutti::shm
