#include "program_graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tutti::v0::detail {
namespace {

constexpr std::size_t kNoSource = ~std::size_t{0};

std::size_t bytes_of(const Program& program, const Operation& operation) {
  std::size_t bytes = 0;
  for (const PlacedPiece& piece : program.pieces_of(operation)) bytes += piece.bytes;
  return bytes;
}

}  // namespace

ProgramGraph::ProgramGraph(const ProgramQuestion& question, bool in_place) {
  std::size_t operations = 0;
  for (const ProgramOfRank& rank : question.ranks) {
    first_.push_back(operations);
    operations += rank.program->size();
  }
  next_.resize(2 * operations);
  sources_.assign(operations, kNoSource);
  is_spared_.assign(operations, false);
  stays_.assign(operations, false);
  signalled_.assign(operations, kNoSource);
  for (std::size_t rank = 0; rank < first_.size(); ++rank)
    link_operations(*question.ranks[rank].program, first_[rank]);
  match_messages(question, in_place);
  if (problem_.empty() && in_place) link_waits(question);
  if (problem_.empty()) reach();
}

/// Operations of a batch that neither send nor receive run one after the other.
void ProgramGraph::link_operations(const Program& program, std::size_t first) {
  for (std::uint32_t i = 0; i < program.size(); ++i) {
    next_[2 * (first + i)].push_back(2 * (first + i) + 1);
    for (const std::uint32_t batch : program.next_of(i))
      for (std::uint32_t k = program.batches[batch].first; k < program.batches[batch].end; ++k)
        next_[2 * (first + i) + 1].push_back(2 * (first + k));
  }
  for (const Batch& batch : program.batches)
    for (std::uint32_t k = batch.first; batch.messages == 0 && k + 1 < batch.end; ++k)
      next_[2 * (first + k) + 1].push_back(2 * (first + k + 1));
}

const Operation& ProgramGraph::operation(const ProgramQuestion& question,
                                         std::size_t number) const {
  const auto after = std::ranges::upper_bound(first_, number);
  const auto rank = static_cast<std::size_t>(after - first_.begin()) - 1;
  return question.ranks[rank].program->operations[number - first_[rank]];
}

/// The messages from one rank to another match in their order.
void ProgramGraph::match_messages(const ProgramQuestion& question, bool in_place) {
  std::map<RankPair, Matched> messages;
  for (std::size_t rank = 0; rank < first_.size(); ++rank) {
    const Program& program = *question.ranks[rank].program;
    for (const std::uint32_t i : program.messages) {
      const auto peer = static_cast<std::size_t>(program.operations[i].peer);
      if (program.operations[i].kind == OperationKind::send)
        messages[{rank, peer}].sent.push_back(first_[rank] + i);
      else messages[{peer, rank}].received.push_back(first_[rank] + i);
    }
  }
  for (const auto& [way, matched] : messages) {
    check_match(question, way, matched);
    if (!problem_.empty()) return;
    for (std::size_t i = 0; i < matched.sent.size(); ++i)
      sources_[matched.received[i]] = matched.sent[i];
  }
  if (in_place) find_spared(question, messages);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i] == kNoSource || is_spared_[i]) continue;
    next_[2 * sources_[i]].push_back(2 * i + 1);
    next_[2 * i].push_back(2 * sources_[i] + 1);
  }
}

void ProgramGraph::check_match(const ProgramQuestion& question, const RankPair& way,
                               const Matched& matched) {
  const std::string words =
      " from rank " + std::to_string(way.first) + " to rank " + std::to_string(way.second);
  if (matched.sent.size() != matched.received.size()) {
    problem_ = std::to_string(matched.sent.size()) + " messages" + words + " are sent, " +
               std::to_string(matched.received.size()) + " are received";
    return;
  }
  const auto bytes = [&](std::size_t rank, std::size_t number) {
    return bytes_of(*question.ranks[rank].program, operation(question, number));
  };
  for (std::size_t i = 0; i < matched.sent.size() && problem_.empty(); ++i) {
    const std::size_t sent = bytes(way.first, matched.sent[i]);
    const std::size_t received = bytes(way.second, matched.received[i]);
    if (sent != received)
      problem_ = "message " + std::to_string(i) + words + " has " + std::to_string(sent) +
                 " bytes where " + std::to_string(received) + " are received";
  }
}

