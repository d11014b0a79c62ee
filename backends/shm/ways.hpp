/// @file
/// Which way a long message takes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include <tutti/types.hpp>

namespace tutti::shm {

/// What a message is part of.
struct Course {
  bool folds = false;      ///< It is reduced as it comes.
  bool exchanged = false;  ///< Its sender has something else to do meanwhile.
};

/// How the bytes of a message are taken.
enum class Take : std::uint8_t {
  stream,  ///< They come through the ring, which both ranks copy at a time.
  past,    ///< The same, but past the caches of the sender.
  read,    ///< The receiver reads them where they lie.
  share    ///< The receiver reads the first of them, the sender writes the others, at a time.
};

/// How messages of a peer come quickest. That depends on whether the two cores share a cache, which
/// no rank is told and which changes where a system moves ranks, or a host its guests. So the
/// receiver takes the time, and tries another way now and then. What arrives is the same.
class Ways {
 public:
  /// Shorter messages always come through the ring and the caches.
  static constexpr std::uint64_t kLeast = 512;
  /// Shorter ones are over too soon to ask how long both ranks had to do with them.
  static constexpr std::uint64_t kLong = std::uint64_t{8} << 10;

  /// @param bytes of a message, kLeast or more. @param course of it. @param takes from which to
  /// choose, two or more, what is right more often first. @return how to take it.
  [[nodiscard]] Take choose(std::uint64_t bytes, Course course,
                            std::span<const Take> takes) noexcept {
    Likes& likes = likes_of(bytes, course);
    ++likes.messages;
    std::size_t quickest = 0;
    for (std::size_t i = 0; i < takes.size(); ++i) {
      if (likes.cost_of(takes[i]) == 0) return takes[i];
      if (likes.cost_of(takes[i]) < likes.cost_of(takes[quickest])) quickest = i;
    }
    // The first messages meet memory that nobody has touched, so others are tried again soon.
    if (likes.messages % kTry != 0 && !std::has_single_bit(likes.messages)) return takes[quickest];
    const std::size_t others = takes.size() - 1;  // in turn
    return takes[(quickest + 1 + likes.trials++ % others) % takes.size()];
  }
  /// Tells how long a message took. @param bytes of it, kLeast or more. @param course of it.
  /// @param take how it was taken. @param time from when both ranks had begun with it to its end.
  void took(std::uint64_t bytes, Course course, Take take, Duration time) noexcept {
    std::int64_t& cost = likes_of(bytes, course).cost_of(take);
    const auto kib = static_cast<std::int64_t>(bytes / 1024 + 1);
    const std::int64_t now = std::max<std::int64_t>(1024 * time.count() / kib, 1);
    // A message that was held up says little, however long; one that was not, what is possible.
    cost = cost == 0 || now < cost ? now : cost + std::min(now - cost, cost) / 8;
  }
  /// @param bytes of a message. @param exchanged whether its sender has something else to do.
  /// @return the number of the kind of message, under which its receiver asks for a way.
  [[nodiscard]] static unsigned kind_of(std::uint64_t bytes, bool exchanged) noexcept {
    return static_cast<unsigned>(2 * size_of(bytes) + (exchanged ? 1 : 0));
  }

 private:
  static constexpr std::uint32_t kTry = 128;  ///< Messages from one trial to the next.
  static constexpr int kSizes = 16;           ///< To 16 MiB and beyond.
  /// Of messages of like sizes.
  struct Likes {
    std::array<std::int64_t, 4> cost{};  ///< Per byte, by Take; 0 if not known.
    std::uint32_t messages = 0;
    std::uint32_t trials = 0;
    [[nodiscard]] std::int64_t& cost_of(Take take) noexcept {
      return cost[static_cast<std::size_t>(take)];
    }
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
