#include "verify_report.hpp"

namespace tutti::v0 {

std::string_view name_of(CheckKind kind) noexcept {
  switch (kind) {
    case CheckKind::shape: return "shape";
    case CheckKind::peer: return "peer";
    case CheckKind::bounds: return "bounds";
    case CheckKind::plane_crossed: return "plane_crossed";
    case CheckKind::input_written: return "input_written";
    case CheckKind::unit_changed: return "unit_changed";
    case CheckKind::unmatched_send: return "unmatched_send";
    case CheckKind::unmatched_receive: return "unmatched_receive";
    case CheckKind::mismatched_message: return "mismatched_message";
    case CheckKind::deadlock: return "deadlock";
    case CheckKind::race: return "race";
    case CheckKind::stale_input: return "stale_input";
    case CheckKind::unwritten_read: return "unwritten_read";
    case CheckKind::counted_twice: return "counted_twice";
    case CheckKind::missing_contribution: return "missing_contribution";
    case CheckKind::wrong_result: return "wrong_result";
    case CheckKind::finished_twice: return "finished_twice";
    case CheckKind::finished_operand: return "finished_operand";
    case CheckKind::not_finished: return "not_finished";
    case CheckKind::finish_without_reduction: return "finish_without_reduction";
    case CheckKind::operand_order: return "operand_order";
    case CheckKind::not_rank_identical: return "not_rank_identical";
    case CheckKind::not_size_invariant: return "not_size_invariant";
    case CheckKind::not_same_tree: return "not_same_tree";
    case CheckKind::not_rotational: return "not_rotational";
    case CheckKind::foreign_counts: return "foreign_counts";
    case CheckKind::out_of_step: return "out_of_step";
    case CheckKind::too_little_claimed: return "too_little_claimed";
    case CheckKind::build_failed: return "build_failed";
  }
  return "unknown";
}

}  // namespace tutti::v0

namespace tutti::verifying {

std::string text_of(Space space, std::int64_t slot) {
  const char* name = space == Space::in ? "in[" : space == Space::out ? "out[" : "scratch[";
  return name + std::to_string(slot) + "]";
}

std::string text_of(const FindingPlace& place) {
  std::string text = "rank " + std::to_string(place.rank);
  if (place.round >= 0) text += ", round " + std::to_string(place.round);
  if (place.slot >= 0) text += ", " + text_of(place.space, place.slot);
  return text;
}

void Report::add(CheckKind kind, const std::string& text, const FindingPlace& where) {
  constexpr std::size_t kEnough = 8;  // One mistake tends to have many consequences.
  if (findings_.size() >= kEnough) return;
  const Contract& contract = question_.contract;
  std::string message{question_.name};
  message += ' ';
  message += name_of(contract.collective);
  message += ", n=" + std::to_string(contract.size);
  if (is_rooted(contract.collective)) message += ", root " + std::to_string(contract.root);
  findings_.push_back(
      {kind, message + ", " + text, where.rank, where.round, where.slot, where.space});
}

}  // namespace tutti::verifying
