// The text of a selection.
#include <string>

#include "selector.hpp"
#include "words.hpp"

namespace tutti::v0::detail {
namespace {

/// Cuts the text of a choice: it may list all links of a network.
std::string shortened(std::string text) {
  constexpr std::size_t kMost = 100;
  if (text.size() > kMost) text.replace(kMost - 3, std::string::npos, "...");
  return text;
}

std::string words_of(const NetworkTerms& terms) {
  return " (latency " + microseconds(terms.latency) + ", messages " + microseconds(terms.messages) +
         ", links " + microseconds(terms.bytes) + ", reductions " + microseconds(terms.reductions) +
         ")";
}

}  // namespace

std::string nanoseconds(Femtoseconds time) {
  const std::string thousandths = std::to_string(time / 1000 % 1000);
  return std::to_string(time / 1'000'000) + "." + std::string(3 - thousandths.size(), '0') +
         thousandths + " ns";
}

std::string microseconds(Femtoseconds time) {
  const std::int64_t tenths = time / 100'000'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " us";
}

std::string words_of(const LinkCosts& costs) {
  return microseconds(costs.alpha) + " per message, " +
         (costs.round == 0 ? "" : microseconds(costs.round) + " per round, ") +
         nanoseconds(costs.beta) +
         (costs.half_duplex ? " per byte in and per byte out, " : " per byte moved, ") +
         nanoseconds(costs.gamma) + " per byte reduced, " +
         (costs.gamma_read == 0 ? "" : nanoseconds(costs.gamma_read) + " if read in place, ");
}

std::string Selection::explain() const {
  std::string text = chosen.choice.text();
  if (!transport.empty()) text += " by " + transport;
  text += forced               ? " (forced"
          : chosen.is_measured ? " (measured: " + measured
                               : " (least predicted time";
  if (determinism > Determinism::rank_identical) text += ", " + std::string{name_of(determinism)};
  text += ")";
  if (!chosen.is_measured && !measured.empty())
    text += "\n  measured, but not applicable: " + measured;
  text += "\n  at " + costs;
  for (const Candidate& candidate : candidates) {
    text += "\n  " + shortened(candidate.choice.text());
    if (candidate.segment_bytes > 0)
      text += ", segments of " + std::to_string(candidate.segment_bytes) + " bytes";
    text += ": ";
    if (!candidate.refusal.empty()) text += "left out, " + candidate.refusal;
    else
      text += microseconds(candidate.predicted) +
              (on_network ? words_of(candidate.terms) : std::string{});
  }
  for (const Selection& other : other_routes)
    text += "\nnot chosen, " + microseconds(other.chosen.predicted) + ": " + other.explain();
  return text;
}

}  // namespace tutti::v0::detail
