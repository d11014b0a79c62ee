#include "proof.hpp"

#include <exception>

#include "algorithms/hash.hpp"
#include "verify.hpp"
#include "verify_traits.hpp"

namespace tutti::v0::detail {
namespace {

std::uint64_t with(std::uint64_t hash, const Slots& slots) noexcept {
  return combine(combine(hash, static_cast<std::uint64_t>(slots.space)),
                 std::uint64_t{slots.first} << 32U | slots.count);
}

std::uint64_t with(std::uint64_t hash, const Schedule& schedule) {
  hash = combine(hash, std::uint64_t{schedule.units()} << 32U | schedule.planes());
  for (std::size_t round = 0; round < schedule.rounds(); ++round) {
    hash = combine(hash, round);
    for (const Step& step : schedule.round(round)) {
      hash = combine(hash, static_cast<std::uint64_t>(step.kind()) << 8U |
                               static_cast<std::uint64_t>(step.side()));
      hash = with(hash, step.slots());
      hash = step.has_peer() ? combine(hash, static_cast<std::uint64_t>(step.peer()))
                             : with(hash, step.from());
    }
  }
  return hash;
}

}  // namespace

Proof prove(const Choice& choice, const Contract& contract) {
  Proof proof;
  try {
    std::vector<Schedule> schedules;
    for (Rank rank = 0; rank < contract.size; ++rank)
      schedules.push_back(choice.build(contract.size, contract.root, rank));
    const std::string name = choice.text();
    Verifier verifier;
    const Claims claims = verifying::claims_of(choice, contract.size, contract.root, verifier);
    const Verdict verdict = verifier.verify(
        {.contract = contract, .schedules = schedules, .claims = claims, .name = name});
    if (!verdict.proved())
      proof.refusal = "it fails the proof: " + verdict.findings.front().message;
    for (const Schedule& schedule : schedules) proof.digest = with(proof.digest, schedule);
  } catch (const std::exception& error) {
    proof.refusal = error.what();
  }
  return proof;
}

}  // namespace tutti::v0::detail
