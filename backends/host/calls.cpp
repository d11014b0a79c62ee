// Calls in words, for the ranks that wait for others.
#include <tutti/group.hpp>

namespace tutti {
namespace {

constexpr unsigned kTypeShift = 8;
constexpr unsigned kOperatorShift = 16;
constexpr unsigned kRootShift = 32;
constexpr std::uint64_t kByte = 0xff;
constexpr std::uint64_t kNoOperator = 0xff;

}  // namespace

std::uint64_t packed_call(Collective collective, Datatype type, const OperatorKind* op,
                          Rank root) noexcept {
  const std::uint64_t kind = op == nullptr ? kNoOperator : static_cast<std::uint64_t>(*op);
  return static_cast<std::uint64_t>(collective) | static_cast<std::uint64_t>(type) << kTypeShift |
         kind << kOperatorShift | static_cast<std::uint64_t>(root) << kRootShift;
}

std::string words_of(const CallSummary& call) {
  const auto collective = static_cast<Collective>(call.what & kByte);
  std::string text{name_of(collective)};
  if (collective != Collective::barrier) {
    text += " of " + std::to_string(call.bytes) + " bytes of ";
    text += name_of(static_cast<Datatype>(call.what >> kTypeShift & kByte));
    if (const std::uint64_t kind = call.what >> kOperatorShift & kByte; kind != kNoOperator)
      text.append(", ").append(name_of(static_cast<OperatorKind>(kind)));
    if (is_rooted(collective)) text += ", root " + std::to_string(call.what >> kRootShift);
  }
  return text + " (" + hexadecimal(call.fingerprint) + ")";
}

std::string CallCounter::latest() const {
  const std::uint64_t described = described_.load(std::memory_order_acquire);
  const CallSummary call{fingerprint_.load(std::memory_order_relaxed),
                         what_.load(std::memory_order_relaxed),
                         bytes_.load(std::memory_order_relaxed)};
  std::atomic_thread_fence(std::memory_order_acquire);
  if (described == 0 || described != begun_.load(std::memory_order_relaxed)) return {};
  return words_of(call);
}

}  // namespace tutti
