#include "program_builder.hpp"

#include <algorithm>

namespace tutti::inline v0::detail {

void ProgramBuilder::begin_round(bool waits) {
  if (!waits) last_.clear();
  touched_.clear();
  is_followed_.clear();
  before_last_.clear();
  first_of_round_ = size_of(program_.operations);
}

/// The next round comes after all that nothing else of this one comes after.
void ProgramBuilder::end_round() {
  if (touched_.empty()) return;
  last_.clear();
  for (std::uint32_t i = 0; i < touched_.size(); ++i)
    if (!is_followed_[i]) last_.push_back(first_of_round_ + i);
}

void ProgramBuilder::add_message(Operation operation, Accesses touched) {
  operation.message = messages();
  program_.messages.push_back(size_of(program_.operations));
  add(operation, std::move(touched));
}

void ProgramBuilder::end_messages() {
  if (!touched_.empty()) add_batch(first_of_round_, last_);
}

/// Combinations that wait for the same operations are one.
void ProgramBuilder::add_combine(Operation operation, Accesses touched,
                                 std::span<const std::uint32_t> waited) {
  std::vector<std::uint32_t> before = before_in_round(touched);
  if (waited.empty() && joins_last(before)) {
    program_.operations.back().combinations += operation.combinations;
    Accesses& all = touched_.back();
    all.reads.insert(all.reads.end(), touched.reads.begin(), touched.reads.end());
    all.writes.insert(all.writes.end(), touched.writes.begin(), touched.writes.end());
    return;
  }
  const std::uint32_t added = add(operation, std::move(touched));
  for (const std::uint32_t message : waited) {
    is_followed_.back() = true;
    const Operation& wait = program_.operations[program_.messages[message]];
    add({.verb = Verb::signal, .peer = wait.peer, .message = message}, {});
  }
  for (const std::uint32_t earlier : before) is_followed_[earlier - first_of_round_] = true;
  add_batch(added, before.empty() ? last_ : before);
  before_last_ = std::move(before);
}

bool ProgramBuilder::joins_last(const std::vector<std::uint32_t>& before) const {
  if (touched_.empty() || program_.operations.back().verb != Verb::combine) return false;
  std::vector<std::uint32_t> others = before;
  std::erase(others, size_of(program_.operations) - 1);
  return others == before_last_;
}

std::uint32_t ProgramBuilder::add(Operation operation, Accesses touched) {
  operation.round = program_.rounds;
  if (operation.verb == Verb::signal) {
    operation.first_piece = size_of(program_.pieces);
    operation.first_combination = size_of(program_.combinations);
  }
  program_.operations.push_back(operation);
  touched_.push_back(std::move(touched));
  is_followed_.push_back(false);
  return size_of(program_.operations) - 1;
}

/// The operations from `first` on start when some others are done.
void ProgramBuilder::add_batch(std::uint32_t first, std::span<const std::uint32_t> before) {
  const auto index = size_of(program_.batches);
  Batch batch{.first = first, .end = size_of(program_.operations)};
  if (program_.operations[first].verb != Verb::combine) {
    batch.first_message = program_.operations[first].message;
    batch.messages = batch.end - first;
  }
  program_.batches.push_back(batch);
  program_.needs.push_back(static_cast<std::uint32_t>(before.size()));
  if (before.empty()) program_.starts.push_back(index);
  for (const std::uint32_t earlier : before) links_.emplace_back(earlier, index);
}

std::vector<std::uint32_t> ProgramBuilder::before_in_round(const Accesses& touched) const {
  std::vector<std::uint32_t> before;
  for (std::uint32_t i = 0; i < touched_.size(); ++i)
    if (is_ordered(touched_[i], touched)) before.push_back(first_of_round_ + i);
  return before;
}

bool ProgramBuilder::is_ordered(const Accesses& before, const Accesses& after) const {
  const auto meet = [this](std::span<const Run> some, std::span<const Run> others) {
    return std::ranges::any_of(some, [&](const Run& a) {
      return std::ranges::any_of(others, [&](const Run& b) {
        const bool is_message = a.base == Base::message && b.base == Base::message;
        return is_message ? a.place == b.place : overlap(a, b, in_place_);
      });
    });
  };
  return meet(before.writes, after.reads) || meet(before.writes, after.writes) ||
         meet(before.reads, after.writes);
}

Program ProgramBuilder::finish(std::size_t held_bytes) {
  program_.held_bytes = held_bytes;
  std::ranges::stable_sort(links_, {}, &std::pair<std::uint32_t, std::uint32_t>::first);
  program_.operations.emplace_back();
  auto link = links_.begin();
  for (std::uint32_t i = 0; i < program_.operations.size(); ++i) {
    program_.operations[i].first_next = size_of(program_.next);
    for (; link != links_.end() && link->first == i; ++link) program_.next.push_back(link->second);
  }
  return std::move(program_);
}

}  // namespace tutti::inline v0::detail
