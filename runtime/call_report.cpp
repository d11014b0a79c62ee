#include "call_report.hpp"

#include <algorithm>
#include <cstring>

#include "control_message.hpp"

namespace tutti::runtime {
namespace {

constexpr std::size_t kMostWords = 1200;
constexpr std::size_t kMostCall = 48;

// The layout of a report; each struct is followed by its text.
struct CallHead {
  std::uint64_t fingerprint;
  std::uint16_t state;
  std::uint16_t memory;
  std::uint32_t word_bytes;
};
struct WaitFront {
  std::uint64_t number;
  std::int64_t nanoseconds;
  std::int32_t rank;
  std::uint32_t call_bytes;
};
static_assert(sizeof(CallHead) + kMostWords +
                  CallCounter::kMostWaits * (sizeof(WaitFront) + kMostCall) <=
              kMostControlText);

template <class T>
void append(std::string& bytes, const T& front, std::string_view words) {
  const std::size_t size = bytes.size();
  bytes.resize(size + sizeof front);
  std::memcpy(bytes.data() + size, &front, sizeof front);
  bytes.append(words);
}

[[noreturn]] void reject() {
  throw Error{ErrorCode::transport, "a control socket carried an answer that is none"};
}

template <class T>
T take_front(std::string_view& bytes) {
  T front;
  if (bytes.size() < sizeof front) reject();
  std::memcpy(&front, bytes.data(), sizeof front);
  bytes.remove_prefix(sizeof front);
  return front;
}

std::string take_words(std::string_view& bytes, std::uint32_t size) {
  if (size > bytes.size()) reject();
  std::string words{bytes.substr(0, size)};
  bytes.remove_prefix(size);
  return words;
}

}  // namespace

std::string encode_call_report(const CallStatus& told) {
  std::string bytes;
  const std::string_view words = std::string_view{told.words}.substr(0, kMostWords);
  append(
      bytes,
      CallHead{told.fingerprint, static_cast<std::uint16_t>(told.state),
               static_cast<std::uint16_t>(told.memory), static_cast<std::uint32_t>(words.size())},
      words);
  for (const CallStatus::Wait& wait : told.waits) {
    const std::string_view call = std::string_view{wait.call}.substr(0, kMostCall);
    append(bytes,
           WaitFront{wait.number, wait.time.count(), wait.rank,
                     static_cast<std::uint32_t>(call.size())},
           call);
  }
  return bytes;
}

CallStatus decode_call_report(std::uint64_t begun, std::string_view bytes) {
  const auto front = take_front<CallHead>(bytes);
  const auto state = static_cast<CallStatus::State>(front.state);
  if (state != CallStatus::State::there && state != CallStatus::State::ended) reject();
  if (front.memory > static_cast<std::uint16_t>(CallStatus::Memory::forgotten)) reject();
  CallStatus told{.state = state,
                  .begun = begun,
                  .memory = static_cast<CallStatus::Memory>(front.memory),
                  .fingerprint = front.fingerprint,
                  .words = take_words(bytes, front.word_bytes)};
  while (!bytes.empty()) {
    const auto wait = take_front<WaitFront>(bytes);
    told.waits.push_back({.call = take_words(bytes, wait.call_bytes),
                          .number = wait.number,
                          .rank = wait.rank,
                          .time = Duration{wait.nanoseconds}});
  }
  return told;
}

}  // namespace tutti::runtime
