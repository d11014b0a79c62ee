/// @file
/// Fingerprints of messages: identify the call of a message in 63 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tutti/types.hpp>

namespace tutti::v0 {

/// The upper half counts calls, modulo this number.
inline constexpr std::uint64_t kFingerprintCalls = std::uint64_t{1} << 30U;
/// Bit of messages between two ranks, whose calls have no number.
inline constexpr std::uint64_t kFingerprintOfTwo = std::uint64_t{1} << 62U;

/// @param summary hash of all that must be equal on all ranks. @param call number on the
/// communicator.
/// @return the fingerprint of all messages of the call.
[[nodiscard]] constexpr std::uint64_t make_fingerprint(std::uint64_t summary,
                                                       std::uint64_t call) noexcept {
  // The finaliser of MurmurHash3, since the lower half must tell what the whole hash does.
  summary = (summary ^ (summary >> 33U)) * 0xff51afd7ed558ccdU;
  return call % kFingerprintCalls << 32U | summary >> 32U;
}

/// @return the number of a message's call, below kFingerprintCalls.
[[nodiscard]] constexpr std::uint64_t call_of(std::uint64_t fingerprint) noexcept {
  return fingerprint >> 32U & (kFingerprintCalls - 1);
}

/// @return the fingerprint of a message between two ranks, by which a receiver can name what came
/// instead.
[[nodiscard]] constexpr std::uint64_t fingerprint_of_two(Datatype type,
                                                         std::size_t element_bytes) noexcept {
  constexpr std::uint64_t kSizes = std::uint64_t{1} << 48U;
  return kFingerprintOfTwo | static_cast<std::uint64_t>(type) << 48U | element_bytes % kSizes;
}

/// Second bit, of messages of a plan. Each rank decides when a plan starts, so its messages have
/// numbers of their own, and may wait without limit.
inline constexpr std::uint64_t kFingerprintOfPlan = std::uint64_t{1} << 61U;
/// Number of plans that fingerprints distinguish.
inline constexpr std::uint64_t kFingerprintPlans = std::uint64_t{1} << 20U;
/// Number of runs of each plan that fingerprints distinguish.
inline constexpr std::uint64_t kFingerprintRuns = std::uint64_t{1} << 9U;

/// @param summary as in make_fingerprint. @param plan its number on the communicator.
/// @return the fingerprint of all messages of a run of the plan.
[[nodiscard]] constexpr std::uint64_t make_plan_fingerprint(std::uint64_t summary,
                                                            std::uint64_t plan,
                                                            std::uint64_t run) noexcept {
  return kFingerprintOfTwo | kFingerprintOfPlan | run % kFingerprintRuns << 52U |
         plan % kFingerprintPlans << 32U | make_fingerprint(summary, 0);
}
/// @return whether the message is of a plan.
[[nodiscard]] constexpr bool is_of_plan(std::uint64_t fingerprint) noexcept {
  return (fingerprint & kFingerprintOfTwo) != 0 && (fingerprint & kFingerprintOfPlan) != 0;
}
/// @return the number of a message's plan, below kFingerprintPlans.
[[nodiscard]] constexpr std::uint64_t plan_of(std::uint64_t fingerprint) noexcept {
  return fingerprint >> 32U & (kFingerprintPlans - 1);
}
/// @return whether a plan's message is of a run before `run`.
[[nodiscard]] constexpr bool is_before_run(std::uint64_t fingerprint, std::uint64_t run) noexcept {
  const std::uint64_t distance = (run - (fingerprint >> 52U)) % kFingerprintRuns;
  return distance != 0 && distance <= kFingerprintRuns / 2;
}

/// @return whether the message is between two ranks, or of a plan.
[[nodiscard]] constexpr bool is_of_two(std::uint64_t fingerprint) noexcept {
  return (fingerprint & kFingerprintOfTwo) != 0;
}

/// @return the type of the elements of a message between two ranks.
[[nodiscard]] constexpr Datatype type_of_two(std::uint64_t fingerprint) noexcept {
  return static_cast<Datatype>(fingerprint >> 48U & 0xffU);
}

/// @return the size of an element of a message between two ranks.
[[nodiscard]] constexpr std::size_t element_bytes_of_two(std::uint64_t fingerprint) noexcept {
  return fingerprint & ((std::uint64_t{1} << 48U) - 1);
}

/// @return whether the message is of a call before `call`, but not long before, since numbers
/// repeat and a rank that waits for no other may be far ahead. Messages between two ranks are of no
/// numbered call, and may wait without limit.
[[nodiscard]] constexpr bool is_before(std::uint64_t fingerprint, std::uint64_t call) noexcept {
  constexpr std::uint64_t kNotLong = 65536;
  const std::uint64_t distance = (call - call_of(fingerprint)) % kFingerprintCalls;
  return !is_of_two(fingerprint) && distance != 0 && distance <= kNotLong;
}

/// @param pending the fingerprint of the oldest call that has not ended, or make_fingerprint(0, its
/// number) if that is unknown.
/// @return whether the message matches no call of this rank: it is of an earlier call, or has the
/// number of this one and differs.
[[nodiscard]] constexpr bool is_unmatched(std::uint64_t fingerprint,
                                          std::uint64_t pending) noexcept {
  const std::uint64_t call = call_of(pending);
  if (is_before(fingerprint, call)) return true;
  const bool is_known = pending != make_fingerprint(0, call);
  return is_known && !is_of_two(fingerprint) && call_of(fingerprint) == call &&
         fingerprint != pending;
}

}  // namespace tutti::v0
