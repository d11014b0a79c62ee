#include "verify_flow.hpp"

#include <algorithm>

#include "verify_slots.hpp"

namespace tutti::verifying {

void DataFlow::run(const Question& question, Report& report) {
  question_ = &question;
  report_ = &report;
  reset(question);
  for (std::size_t rank = 0; rank < size_ && report.empty(); ++rank) start_round(rank);
  while (!ready_.empty() && report.empty()) {
    const std::size_t rank = ready_.back();
    ready_.pop_back();
    finish_round(rank);
    if (!report.empty()) return;
    ++states_[rank].round;
    start_round(rank);
  }
  if (report.empty()) report_deadlock();
}

void DataFlow::reset(const Question& question) {
  size_ = question.schedules.size();
  units_ = question.schedules[0].units();
  parts_ = units_ / question.contract.blocks();
  idempotent_ = question.contract.idempotent();
  values_.reset(question.contract.size, idempotent_);
  first_disorder_.clear();
  if (states_.size() < size_) states_.resize(size_);
  std::size_t cells = 0;
  std::size_t largest = 0;
  for (std::size_t rank = 0; rank < size_; ++rank) {
    RankRound& state = states_[rank];
    state.round = 0;
    state.pending = 0;
    state.messages.clear();
    state.cells = cells;
    const std::size_t own =
        std::size_t{units_} * (1 + std::size_t{question.schedules[rank].planes()});
    cells += own;
    largest = std::max(largest, own);
  }
  cells_.assign(cells, Value{});
  posts_.assign(2 * size_ * size_, 0);
  ready_.clear();
  if (grouped_.size() < 2 * size_) {
    grouped_.resize(2 * size_);
    group_epoch_.resize(2 * size_, 0);
  }
  if (sums_.size() < largest) {
    sums_.resize(largest);
    sum_epoch_.resize(largest, 0);
    own_epoch_.resize(largest, 0);
  }
}

Value DataFlow::read(std::size_t rank, Space space, std::uint32_t slot) const {
  const RankRound& state = states_[rank];
  if (space == Space::scratch) return cells_[state.cells + units_ + slot];
  if (space == Space::out) {
    const Value value = cells_[state.cells + slot];
    if (value.present()) return value;
  }
  const auto self = static_cast<Rank>(rank);
  return question_->contract.has_input(self, slot / parts_) ? values_.leaf(self) : Value{};
}

Value DataFlow::read_or_report(std::size_t rank, const Slots& slots, std::uint32_t index) {
  const Value value = read(rank, slots.space, slots.first + index);
  if (!value.present())
    report_->add(CheckKind::unwritten_read, place(rank, slots, index),
                 "reads a slot that was never written, and the rank has no such input");
  return value;
}

void DataFlow::start_round(std::size_t rank) {
  RankRound& state = states_[rank];
  state.messages.clear();
  if (state.round == question_->schedules[rank].rounds()) return;
  group_messages(state, steps_of(rank));
  state.pending = state.messages.size();
  if (state.pending == 0) ready_.push_back(rank);
  post_messages(rank);
}

void DataFlow::group_messages(RankRound& state, std::span<const Step> steps) {
  ++epoch_;
  state.next.resize(steps.size());
  state.arrivals.resize(steps.size());
  std::size_t arriving = 0;
  for (std::uint32_t index = 0; index < steps.size(); ++index) {
    const Step& step = steps[index];
    if (!step.has_peer()) continue;
    const Direction direction = step.kind() == Step::Kind::send ? outgoing : incoming;
    if (direction == incoming) {
      state.arrivals[index] = arriving;
      arriving += step.slots().count;
    }
    const std::size_t key = direction * size_ + static_cast<std::size_t>(step.peer());
    if (group_epoch_[key] != epoch_) {
      group_epoch_[key] = epoch_;
      grouped_[key] = state.messages.size();
      state.messages.push_back({step.peer(), direction, index, index});
    } else {
      MessageSteps& message = state.messages[grouped_[key]];
      state.next[message.last] = index;
      message.last = index;
    }
  }
  state.received.resize(arriving);
}

void DataFlow::post_messages(std::size_t rank) {
  const std::vector<MessageSteps>& messages = states_[rank].messages;
  for (std::uint32_t index = 0; index < messages.size() && report_->empty(); ++index) {
    const MessageSteps& message = messages[index];
    const auto peer = static_cast<std::size_t>(message.peer);
    const Direction opposite = message.direction == outgoing ? incoming : outgoing;
    std::uint32_t& there = post(opposite, peer, static_cast<Rank>(rank));
    if (there == 0) {
      post(message.direction, rank, message.peer) = index + 1;
      continue;
    }
    const MessageSteps& other = states_[peer].messages[there - 1];
    there = 0;
    if (message.direction == outgoing) {
      transfer(rank, message, peer, other);
    } else {
      transfer(peer, other, rank, message);
    }
    moved(rank);
    moved(peer);
  }
}

void DataFlow::moved(std::size_t rank) {
  if (--states_[rank].pending == 0) ready_.push_back(rank);
}

struct DataFlow::Cursor {
  const RankRound& state;
  std::span<const Step> steps;
  const MessageSteps& message;
  std::uint32_t step;
  std::uint32_t index = 0;
  bool done = false;

