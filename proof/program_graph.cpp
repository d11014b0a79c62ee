#include "program_graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tutti::inline v0::detail {
namespace {

constexpr std::size_t kNoSource = ~std::size_t{0};

std::size_t bytes_of(const Program& program, const Operation& operation) {
  std::size_t bytes = 0;
  for (const PlacedPiece& piece : program.pieces_of(operation)) bytes += piece.bytes;
  return bytes;
}

}  // namespace

ProgramGraph::ProgramGraph(const ProgramQuestion& question) {
  std::size_t operations = 0;
  for (const ProgramOfRank& rank : question.ranks) {
    first_.push_back(operations);
    operations += rank.program->size();
  }
  next_.resize(2 * operations);
  sources_.assign(operations, kNoSource);
  for (std::size_t rank = 0; rank < first_.size(); ++rank)
    link_operations(*question.ranks[rank].program, first_[rank]);
  match_messages(question);
  if (problem_.empty()) reach();
}

void ProgramGraph::link_operations(const Program& program, std::size_t first) {
  for (std::uint32_t i = 0; i < program.size(); ++i) {
    next_[2 * (first + i)].push_back(2 * (first + i) + 1);
    for (const std::uint32_t batch : program.next_of(i))
      for (std::uint32_t k = program.batches[batch].first; k < program.batches[batch].end; ++k)
        next_[2 * (first + i) + 1].push_back(2 * (first + k));
  }
}

/// The messages from one rank to another match in their order.
void ProgramGraph::match_messages(const ProgramQuestion& question) {
  using Way = std::pair<std::size_t, std::size_t>;  // from, to
  std::map<Way, std::vector<std::size_t>> sent, received;
  std::vector<std::size_t> bytes(sources_.size());
  for (std::size_t rank = 0; rank < first_.size(); ++rank) {
    const Program& program = *question.ranks[rank].program;
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      const Operation& operation = program.operations[i];
      if (operation.verb == Verb::combine) continue;
      const auto peer = static_cast<std::size_t>(operation.peer);
      bytes[first_[rank] + i] = bytes_of(program, operation);
      if (operation.verb == Verb::send) sent[{rank, peer}].push_back(first_[rank] + i);
      else received[{peer, rank}].push_back(first_[rank] + i);
    }
  }
  for (const auto& [way, receives] : received) sent[way];
  for (const auto& [way, sends] : sent) {
    const std::vector<std::size_t>& receives = received[way];
    const std::string words =
        " from rank " + std::to_string(way.first) + " to rank " + std::to_string(way.second);
    if (sends.size() != receives.size()) {
      problem_ = std::to_string(sends.size()) + " messages" + words + " are sent, " +
                 std::to_string(receives.size()) + " are received";
      return;
    }
    for (std::size_t i = 0; i < sends.size(); ++i) {
      if (bytes[sends[i]] != bytes[receives[i]]) {
        problem_ = "message " + std::to_string(i) + words + " has " +
                   std::to_string(bytes[sends[i]]) + " bytes where " +
                   std::to_string(bytes[receives[i]]) + " are received";
        return;
      }
      sources_[receives[i]] = sends[i];
      next_[2 * sends[i]].push_back(2 * receives[i] + 1);
      next_[2 * receives[i]].push_back(2 * sends[i] + 1);
    }
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
      if (next % 2 == 1 && sources_[next / 2] == operation) visit(next / 2);
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

}  // namespace tutti::inline v0::detail