/// A message is spared where its receiver says with a send where it belongs, and who waits for that
/// send would send it: both name it by its number among the messages of its direction.
void ProgramGraph::find_spared(const ProgramQuestion& question,
                               const std::map<RankPair, Matched>& messages) {
  for (const auto& [way, matched] : messages) {
    const Program& sender = *question.ranks[way.first].program;
    const Program& receiver = *question.ranks[way.second].program;
    for (std::size_t i = 0; i < matched.sent.size(); ++i) {
      const Operation& sent = operation(question, matched.sent[i]);
      const Operation& received = operation(question, matched.received[i]);
      if (received.kind != OperationKind::wait || sender.forwards.empty()) continue;
      const Forward& place = sender.forwards[sent.message];
      const Forward& answer = receiver.forwards[received.message];
      if (place.spared == kNoMessage || answer.sent == kNoMessage ||
          place.ordinal != answer.ordinal)
        continue;
      const std::size_t spared = first_[way.first] + sender.messages[place.spared];
      const std::size_t unsent = first_[way.second] + receiver.messages[answer.sent];
      if (sources_[spared] != unsent) {
        problem_ = "rank " + std::to_string(way.second) + " spares another message to rank " +
                   std::to_string(way.first) + " than that waits for";
        return;
      }
      spared_by_[matched.received[i]] = spared;
      is_spared_[spared] = is_spared_[unsent] = true;
    }
  }
}

/// A rank that waits reads until its signal, which must exist.
void ProgramGraph::link_waits(const ProgramQuestion& question) {
  for (std::size_t rank = 0; rank < first_.size(); ++rank) {
    const Program& program = *question.ranks[rank].program;
    std::vector<int> signals(program.messages.size());
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      if (program.operations[i].kind != OperationKind::signal) continue;
      const std::uint32_t message = program.operations[i].message;
      const std::size_t wait = first_[rank] + program.messages[message];
      ++signals[message];
      next_[2 * wait + 1].push_back(2 * (first_[rank] + i));
      stays_[wait] = operation(question, sources_[wait]).pieces == 1;
      if (!stays_[wait]) continue;
      signalled_[first_[rank] + i] = sources_[wait];
      next_[2 * (first_[rank] + i)].push_back(2 * sources_[wait] + 1);
    }
    for (std::size_t i = 0; i < signals.size(); ++i)
      if (signals[i] !=
          (program.operations[program.messages[i]].kind == OperationKind::wait ? 1 : 0))
        problem_ = "rank " + std::to_string(rank) + " gives " + std::to_string(signals[i]) +
                   " signals for its message " + std::to_string(i);
  }
}

/// From the last one to the first, in an order that is legal.
void ProgramGraph::reach() {
  words_ = (next_.size() + 63) / 64;
  std::vector<std::size_t> needs(next_.size()), order;
  for (const auto& nexts : next_)
    for (const std::size_t next : nexts) ++needs[next];
  for (std::size_t i = 0; i < next_.size(); ++i)
    if (needs[i] == 0) order.push_back(i);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::size_t next : next_[order[i]])
      if (--needs[next] == 0) order.push_back(next);
  if (order.size() < next_.size()) {
    problem_ = std::to_string(next_.size() - order.size()) +
               " starts and ends of operations wait for themselves";
    return;
  }
  reached_.assign(next_.size() * words_, 0);
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    std::uint64_t* const own = &reached_[*node * words_];
    for (const std::size_t next : next_[*node]) {
      own[next / 64] |= std::uint64_t{1} << (next % 64);
      for (std::size_t word = 0; word < words_; ++word) own[word] |= reached_[next * words_ + word];
    }
  }
}

/// As if messages were buffered: what is sent is what stood there when all that the send needs was
/// done, whenever it is received.
std::vector<std::size_t> ProgramGraph::order(std::uint64_t seed) const {
  std::vector<std::size_t> needs(size()), ready, order;
  const auto for_each_next = [&](std::size_t operation, const auto& visit) {
    for (const std::size_t next : next_[2 * operation + 1]) visit(next / 2);
    for (const std::size_t next : next_[2 * operation])
      if (next % 2 == 1 && next / 2 != operation && sources_[next / 2] == operation)
        visit(next / 2);
    if (signalled_[operation] == kNoSource) return;
    for (const std::size_t next : next_[2 * signalled_[operation] + 1]) visit(next / 2);
  };
  for (std::size_t i = 0; i < size(); ++i)
    for_each_next(i, [&](std::size_t next) { ++needs[next]; });
  for (std::size_t i = 0; i < size(); ++i)
    if (needs[i] == 0) ready.push_back(i);
  while (!ready.empty()) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const std::size_t chosen = (seed >> 33U) % ready.size();
    order.push_back(ready[chosen]);
    ready[chosen] = ready.back();
    ready.pop_back();
    for_each_next(order.back(), [&](std::size_t next) {
      if (--needs[next] == 0) ready.push_back(next);
    });
  }
  return order;
}

}  // namespace tutti::v0::detail
