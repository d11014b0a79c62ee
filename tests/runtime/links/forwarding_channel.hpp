/// @file
/// A channel around another one. Tests derive from it to change what ranks exchange.
#pragma once

#include <string>

#include <tutti/spi/channel.hpp>

namespace tutti::test {

/// Answers as the other channel does, but for the exchange itself.
class ForwardingChannel : public Channel {
 public:
  explicit ForwardingChannel(Channel& inner) : inner_{inner} {}
  [[nodiscard]] Rank rank() const noexcept override { return inner_.rank(); }
  [[nodiscard]] int size() const noexcept override { return inner_.size(); }
  [[nodiscard]] std::string describe() const override { return inner_.describe(); }
  [[nodiscard]] bool is_private() const noexcept override { return inner_.is_private(); }

 protected:
  Channel& inner_;
};

}  // namespace tutti::test
