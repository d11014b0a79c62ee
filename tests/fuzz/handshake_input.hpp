/// @file
/// Feeds the handshake with what a stranger might send: for the fuzzer and for its seeds' replay.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>

#include "runtime/security/authenticate.hpp"

namespace tutti::fuzz {

/// Ends the process, which a fuzzer takes for a finding.
inline void promise(bool kept) {
  if (!kept) std::abort();
}

/// Feeds a state machine with messages until it wants no more or there is no more.
template <class Handshake>
void feed(Handshake& handshake, std::span<const std::uint8_t> bytes) {
  for (std::size_t wanted = handshake.expected_bytes(); wanted > 0 && wanted <= bytes.size();
       wanted = handshake.expected_bytes()) {
    promise(wanted <= runtime::kLongestMessage);
    const auto reply = handshake.process(std::as_bytes(bytes.first(wanted)));
    promise(reply.size() <= runtime::kLongestMessage);
    bytes = bytes.subspan(wanted);
  }
}

/// The first byte says which side is talked to and whether it has a secret; a stranger who does not
/// know the secret is never let in, and nobody is let in as a rank that does not exist.
inline void run_handshake(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return;
  const std::uint8_t mode = bytes.front();
  bytes = bytes.subspan(1);
  runtime::Identity self{.job = 7, .size = 4, .rank = 0, .secret = {}, .versions = {}};
  if ((mode & 1) != 0) self.secret = runtime::Secret{runtime::Digest{}};
  if ((mode & 2) != 0) {
    runtime::ConnectorHandshake handshake{self, 1, runtime::Purpose::control};
    feed(handshake, bytes);
    promise(handshake.state() != runtime::HandshakeState::accepted || !self.secret);
    if (handshake.state() == runtime::HandshakeState::refused)
      promise(!std::string_view{handshake.refusal("peer").what()}.empty());
    return;
  }
  const runtime::AcceptorHandshake::Admit admit = [&](const runtime::ConnectionRequest& who) {
    promise(!self.secret && who.from > 0 && who.from < self.size && who.to == 0);
    return runtime::Reason::none;
  };
  runtime::AcceptorHandshake handshake{self, admit};
  feed(handshake, bytes);
  promise(handshake.state() != runtime::HandshakeState::accepted || !self.secret);
  promise((handshake.state() == runtime::HandshakeState::refused) ==
          (handshake.reason() != runtime::Reason::none));
}

}  // namespace tutti::fuzz
