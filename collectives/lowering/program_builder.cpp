#include "program_builder.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tutti::v0::detail {

void ProgramBuilder::begin_round(bool waits) {
  if (!waits) last_.clear();
  if (paced_) accesses_.forget();
  is_followed_.clear();
  before_last_.clear();
  first_of_round_ = size_of(program_.operations);
}

/// The next paced round starts after the operations of this one that no other of it follows.
void ProgramBuilder::end_round() {
  if (!paced_ || is_followed_.empty()) return;
  last_.clear();
  for (std::uint32_t i = 0; i < is_followed_.size(); ++i)
    if (!is_followed_[i]) last_.push_back(first_of_round_ + i);
}

/// Messages that start after the same operations are one batch, even if they are of several rounds.
void ProgramBuilder::add_message(Operation operation, const Accesses& accesses,
                                 std::uint32_t answered) {
  Numbers before = last_;
  if (!paced_) {
    before = this->before(accesses);
    const auto [last, is_first] = last_of_peer_.try_emplace(
        {operation.peer, operation.kind == OperationKind::send}, size_of(program_.operations));
    if (!is_first) before.push_back(std::exchange(last->second, size_of(program_.operations)));
    if (answered != kNoMessage) before.push_back(signals_.at(answered));
    reduce(before);
  }
  if (before != before_open_) end_messages();
  before_open_ = std::move(before);
  operation.message = messages();
  program_.messages.push_back(size_of(program_.operations));
  accesses_.note(accesses, add(operation));
}

void ProgramBuilder::end_messages() {
  if (first_open_ < size_of(program_.operations)) add_batch(first_open_, before_open_);
}

/// Combinations that can run in a row, without a wait between them, are one operation.
void ProgramBuilder::add_combine(Operation operation, const Accesses& accesses,
                                 std::span<const std::uint32_t> waited) {
  Numbers before = this->before(accesses);
  if (waited.empty() && joins_last(before)) {
    program_.operations.back().combinations += operation.combinations;
    return accesses_.note(accesses, size_of(program_.operations) - 1);
  }
  end_messages();
  reduce(before);
  const std::uint32_t added = add(operation);
  accesses_.note(accesses, added);
  for (const std::uint32_t message : waited) {
    is_followed_.back() = true;
    const Operation& wait = program_.operations[program_.messages[message]];
    signals_[message] = add({.kind = OperationKind::signal, .peer = wait.peer, .message = message});
  }
  for (const std::uint32_t earlier : before)
    if (earlier >= first_of_round_) is_followed_[earlier - first_of_round_] = true;
  add_batch(added, before.empty() ? last_ : before);
  before_last_ = std::move(before);
}

bool ProgramBuilder::joins_last(const Numbers& before) const {
  if (is_followed_.empty() || program_.operations.back().kind != OperationKind::combine)
    return false;
  Numbers others = before;
  const bool follows = std::erase(others, size_of(program_.operations) - 1) > 0;
  reduce(others);
  return others == before_last_ || (follows && std::ranges::includes(before_last_, others));
}

std::uint32_t ProgramBuilder::add(Operation operation) {
  operation.round = program_.rounds;
  if (operation.kind == OperationKind::signal) {
    operation.first_piece = size_of(program_.pieces);
    operation.first_combination = size_of(program_.combinations);
  }
  program_.operations.push_back(operation);
  is_followed_.push_back(false);
  return size_of(program_.operations) - 1;
}

/// Makes a batch of the operations from `first` on, which starts when those of `before` are done.
void ProgramBuilder::add_batch(std::uint32_t first, Numbers before) {
  const auto index = size_of(program_.batches);
  Batch batch{.first = first, .end = size_of(program_.operations)};
  if (program_.operations[first].kind != OperationKind::combine) {
    batch.first_message = program_.operations[first].message;
    batch.messages = batch.end - first;
  }
  program_.batches.push_back(batch);
  program_.needs.push_back(size_of(before));
  if (before.empty()) program_.starts.push_back(index);
  first_open_ = batch.end;
  batch_of_.resize(batch.end, index);
  before_.push_back(std::move(before));
}

ProgramBuilder::Numbers ProgramBuilder::before(const Accesses& accesses) const {
  Numbers before;
  accesses_.collect(accesses, before);
  std::ranges::sort(before);
  before.erase(std::unique(before.begin(), before.end()), before.end());
  return before;
}

/// Removes operations after which another one of the list starts anyway.
void ProgramBuilder::reduce(Numbers& before) const {
  std::ranges::sort(before);
  before.erase(std::unique(before.begin(), before.end()), before.end());
  if (before.size() < 2) return;
  Numbers implied;
  std::uint32_t batch = kNoMessage;
  for (const std::uint32_t earlier : before) {
    if (earlier >= batch_of_.size() || batch_of_[earlier] == batch) continue;
    batch = batch_of_[earlier];
    implied.insert(implied.end(), before_[batch].begin(), before_[batch].end());
  }
  std::ranges::sort(implied);
  Numbers left;
  std::ranges::set_difference(before, implied, std::back_inserter(left));
  before = std::move(left);
}

Program ProgramBuilder::finish(std::size_t held_bytes) {
  end_messages();
  program_.held_bytes = held_bytes;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links;  // operation, batch after it
  for (std::uint32_t batch = 0; batch < before_.size(); ++batch)
    for (const std::uint32_t earlier : before_[batch]) links.emplace_back(earlier, batch);
  std::ranges::stable_sort(links, {}, &std::pair<std::uint32_t, std::uint32_t>::first);
  program_.operations.emplace_back();
  auto link = links.begin();
  for (std::uint32_t i = 0; i < program_.operations.size(); ++i) {
    program_.operations[i].first_next = size_of(program_.next);
    for (; link != links.end() && link->first == i; ++link) program_.next.push_back(link->second);
  }
  return std::move(program_);
}

}  // namespace tutti::v0::detail