  Cursor(const RankRound& of, std::span<const Step> round, const MessageSteps& walked)
      : state{of}, steps{round}, message{walked}, step{walked.first} {
    skip_ended_steps();
  }
  void advance() {
    ++index;
    skip_ended_steps();
  }
  [[nodiscard]] Slots slots() const { return steps[step].slots(); }

 private:
  void skip_ended_steps() {
    while (!done && index == steps[step].slots().count) {
      done = step == message.last;
      if (!done) step = state.next[step];
      index = 0;
    }
  }
};

void DataFlow::transfer(std::size_t sender, const MessageSteps& sent, std::size_t receiver,
                        const MessageSteps& received) {
  RankRound& target = states_[receiver];
  Cursor from{states_[sender], steps_of(sender), sent};
  Cursor into{target, steps_of(receiver), received};
  for (; !from.done && !into.done; from.advance(), into.advance()) {
    const std::uint32_t have = unit_of(from.slots(), from.index, units_);
    const std::uint32_t want = unit_of(into.slots(), into.index, units_);
    if (have != want) {
      report_->add(CheckKind::mismatched_message, place(receiver, into.slots(), into.index),
                   "expects unit " + std::to_string(want) + " where rank " +
                       std::to_string(sender) + ", round " + std::to_string(states_[sender].round) +
                       ", sends unit " + std::to_string(have));
      return;
    }
    const Value value = read_or_report(sender, from.slots(), from.index);
    if (!value.present()) return;
    target.received[target.arrivals[into.step] + into.index] = value;
  }
  if (from.done == into.done) return;
  const FindingPlace where{.rank = static_cast<Rank>(receiver),
                           .round = static_cast<std::int64_t>(target.round)};
  report_->add(CheckKind::mismatched_message, where,
               std::string{"expects "} + (from.done ? "more" : "fewer") + " parts than rank " +
                   std::to_string(sender) + " sends in round " +
                   std::to_string(states_[sender].round));
}

void DataFlow::report_deadlock() {
  // Every blocked rank waits for another blocked one, because sends and receives of each pair are
  // equally many; so following the waits ends in a cycle.
  std::size_t rank = 0;
  while (rank < size_ && states_[rank].pending == 0) ++rank;
  if (rank == size_) return;
  std::vector<std::size_t> chain{};
  while (std::find(chain.begin(), chain.end(), rank) == chain.end()) {
    chain.push_back(rank);
    for (const MessageSteps& message : states_[rank].messages) {
      if (post(message.direction, rank, message.peer) == 0) continue;
      rank = static_cast<std::size_t>(message.peer);
      break;
    }
  }
  std::string text{"deadlock if nothing is buffered: "};
  for (auto at = std::find(chain.begin(), chain.end(), rank); at != chain.end(); ++at)
    text += waiting_text(*at) + ", ";
  report_->add(CheckKind::deadlock, text + "and so on in a cycle");
}

std::string DataFlow::waiting_text(std::size_t rank) const {
  const RankRound& state = states_[rank];
  for (const MessageSteps& message : state.messages) {
    const auto peer = static_cast<std::size_t>(message.peer);
    if (posts_[(message.direction * size_ + rank) * size_ + peer] == 0) continue;
    const char* verb =
        message.direction == outgoing ? " waits to send to rank " : " waits to receive from rank ";
    return "rank " + std::to_string(rank) + " in round " + std::to_string(state.round) + verb +
           std::to_string(peer);
  }
  return "rank " + std::to_string(rank);
}

}  // namespace tutti::verifying
