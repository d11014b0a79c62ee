/// @file
/// Matching of messages with receives, for transports whose network does not match them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <tutti/spi/fingerprint.hpp>
#include <tutti/spi/transport.hpp>

#include "base/queue.hpp"

namespace tutti::v0::detail {

/// The description of a message at one of its ends.
struct Envelope {
  std::uint32_t tag = 0;          ///< As Transfer::tag.
  std::uint64_t fingerprint = 0;  ///< As Transfer::fingerprint.
  std::uint64_t bytes = 0;        ///< Bytes of the whole message.
  bool accepts_shorter = false;   ///< As Transfer::accepts_shorter.
};

/// @param sent of the sender. @param expected of the receiver. @return whether they agree in the
/// lower 63 bits of the fingerprint and in the length, or the receiver accepts a shorter message.
[[nodiscard]] constexpr bool agree(const Envelope& sent, const Envelope& expected) noexcept {
  return (sent.fingerprint ^ expected.fingerprint) << 1U == 0 &&
         (sent.bytes == expected.bytes ||
          (expected.accepts_shorter && sent.bytes < expected.bytes));
}

/// @param sender of the message. @param sent and @param expected do not agree. @return the error.
[[nodiscard]] inline Error mismatch(Rank sender, const Envelope& sent, const Envelope& expected) {
  const std::uint64_t theirs = sent.fingerprint << 1U >> 1U;
  const std::uint64_t ours = expected.fingerprint << 1U >> 1U;
  return theirs == ours ? wrong_length(sender, sent.bytes, expected.bytes)
                        : wrong_call(sender, theirs, ours);
}

/// Stores the receives of a communicator that have no message yet, and its messages that have no
/// receive yet. A message matches the oldest receive of its sender and tag, and a receive the
/// oldest message. Allocates nothing.
/// @tparam Receive and @tparam Message what is stored: each has a member `next` (see Queue), and
/// `envelope()` that returns its Envelope. @tparam kQueues per sender, by the lower bits of the
/// tag: more of them shorten the search where thousands of messages are stored.
template <class Receive, class Message, std::size_t kQueues = 1>
class Matcher {
 public:
  using ReceivePointer = typename Queue<Receive>::Pointer;  ///< As stored.
  using MessagePointer = typename Queue<Message>::Pointer;  ///< As stored.

  /// @param senders the number of ranks.
  explicit Matcher(std::size_t senders = 0) : senders_(senders) {}

  /// Removes the message that matches a receive. @param from and @param tag of the receive.
  /// @return it, or null.
  [[nodiscard]] MessagePointer match_receive(Rank from, std::uint32_t tag) noexcept {
    MessagePointer message = sender(from).messages[queue_of(tag)].pop_if(HasTag{tag});
    if (message != nullptr) --unexpected_;
    return message;
  }
  /// Removes the receive that matches a message. @param from and @param tag of the message.
  /// @return it, or null.
  [[nodiscard]] ReceivePointer match_message(Rank from, std::uint32_t tag) noexcept {
    return sender(from).receives[queue_of(tag)].pop_if(HasTag{tag});
  }
  /// @param from its sender. @param receive that matched no message.
  void add_receive(Rank from, ReceivePointer receive) noexcept {
    const std::size_t queue = queue_of(receive->envelope().tag);
    sender(from).receives[queue].push(std::move(receive));
  }
  /// @param from its sender. @param message that matched no receive.
  void add_message(Rank from, MessagePointer message) noexcept {
    const std::size_t queue = queue_of(message->envelope().tag);
    sender(from).messages[queue].push(std::move(message));
    ++unexpected_;
  }
  /// @param from a sender. @param tag of a message. @return whether nothing is stored that could
  /// match it, or come before it.
  [[nodiscard]] bool is_empty(Rank from, std::uint32_t tag) const noexcept {
    const Sender& of = senders_[static_cast<std::size_t>(from)];
    return of.receives[queue_of(tag)].empty() && of.messages[queue_of(tag)].empty();
  }
  /// @return the number of messages stored, of all senders.
  [[nodiscard]] std::size_t unexpected() const noexcept { return unexpected_; }

  /// As Transport::probe. @param from a rank, or any_rank. @param tag of the message. @param read
  /// called with a rank before its messages are searched, to store those that have come.
  template <class Read>
  [[nodiscard]] std::optional<Unexpected> probe(Rank from, std::uint32_t tag, Read read) {
    if (from != any_rank) return find(from, tag, read);
    const auto size = static_cast<Rank>(senders_.size());
    for (Rank i = 0; i < size; ++i) {
      const Rank rank = (next_probed_ + i) % size;
      const auto found = find(rank, tag, read);
      if (!found) continue;
      next_probed_ = rank + 1;
      return found;
    }
    return std::nullopt;
  }

  /// Searches for a message that no receive will match: see Transport::find_unmatched.
  /// @param from its sender. @param pending as in is_unmatched. @param most messages of collectives
  /// that are looked at in each queue, the oldest first. @return the error, if there is one.
  [[nodiscard]] std::optional<Error> find_unmatched(
      Rank from, std::uint64_t pending,
      std::size_t most = std::numeric_limits<std::size_t>::max()) const {
    for (const Queue<Message>& messages : senders_[static_cast<std::size_t>(from)].messages) {
      std::size_t seen = 0;
      const Message* message = messages.front();
      for (; message != nullptr && seen < most; message = std::to_address(message->next)) {
        const std::uint64_t fingerprint = message->envelope().fingerprint;
        if (is_of_two(fingerprint)) continue;
        if (is_unmatched(fingerprint, pending))
          return unmatched_message(from, fingerprint, pending);
        ++seen;
      }
    }
    return std::nullopt;
  }

  /// Removes all that is stored. @param from a sender. @param visit called with each receive and
  /// each message.
  template <class Visit>
  void drain(Rank from, Visit visit) {
    for (Queue<Receive>& receives : sender(from).receives)
      while (!receives.empty()) visit(receives.pop());
    for (Queue<Message>& messages : sender(from).messages)
      for (; !messages.empty(); --unexpected_) visit(messages.pop());
  }

 private:
  struct Sender {
    std::array<Queue<Receive>, kQueues> receives{};
    std::array<Queue<Message>, kQueues> messages{};
  };
  struct HasTag {
    std::uint32_t tag;
    template <class Item>
    bool operator()(const Item& item) const noexcept {
      return item.envelope().tag == tag;
    }
  };
  [[nodiscard]] static std::size_t queue_of(std::uint32_t tag) noexcept { return tag % kQueues; }
  [[nodiscard]] Sender& sender(Rank rank) noexcept {
    return senders_[static_cast<std::size_t>(rank)];
  }
  template <class Read>
  [[nodiscard]] std::optional<Unexpected> find(Rank from, std::uint32_t tag, Read& read) {
    read(from);
    const Message* message = sender(from).messages[queue_of(tag)].front();
    for (; message != nullptr; message = std::to_address(message->next))
      if (const Envelope envelope = message->envelope(); envelope.tag == tag)
        return Unexpected{from, envelope.bytes, envelope.fingerprint};
    return std::nullopt;
  }

  std::vector<Sender> senders_;
  std::size_t unexpected_ = 0;
  Rank next_probed_ = 0;  // where the search through all ranks begins
};

}  // namespace tutti::v0::detail
