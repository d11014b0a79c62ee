// The errors of a receiver about a message that belongs to another call.
#include <tutti/spi/call_status.hpp>
#include <tutti/spi/fingerprint.hpp>
#include <tutti/spi/rejection.hpp>
#include <tutti/spi/transport.hpp>

namespace tutti::v0 {
namespace {

constexpr const char* kMustAgree =
    "; all ranks must call the same collectives in the same order with matching arguments";

constexpr const char* kSamePlans =
    "; all ranks must make the same plans in the same order, and start each equally often";

std::string elements_of_two(std::uint64_t fingerprint) {
  return std::string{name_of(type_of_two(fingerprint))} + " elements of " +
         std::to_string(element_bytes_of_two(fingerprint)) + " bytes";
}

}  // namespace

std::string hexadecimal(std::uint64_t value) {
  std::string text = "0x";
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[value >> shift & 15];
  return text;
}

Error unmatched_plan(Rank peer, std::uint64_t theirs) {
  return Error{ErrorCode::mismatch,
               "rank " + std::to_string(peer) + " ran another plan #" +
                   std::to_string(plan_of(theirs)) + ": its message with fingerprint " +
                   hexadecimal(theirs) + " matches none that this rank's plan waited for" +
                   kSamePlans,
               peer}
      .about(kPlanCalls + plan_of(theirs));
}

Error wrong_call(Rank peer, std::uint64_t theirs, std::uint64_t ours) {
  if (is_of_plan(theirs) || is_of_plan(ours))
    return Error{ErrorCode::mismatch,
                 "rank " + std::to_string(peer) +
                     " runs another plan: its message has fingerprint " + hexadecimal(theirs) +
                     ", this rank expects " + hexadecimal(ours) + kSamePlans,
                 peer}
        .about(kPlanCalls + plan_of(is_of_plan(ours) ? ours : theirs));
  if (is_of_two(theirs) && detail::is_rejected_of_two(ours))
    return Error{ErrorCode::mismatch, "this rank rejected the arguments of its recv from rank " +
                                          std::to_string(peer) + ", which sent " +
                                          elements_of_two(theirs)}
        .about(kPlanCalls + detail::kRejectedMessage);
  if (detail::is_rejected_of_two(theirs) && is_of_two(ours))
    return Error{ErrorCode::mismatch,
                 "rank " + std::to_string(peer) +
                     " rejected the arguments of its send, for which this rank waits",
                 peer}
        .about(kPlanCalls + detail::kRejectedMessage);
  if (is_of_two(theirs) && is_of_two(ours))
    return {ErrorCode::mismatch,
            "rank " + std::to_string(peer) + " sent " + elements_of_two(theirs) +
                ", this rank receives " + elements_of_two(ours) + "; both must have the same type",
            peer};
  // Tags are reused, so one of the two may belong to a later call.
  const std::uint64_t first = is_before(ours, call_of(theirs)) ? call_of(ours) : call_of(theirs);
  return Error{ErrorCode::mismatch,
               "rank " + std::to_string(peer) + " runs another call: its message has fingerprint " +
                   hexadecimal(theirs) + ", this rank expects " + hexadecimal(ours) + kMustAgree,
               peer}
      .about(first + 1);
}

Error unmatched_message(Rank peer, std::uint64_t theirs, std::uint64_t pending) {
  if (call_of(theirs) == call_of(pending)) return wrong_call(peer, theirs, pending);
  const std::uint64_t number = call_of(theirs) + 1;
  return Error{ErrorCode::mismatch,
               "rank " + std::to_string(peer) + " ran another call #" + std::to_string(number) +
                   ": its message with fingerprint " + hexadecimal(theirs) +
                   " matches none that this rank's call waited for" + kMustAgree,
               peer}
      .about(number);
}

Error wrong_length(Rank peer, std::uint64_t theirs, std::uint64_t ours) {
  return {ErrorCode::mismatch,
          "rank " + std::to_string(peer) + " sent " + std::to_string(theirs) +
              " bytes, this rank expects " + std::to_string(ours) +
              "; all ranks must pass the same count; where each rank passes its own "
              "counts, sender and receiver must agree",
          peer};
}

std::optional<Unexpected> Transport::probe(Rank /*from*/, std::uint32_t /*tag*/) {
  throw Error{ErrorCode::invalid_argument,
              "the transport " + capabilities().name + " cannot look for messages"};
}

}  // namespace tutti::v0
