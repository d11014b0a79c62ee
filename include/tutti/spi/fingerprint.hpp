/// @file
/// Fingerprints of messages: which call a message is of, in 63 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tutti/types.hpp>

namespace tutti::v0 {

/// The upper half counts calls; so many have numbers of their own.
inline constexpr std::uint64_t kFingerprintCalls = std::uint64_t{1} << 30U;
/// Set in messages of two ranks, which are of no call that all make and so have no number.
inline constexpr std::uint64_t kFingerprintOfTwo = std::uint64_t{1} << 62U;

/// @param summary hash of what must be equal on all ranks. @param call number on the communicator.
/// @return what all messages of the call have.
[[nodiscard]] constexpr std::uint64_t make_fingerprint(std::uint64_t summary,
                                                       std::uint64_t call) noexcept {
  // The finaliser of MurmurHash3, since the lower half must tell what the whole hash does.
  summary = (summary ^ (summary >> 33U)) * 0xff51afd7ed558ccdU;
  return call % kFingerprintCalls << 32U | summary >> 32U;
}

/// @param fingerprint of a message. @return the number of its call, below kFingerprintCalls.
[[nodiscard]] constexpr std::uint64_t call_of(std::uint64_t fingerprint) noexcept {
  return fingerprint >> 32U & (kFingerprintCalls - 1);
}

/// @param type of the elements. @param element_bytes size of one.
/// @return what a message between two ranks has: from it a receiver can say what came instead.
[[nodiscard]] constexpr std::uint64_t fingerprint_of_two(Datatype type,
                                                         std::size_t element_bytes) noexcept {
  constexpr std::uint64_t kSizes = std::uint64_t{1} << 48U;
  return kFingerprintOfTwo | static_cast<std::uint64_t>(type) << 48U | element_bytes % kSizes;
}

/// Set beside it in messages of a plan: when it starts is up to each rank, so that its messages
/// have numbers of their own, and may wait for ever, too.
inline constexpr std::uint64_t kFingerprintOfPlan = std::uint64_t{1} << 61U;
/// The number of plans, and of runs of each plan, that a fingerprint tells apart.
inline constexpr std::uint64_t kFingerprintPlans = std::uint64_t{1} << 20U;
/// @copydoc kFingerprintPlans
inline constexpr std::uint64_t kFingerprintRuns = std::uint64_t{1} << 9U;

/// @param summary as in make_fingerprint. @param plan its number on the communicator. @param run of
/// the plan. @return what all messages of that run have.
[[nodiscard]] constexpr std::uint64_t make_plan_fingerprint(std::uint64_t summary,
                                                            std::uint64_t plan,
                                                            std::uint64_t run) noexcept {
  return kFingerprintOfTwo | kFingerprintOfPlan | run % kFingerprintRuns << 52U |
         plan % kFingerprintPlans << 32U | make_fingerprint(summary, 0);
}
/// @param fingerprint of a message. @return whether it is of a plan.
[[nodiscard]] constexpr bool is_of_plan(std::uint64_t fingerprint) noexcept {
  return (fingerprint & kFingerprintOfTwo) != 0 && (fingerprint & kFingerprintOfPlan) != 0;
}
/// @param fingerprint of a plan's message. @return the plan's number, below kFingerprintPlans.
[[nodiscard]] constexpr std::uint64_t plan_of(std::uint64_t fingerprint) noexcept {
  return fingerprint >> 32U & (kFingerprintPlans - 1);
}
/// @param fingerprint of a plan's message. @param run of the plan. @return whether the message is
/// of a run before that.
[[nodiscard]] constexpr bool is_before_run(std::uint64_t fingerprint, std::uint64_t run) noexcept {
  const std::uint64_t distance = (run - (fingerprint >> 52U)) % kFingerprintRuns;
  return distance != 0 && distance <= kFingerprintRuns / 2;
}

/// @param fingerprint of a message. @return whether it is of two ranks only, or of a plan.
[[nodiscard]] constexpr bool is_of_two(std::uint64_t fingerprint) noexcept {
  return (fingerprint & kFingerprintOfTwo) != 0;
}

/// @param fingerprint of a message of two ranks. @return the type of its elements.
[[nodiscard]] constexpr Datatype type_of_two(std::uint64_t fingerprint) noexcept {
  return static_cast<Datatype>(fingerprint >> 48U & 0xffU);
}

/// @param fingerprint of a message of two ranks. @return the size of one of its elements.
[[nodiscard]] constexpr std::size_t element_bytes_of_two(std::uint64_t fingerprint) noexcept {
  return fingerprint & ((std::uint64_t{1} << 48U) - 1);
}

/// @param fingerprint of a message. @param call number of a call. @return whether the message is of
/// one before it, but not long before, since a rank that has nothing to wait for may be so far
/// ahead that numbers come again. Messages of two ranks are of none, and may wait for ever.
[[nodiscard]] constexpr bool is_before(std::uint64_t fingerprint, std::uint64_t call) noexcept {
  constexpr std::uint64_t kNotLong = 65536;
  const std::uint64_t distance = (call - call_of(fingerprint)) % kFingerprintCalls;
  return !is_of_two(fingerprint) && distance != 0 && distance <= kNotLong;
}

/// @param fingerprint of a message. @param pending what the messages of the oldest call have that
/// has not ended, or make_fingerprint(0, its number) where that is not known.
/// @return whether the message is of none that was made here: of one before it, or of one that has
/// its number and differs.
[[nodiscard]] constexpr bool is_unmatched(std::uint64_t fingerprint,
                                          std::uint64_t pending) noexcept {
  const std::uint64_t call = call_of(pending);
  if (is_before(fingerprint, call)) return true;
  const bool is_known = pending != make_fingerprint(0, call);
  return is_known && !is_of_two(fingerprint) && call_of(fingerprint) == call &&
         fingerprint != pending;
}

}  // namespace tutti::v0
