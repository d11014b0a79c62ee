#include "authenticate.hpp"

#include <cstring>

namespace tutti::runtime {
namespace {

/// The first bytes of every message. As a number, so that hosts of the other byte order are
/// refused.
constexpr std::uint64_t kHandshakeMagic = 0x31'30'69'74'74'75'74'0A;  // "\ntutti01"

// Every version of these messages has the magic and the versions at the same offset.
struct Hello {
  std::uint64_t magic;
  Versions versions;
  Purpose purpose;
  std::uint8_t has_secret;
  std::uint16_t unused;
  std::int32_t from;
  std::int32_t to;
  std::int32_t size;
  std::uint32_t unused_too;
  std::uint64_t job;
  Digest nonce;
};
static_assert(sizeof(Hello) == 72);

struct Answer {
  std::uint64_t magic;
  Versions versions;
  Reason reason;
  std::uint8_t has_secret;
  std::uint16_t unused;
  std::int32_t rank;
  std::int32_t size;
  std::uint64_t unused_too;
  std::uint64_t job;
  Digest nonce;
  Digest code;  // zero while codes are computed
};
static_assert(sizeof(Answer) == 104);

struct Proof {
  std::uint64_t magic;
  Digest code;
};
static_assert(sizeof(Proof) == 40);

struct Outcome {
  std::uint64_t magic;
  Reason reason;
  std::array<std::uint8_t, 7> unused;
};
static_assert(sizeof(Outcome) == 16);
static_assert(sizeof(Answer) <= kLongestMessage && sizeof(Hello) <= kLongestMessage);

template <class Message, std::size_t n>
void write(std::array<std::byte, n>& bytes, const Message& message) noexcept {
  static_assert(sizeof message == n);
  std::memcpy(bytes.data(), &message, n);
}

template <class Message>
Message read(std::span<const std::byte> bytes) {
  expects(bytes.size() == sizeof(Message), "a handshake's message has the wrong length");
  Message message;
  std::memcpy(&message, bytes.data(), sizeof message);
  return message;
}

/// The code of one side over both messages. Zero without a secret.
Digest code_of(const Identity& identity, std::string_view role, std::span<const std::byte> hello,
               const Answer& answer) {
  if (!identity.secret) return {};
  Answer bare = answer;
  bare.code = {};
  return message_code(identity.secret->bytes(),
                      {std::as_bytes(std::span{role}), hello, std::as_bytes(std::span{&bare, 1})});
}

constexpr std::string_view kConnector = "tutti connector";
constexpr std::string_view kAcceptor = "tutti acceptor";

bool overlap(const Versions& own, const Versions& theirs) noexcept {
  return theirs.oldest <= theirs.newest && own.oldest <= theirs.newest &&
         theirs.oldest <= own.newest;
}

std::string text_of(const Versions& versions) {
  if (versions.oldest == versions.newest) return "version " + std::to_string(versions.oldest);
  return "versions " + std::to_string(versions.oldest) + " to " + std::to_string(versions.newest);
}

std::string disagreement(const Versions& own, const Versions& theirs, const std::string& peer) {
  return "this program uses " + text_of(own) + " of tutti's protocol, but " + peer + " uses " +
         text_of(theirs);
}

/// Checks a Hello, before the peer is authenticated.
Reason check_hello(const Identity& self, const Hello& hello) noexcept {
  if (hello.magic != kHandshakeMagic) return Reason::not_tutti;
  if (!overlap(self.versions, hello.versions)) return Reason::version_mismatch;
  if (hello.job != self.job) return Reason::wrong_job;
  if (hello.to != self.rank || hello.from < 0 || hello.from >= hello.size ||
      hello.from == self.rank)
    return Reason::wrong_rank;
  return hello.purpose > Purpose::end ? Reason::unexpected : Reason::none;
}

}  // namespace

std::string_view name_of(Reason reason) noexcept {
  constexpr std::array<std::string_view, kReasons> kNames{
      "none",       "not tutti",    "version mismatch", "wrong job",          "wrong size",
      "wrong rank", "wrong secret", "duplicate rank",   "unexpected",         "wrong user",
      "too slow",   "closed early", "crowded out",      "no descriptor left", "no secret"};
  const auto index = static_cast<std::size_t>(reason);
  return index < kNames.size() ? kNames[index] : "unknown";
}

void check_versions(const Versions& own, const Versions& theirs, const std::string& peer,
                    Rank rank) {
  if (!overlap(own, theirs))
    throw Error{ErrorCode::mismatch, disagreement(own, theirs, peer), rank};
}

ConnectorHandshake::ConnectorHandshake(const Identity& self, Rank to, Purpose purpose)
    : self_{self} {
  Hello hello{};
  hello.magic = kHandshakeMagic;
  hello.versions = self.versions;
  hello.purpose = purpose;
  hello.has_secret = self.secret ? 1 : 0;
  hello.from = self.rank;
  hello.to = to;
  hello.size = self.size;
  hello.job = self.job;
  hello.nonce = random_digest();
  write(hello_, hello);
}

std::size_t ConnectorHandshake::expected_bytes() const noexcept {
  if (state_ != HandshakeState::active) return 0;
  return answered_ ? sizeof(Outcome) : sizeof(Answer);
}

void ConnectorHandshake::reject(Reason reason) noexcept {
  reason_ = reason;
  state_ = HandshakeState::refused;
}

std::span<const std::byte> ConnectorHandshake::process(std::span<const std::byte> message) {
  if (answered_) {
    const auto outcome = read<Outcome>(message);
    if (outcome.magic != kHandshakeMagic) reject(Reason::not_tutti);
    else if (outcome.reason != Reason::none) reject(outcome.reason);
    else state_ = HandshakeState::accepted;
    return {};
  }
  const auto answer = read<Answer>(message);
  const auto hello = read<Hello>(hello_);
  std::memcpy(answer_.data(), message.data(), answer_.size());
  if (answer.magic != kHandshakeMagic) reject(Reason::not_tutti);
  else if (answer.reason != Reason::none) reject(answer.reason);
  else if (!overlap(self_.versions, answer.versions)) reject(Reason::version_mismatch);
  else if (answer.job != self_.job) reject(Reason::wrong_job);
  else if (answer.rank != hello.to) reject(Reason::wrong_rank);
  if (state_ == HandshakeState::refused) return {};
  answered_ = true;
  Proof proof{};
  proof.magic = kHandshakeMagic;
  // A peer with another secret gets a code that is wrong for any secret. A peer with another world
  // size gets the right code, which proves that this process is a rank of the job.
  const bool is_proved = equal_codes(answer.code, code_of(self_, kAcceptor, hello_, answer));
  if (is_proved) proof.code = code_of(self_, kConnector, hello_, answer);
  if (!is_proved) reject(Reason::wrong_secret);
  else if (answer.size != self_.size) reject(Reason::wrong_size);
  write(proof_, proof);
  return proof_;
}

Error ConnectorHandshake::refusal(const std::string& peer) const {
  const auto answer = read<Answer>(answer_);
  const auto hello = read<Hello>(hello_);
  const std::string self = "rank " + std::to_string(self_.rank);
  std::string text;
  switch (reason_) {
    case Reason::not_tutti:
      text = "the program that answers as " + peer + " does not use tutti's protocol";
      break;
    case Reason::version_mismatch:
      text = disagreement(self_.versions, answer.versions, peer);
      break;
    case Reason::wrong_job:
      text = self + " belongs to job " + std::to_string(self_.job) + ", but " + peer + " to job " +
             std::to_string(answer.job) + ": wrong job";
      break;
    case Reason::wrong_size:
      text = self + " counts " + std::to_string(self_.size) + " ranks, but " + peer + " counts " +
             std::to_string(answer.size) + ": wrong world size";
      break;
    case Reason::wrong_rank:
      text = self + " wanted rank " + std::to_string(hello.to) + ", but " + peer + " is rank " +
             std::to_string(answer.rank);
      break;
    case Reason::wrong_secret:
      text = self + " and " + peer + " do not share a secret: wrong secret";
      if (answer.has_secret != hello.has_secret)
        text += ", only one of them has one; set TUTTI_SECRET_FILE on all ranks";
      break;
    case Reason::no_secret: return no_secret(self_.rank, peer);
    case Reason::duplicate_rank:
      text = peer + " refused " + self + ": duplicate rank, another process connected as " + self;
      break;
    default: text = peer + " refused " + self + ": " + std::string{name_of(reason_)};
  }
  return {ErrorCode::mismatch, text, hello.to};
}

std::size_t AcceptorHandshake::expected_bytes() const noexcept {
  if (state_ != HandshakeState::active) return 0;
  return has_named_job_ ? sizeof(Proof) : sizeof(Hello);
}

std::span<const std::byte> AcceptorHandshake::process(std::span<const std::byte> message) {
  expects(state_ == HandshakeState::active, "a message after the end of a handshake");
  if (has_named_job_) return process_proof(message);
  expects(message.size() == hello_.size(), "a handshake's message has the wrong length");
  std::memcpy(hello_.data(), message.data(), hello_.size());
  return process_hello();
}

std::span<const std::byte> AcceptorHandshake::process_hello() {
  const auto hello = read<Hello>(hello_);
  reason_ = check_hello(*self_, hello);
  if (reason_ == Reason::none && !accepts_ranks_) {
    reason_ = Reason::no_secret;
    request_ = {hello.from, hello.to, hello.purpose};
    peer_size_ = hello.size;
  }
  if (reason_ != Reason::none) state_ = HandshakeState::refused;
  if (reason_ == Reason::not_tutti) return {};  // the peer would not understand the answer
  Answer answer{};
  answer.magic = kHandshakeMagic;
  answer.versions = self_->versions;
  answer.reason = reason_;
  answer.has_secret = self_->secret ? 1 : 0;
  answer.rank = self_->rank;
  answer.size = self_->size;
  answer.job = self_->job;
  if (reason_ == Reason::none) {
    answer.nonce = random_digest();
    answer.code = code_of(*self_, kAcceptor, hello_, answer);
    request_ = {hello.from, hello.to, hello.purpose};
    peer_size_ = hello.size;
    has_named_job_ = true;
  }
  write(answer_, answer);
  return answer_;
}

std::span<const std::byte> AcceptorHandshake::process_proof(std::span<const std::byte> message) {
  const auto proof = read<Proof>(message);
  const auto answer = read<Answer>(answer_);
  const bool has_secret = read<Hello>(hello_).has_secret != 0;
  if (proof.magic != kHandshakeMagic) reason_ = Reason::not_tutti;
  else if (has_secret != self_->secret.has_value() ||
           !equal_codes(proof.code, code_of(*self_, kConnector, hello_, answer)))
    reason_ = Reason::wrong_secret;
  else if (peer_size_ != self_->size) reason_ = Reason::wrong_size;
  else reason_ = (*admit_)(request_);
  state_ = reason_ == Reason::none ? HandshakeState::accepted : HandshakeState::refused;
  claims_other_secret_ = reason_ == Reason::wrong_secret && equal_codes(proof.code, {});
  Outcome outcome{};
  outcome.magic = kHandshakeMagic;
  outcome.reason = reason_;
  write(outcome_, outcome);
  return outcome_;
}

}  // namespace tutti::runtime
