#include "call_report.hpp"

#include <algorithm>
#include <cstring>

#include "control_message.hpp"

namespace tutti::runtime {
namespace {

constexpr std::size_t kMostWords = 1200;
constexpr std::size_t kMostCall = 48;

// The layout of a report; each struct is followed by its text.
struct CallHeader {
  std::uint64_t fingerprint;
  std::uint16_t state;
  std::uint16_t memory;
  std::uint32_t word_bytes;
};
struct WaitHeader {
  std::uint64_t number;
  std::int64_t nanoseconds;
  std::int32_t rank;
  std::uint32_t call_bytes;
};
static_assert(sizeof(CallHeader) + kMostWords +
                  CallCounter::kMostWaits * (sizeof(WaitHeader) + kMostCall) <=
              kMostControlText);

template <class T>
void append(std::string& bytes, const T& header, std::string_view words) {
  const std::size_t size = bytes.size();
  bytes.resize(size + sizeof header);
  std::memcpy(bytes.data() + size, &header, sizeof header);
  bytes.append(words);
}

[[noreturn]] void reject() {
  throw Error{ErrorCode::transport, "a control socket received a malformed call report"};
}

template <class T>
T read_header(std::string_view& bytes) {
  T header;
  if (bytes.size() < sizeof header) reject();
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.remove_prefix(sizeof header);
  return header;
}

std::string read_words(std::string_view& bytes, std::uint32_t size) {
  if (size > bytes.size()) reject();
  std::string words{bytes.substr(0, size)};
  bytes.remove_prefix(size);
  return words;
}

}  // namespace

std::string encode_call_report(const CallStatus& status) {
  std::string bytes;
  const std::string_view words = std::string_view{status.words}.substr(0, kMostWords);
  append(bytes,
         CallHeader{status.fingerprint, static_cast<std::uint16_t>(status.state),
                    static_cast<std::uint16_t>(status.memory),
                    static_cast<std::uint32_t>(words.size())},
         words);
  for (const CallStatus::Wait& wait : status.waits) {
    const std::string_view call = std::string_view{wait.call}.substr(0, kMostCall);
    append(bytes,
           WaitHeader{wait.number, wait.time.count(), wait.rank,
                      static_cast<std::uint32_t>(call.size())},
           call);
  }
  return bytes;
}

CallStatus decode_call_report(std::uint64_t begun, std::string_view bytes) {
  const auto header = read_header<CallHeader>(bytes);
  const auto state = static_cast<CallStatus::State>(header.state);
  if (state != CallStatus::State::there && state != CallStatus::State::ended) reject();
  if (header.memory > static_cast<std::uint16_t>(CallStatus::Memory::forgotten)) reject();
  CallStatus status{.state = state,
                    .begun = begun,
                    .memory = static_cast<CallStatus::Memory>(header.memory),
                    .fingerprint = header.fingerprint,
                    .words = read_words(bytes, header.word_bytes)};
  while (!bytes.empty()) {
    const auto wait = read_header<WaitHeader>(bytes);
    status.waits.push_back({.call = read_words(bytes, wait.call_bytes),
                            .number = wait.number,
                            .rank = wait.rank,
                            .time = Duration{wait.nanoseconds}});
  }
  return status;
}

}  // namespace tutti::runtime
