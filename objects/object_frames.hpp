/// @file
/// The messages of object collectives beside the objects: frames, votes, and texts of failures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/error.hpp>

namespace tutti::v0::detail {

/// The knowledge of one rank about an object collective before it receives anything.
struct ObjectReport {
  std::uint64_t fingerprint = 0;  ///< Hash of the call's name and the objects' type.
  std::uint64_t failed = 0;       ///< 1 if the rank could not encode its objects.
  std::uint64_t most = 0;         ///< Its limit for the bytes of an object.
  std::uint64_t largest = 0;      ///< Bytes of the largest object that it sends.
};

/// Maxima over all ranks, from which all ranks make the same decision.
class ObjectVote {
 public:
  using Numbers = std::array<std::uint64_t, 5>;

  ObjectVote() = default;
  /// The vote of one rank.
  explicit ObjectVote(const ObjectReport& report) noexcept
      : numbers{report.fingerprint, ~report.fingerprint, report.failed, ~report.most,
                report.largest} {}
  /// Merges the vote of another rank.
  void join(const ObjectVote& other) noexcept;
  /// @return whether all ranks have the same type, and all objects can be moved.
  [[nodiscard]] bool is_good() const noexcept {
    return numbers[0] == ~numbers[1] && numbers[2] == 0 && largest() <= ~numbers[3];
  }
  /// @return bytes of the largest object.
  [[nodiscard]] std::uint64_t largest() const noexcept { return numbers[4]; }

  Numbers numbers{};
};

/// The most bytes of an object.
inline constexpr std::size_t kMostObjectBytes = std::size_t{1} << 62;

/// Objects of up to this many bytes travel in the frame, if a rank has one frame, or one for each
/// of few ranks. The frame then fits into one packet of Ethernet.
inline constexpr std::size_t kInlineBytes = 1232;
/// The limit if a rank has a frame for each of many ranks, since their lengths add up.
inline constexpr std::size_t kInlineBytesOfMany = 208;
/// The most ranks that count as few: their frames take less than 16 KiB of memory.
inline constexpr std::size_t kFewRanks = 12;

/// The message of the first round: the sender's report, followed by one object if that is small.
struct ObjectFrame {
  static constexpr std::uint64_t kMagic = 0x31756f6269747574U;  // Other byte orders differ.

  std::uint64_t magic = kMagic;
  ObjectReport report{};
  std::uint64_t size = 0;  ///< Bytes of the object.

  /// Throws Error{mismatch} if no rank of tutti can have sent this. @param vote of all ranks.
  void check(int sender, const ObjectVote& vote) const;
};
static_assert(sizeof(ObjectFrame) == 48);

/// Frames with room for one object each, all of one length, one after the other.
class ObjectFrames {
 public:
  ObjectFrames() = default;
  /// @param inline_bytes room for an object. @param count number of frames.
  ObjectFrames(std::size_t inline_bytes, std::size_t count)
      : frame_bytes_{sizeof(ObjectFrame) + inline_bytes}, count_{count},
        bytes_(frame_bytes_ * count) {
    for (std::size_t i = 0; i < count; ++i) std::construct_at(&(*this)[i]);
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t frame_bytes() const noexcept { return frame_bytes_; }
  [[nodiscard]] std::byte* data() noexcept { return bytes_.data(); }
  [[nodiscard]] ObjectFrame& operator[](std::size_t index) noexcept {
    return *reinterpret_cast<ObjectFrame*>(data() + index * frame_bytes_);
  }
  [[nodiscard]] const ObjectFrame& operator[](std::size_t index) const noexcept {
    return *reinterpret_cast<const ObjectFrame*>(bytes_.data() + index * frame_bytes_);
  }
  /// @return the room for the object of a frame.
  [[nodiscard]] std::byte* payload(std::size_t index) noexcept {
    return data() + index * frame_bytes_ + sizeof(ObjectFrame);
  }

 private:
  std::size_t frame_bytes_ = 0;
  std::size_t count_ = 0;
  std::vector<std::byte> bytes_{};
};

/// The message of the second round if the vote is not good.
struct ObjectAccount {
  ObjectReport report{};
  std::array<char, 176> call{};     ///< The call as text, padded with zeros.
  std::array<char, 304> problem{};  ///< The error text of the encoding, padded with zeros.

  ObjectAccount() = default;
  /// @param call a text. @param problem the error text of the encoding, or nothing.
  ObjectAccount(const ObjectReport& report, std::string_view call, std::string_view problem);
};
static_assert(sizeof(ObjectAccount) == 512);

/// @return the text of the exception that is being handled; never empty.
[[nodiscard]] std::string words_of_exception();
/// @param accounts of all ranks. @return the Error that all ranks throw.
[[nodiscard]] Error failure_of(std::span<const ObjectAccount> accounts);

}  // namespace tutti::v0::detail
