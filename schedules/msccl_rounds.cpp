#include "schedules/msccl_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include <tutti/error.hpp>

#include "schedules/msccl_slots.hpp"
#include "schedules/written.hpp"

namespace tutti::v0::written {
namespace {

/// A run of chunks in a buffer of MSCCL.
struct Chunks {
  char buffer = 'o';
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// One end of a message, or a local step.
struct StepEnd {
  std::size_t rank = 0;
  Step::Kind kind = Step::Kind::finish;  // finish stands for a nop
  Chunks into{};                         // the destination; of a send the source
  Chunks from{};                         // the source of a local step
  WrittenPlace place{};
};

std::string text_of_part(const StepEnd& part) {
  return text_of_place(part.rank, part.place);
}

/// Calls a function; errors get the place of a part.
template <class Work>
auto at_part(const StepEnd& part, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    reject_written(text_of_part(part) + ": " + error.what());
  }
}

/// A node that waits for another one: at least `rounds` rounds later. 0 is allowed, since steps of
/// a round read the values before it.
struct Dependent {
  std::size_t node = 0;
  std::size_t rounds = 1;
};

/// A message with both its ends, or a local step.
struct Node {
  std::vector<StepEnd> parts{};
  std::vector<Dependent> dependents{};
  std::vector<std::size_t> earlier{};
  std::size_t group = 0;  // of nodes in one round; groups are in topological order
  std::size_t round = 0;
};

Chunks chunks_of(const std::string& buffer, std::int64_t first, std::int64_t count) {
  if (buffer != "i" && buffer != "o" && buffer != "s")
    reject_written(fmt::format("'{}' is not a buffer; expected i, o or s", buffer.substr(0, 40)));
  constexpr std::int64_t kMost = std::int64_t{1} << 22;
  if (first < 0 || count < 1 || first > kMost || count > kMost)
    reject_written(fmt::format("{} chunks from {} on are out of range", count, first));
  return {buffer.front(), first, count};
}

/// The steps of a file, and their dependencies.
class DependencyGraph {
 public:
  explicit DependencyGraph(const XmlAlgorithm& xml) : xml_{xml} {
    for (std::size_t rank = 0; rank < xml.ranks.size(); ++rank)
      for (const XmlBlock& block : xml.ranks[rank].blocks) add_block(rank, block);
    for (const auto& [key, ends] : pending_)
      if (!ends.sends.empty() || !ends.receives.empty())
        reject_written(fmt::format(
            "{}: gpu {} does not receive exactly the messages that gpu {} sends to it",
            text_of_part(
                nodes_[(ends.sends.empty() ? ends.receives : ends.sends).front()].parts.front()),
            std::get<1>(key), std::get<0>(key)));
    for (std::size_t rank = 0; rank < xml.ranks.size(); ++rank) add_waits(rank);
  }
  /// The nodes in the order of their rounds.
  std::vector<Node> sorted() {
    const std::size_t groups = find_groups();
    std::vector<std::vector<std::size_t>> members(groups);
    for (std::size_t i = 0; i < nodes_.size(); ++i) members[nodes_[i].group].push_back(i);
    std::vector<std::size_t> rounds(groups, 0);
    for (std::size_t group = 0; group < groups; ++group)
      for (const std::size_t i : members[group]) {
        nodes_[i].round = rounds[group];
        for (const Dependent& dependents : nodes_[i].dependents) {
          const std::size_t other = nodes_[dependents.node].group;
          if (other == group && dependents.rounds > 0)
            reject_written(text_of_part(nodes_[i].parts.front()) +
                           ": steps wait for each other in a cycle");
          rounds[other] = std::max(rounds[other], rounds[group] + dependents.rounds);
        }
      }
    std::ranges::stable_sort(nodes_, {}, &Node::round);
    return std::move(nodes_);
  }

 private:
  /// The first and the last node of a step. The first waits for other steps, and other steps wait
  /// for the last.
  struct Ends {
    std::size_t first = 0;
    std::size_t last = 0;
    Step::Kind kind = Step::Kind::finish;  // of the last
    // Whether the first one, or the step behind a nop, is a fold. A round may have several folds.
    bool folds = false;
  };
  struct Pending {
    std::vector<std::size_t> sends{};  // nodes with that end only, the earliest first
    std::vector<std::size_t> receives{};
  };
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // sender, receiver, channel

  std::size_t add_node(const StepEnd& part) {
    nodes_.emplace_back().parts.push_back(part);
    return nodes_.size() - 1;
  }
  /// Adds one end of a message. The other end may have been added already.
  std::size_t add_end(const Key& key, const StepEnd& part) {
    const bool sends = part.kind == Step::Kind::send;
    Pending& pending = pending_[key];
    std::vector<std::size_t>& others = sends ? pending.receives : pending.sends;
    if (others.empty()) {
      const std::size_t node = add_node(part);
      (sends ? pending.sends : pending.receives).push_back(node);
      return node;
    }
    const std::size_t node = others.front();
    others.erase(others.begin());
    if (nodes_[node].parts.front().into.count != part.into.count)
      reject_written("a message has different numbers of chunks at its two ends");
    nodes_[node].parts.push_back(part);
    return node;
  }
  void link(const Ends& before, const Ends& after) {
    if (before.kind == Step::Kind::recv_reduce && after.folds)
      add_edge(before.last, after.first, 0);
    else link(before.last, before.kind, after.first);
  }
  /// Steps behind a send or a nop may be in its round. Steps behind any other node are in a later
  /// round.
  void link(std::size_t before, Step::Kind kind, std::size_t after) {
    const bool may_be_same = kind == Step::Kind::send || kind == Step::Kind::finish;
    add_edge(before, after, may_be_same ? 0 : 1);
  }
  void add_edge(std::size_t before, std::size_t after, std::size_t rounds) {
    if (before == after) return;
    nodes_[before].dependents.push_back({after, rounds});
    nodes_[after].earlier.push_back(before);
  }

  /// The nodes in an order in which each is before those that wait for it, except in cycles.
  std::vector<std::size_t> in_order() const {
    std::vector<std::size_t> order;
    std::vector<bool> seen(nodes_.size(), false);
    std::vector<std::pair<std::size_t, std::size_t>> path;  // nodes, dependents visited
    for (std::size_t start = 0; start < nodes_.size(); ++start) {
      if (seen[start]) continue;
      seen[start] = true;
      path.push_back({start, 0});
      while (!path.empty()) {
        auto& [node, gone] = path.back();
        if (gone == nodes_[node].dependents.size()) {
          order.push_back(node);
          path.pop_back();
          continue;
        }
        const std::size_t next = nodes_[node].dependents[gone++].node;
        if (!seen[next]) path.push_back({next, 0});
        seen[next] = true;
      }
    }
    std::ranges::reverse(order);
    return order;
  }
  /// Makes each cycle a group (Kosaraju 1978). @return the number of groups.
  std::size_t find_groups() {
    std::size_t groups = 0;
    std::vector<bool> seen(nodes_.size(), false);
    std::vector<std::size_t> open;
    for (const std::size_t start : in_order()) {
      if (seen[start]) continue;
      seen[start] = true;
      open.push_back(start);
      while (!open.empty()) {
        const std::size_t node = open.back();
        open.pop_back();
        nodes_[node].group = groups;
        for (const std::size_t before : nodes_[node].earlier) {
          if (!seen[before]) open.push_back(before);
          seen[before] = true;
        }
      }
      ++groups;
    }
    return groups;
  }

  Ends add_step(std::size_t rank, const XmlBlock& block, std::size_t index) {
    const XmlStep& step = block.steps[index];
    const WrittenPlace place{block.id, static_cast<std::int64_t>(index)};
    const std::string& type = step.type;
    const auto self = static_cast<std::int64_t>(rank);
    if (type == "nop") {
      const std::size_t node = add_node({.rank = rank, .place = place});
      return {node, node, Step::Kind::finish};
    }
    const bool sends = type == "s" || type == "rcs" || type == "rrs" || type == "rrcs";
    const bool receives = type.starts_with("r") && type != "re";
    const bool reduces = type.starts_with("rr") || type == "re";
    const bool is_local = type == "re" || type == "cpy";
    if (!sends && !receives && !is_local)
      reject_written(fmt::format("'{}' is not a step", type.substr(0, 40)));
    // A result that is passed on and not kept overwrites the own operand.
    const bool keeps_at_source = type == "s" || type == "rrs";
    const Chunks into = keeps_at_source ? chunks_of(step.srcbuf, step.srcoff, step.cnt)
                                        : chunks_of(step.dstbuf, step.dstoff, step.cnt);
    const auto with = [&](std::int64_t peer) {
      if (peer < 0 || peer >= static_cast<std::int64_t>(xml_.ranks.size()) || peer == self)
        reject_written(fmt::format("rank {} cannot send to or receive from {}", rank, peer));
      return peer;
    };
    if (is_local) {
      const std::size_t node =
          add_node({rank, reduces ? Step::Kind::reduce : Step::Kind::copy, into,
                    chunks_of(step.srcbuf, step.srcoff, step.cnt), place});
      return {node, node, Step::Kind::copy};
    }
    std::optional<std::size_t> received;
    if (receives)
      received =
          add_end({with(block.recv), self, block.chan},
                  {rank, reduces ? Step::Kind::recv_reduce : Step::Kind::recv, into, {}, place});
    if (!sends) return {*received, *received, reduces ? Step::Kind::recv_reduce : Step::Kind::recv};
    const std::size_t sent =
        add_end({self, with(block.send), block.chan}, {rank, Step::Kind::send, into, {}, place});
    if (received) link(*received, Step::Kind::recv, sent);
    return {received.value_or(sent), sent, Step::Kind::send};
  }

  void add_block(std::size_t rank, const XmlBlock& block) {
    std::vector<Ends>& ends = ends_[{rank, block.id}];
    if (!ends.empty())
      reject_written(fmt::format("rank {} has two threadblocks {}", rank, block.id));
    for (std::size_t index = 0; index < block.steps.size(); ++index) {
      const StepEnd part{.rank = rank, .place = {block.id, static_cast<std::int64_t>(index)}};
      ends.push_back(at_part(part, [&] { return add_step(rank, block, index); }));
      ends.back().folds = folds(block, ends.size() - 1);
      if (ends.size() == 1) continue;
      const Ends& before = ends[ends.size() - 2];
      if (joins(block, ends.size() - 1)) add_edge(before.last, ends.back().first, 0);
      else link(before, ends.back());
    }
  }
  static bool folds(const XmlBlock& block, std::size_t index) {
    while (index + 1 < block.steps.size() && block.steps[index].type == "nop") ++index;
    return block.steps[index].type.starts_with("rr");
  }
  /// Whether a receive may be in the round of the receive before: messages are matched by their
  /// order, and this one uses no chunk that others of the round use, unless all reduce.
  static bool joins(const XmlBlock& block, std::size_t index) {
    const auto receives = [](const XmlStep& step) {
      return step.type == "r" || step.type == "rrc";
    };
    constexpr std::size_t kFew = 64;  // more would only take longer
    const XmlStep& step = block.steps[index];
    if (!receives(step) || !receives(block.steps[index - 1])) return false;
    for (std::size_t i = index; i-- > 0 && receives(block.steps[i]);) {
      const XmlStep& other = block.steps[i];
      const bool is_apart =
          step.dstoff >= other.dstoff + other.cnt || other.dstoff >= step.dstoff + step.cnt;
      if ((!is_apart && (step.type != "rrc" || other.type != "rrc")) || index - i > kFew)
        return false;
    }
    return true;
  }
  void add_waits(std::size_t rank) {
    for (const XmlBlock& block : xml_.ranks[rank].blocks)
      for (std::size_t i = 0; i < block.steps.size(); ++i) {
        const XmlStep& step = block.steps[i];
        if (step.depid < 0) continue;
        const auto found = ends_.find({rank, step.depid});
        if (found == ends_.end() || step.deps < 0 ||
            step.deps >= static_cast<std::int64_t>(found->second.size()))
          reject_written(fmt::format("{}: there is no step {} of tb {} to wait for",
                                     text_of_place(rank, {block.id, static_cast<std::int64_t>(i)}),
                                     step.deps, step.depid));
        link(found->second[static_cast<std::size_t>(step.deps)], ends_[{rank, block.id}][i]);
      }
  }

  const XmlAlgorithm& xml_;
  std::vector<Node> nodes_{};
  std::map<Key, Pending> pending_{};
  std::map<std::pair<std::size_t, std::int64_t>, std::vector<Ends>> ends_{};
};

/// No known program moves more chunks than this.
constexpr std::int64_t kMostChunks = std::int64_t{1} << 22;

/// Adds the steps of a node to the schedules of its ranks, chunk by chunk.
void add(const Node& node, SlotLayout& layout, WrittenSchedules& written) {
  if (node.parts.front().kind == Step::Kind::finish) return;
  const bool is_message = node.parts.size() == 2;
  const bool sender_first = node.parts.front().kind == Step::Kind::send;
  const StepEnd& to = node.parts[is_message && sender_first ? 1 : 0];
  const StepEnd& from = node.parts[is_message && !sender_first ? 1 : 0];
  const Chunks& source = is_message ? from.into : from.from;
  const auto add_to = [&written](const StepEnd& part, const Step& step) {
    written.schedules[part.rank].add(step);
    written.places[part.rank].push_back(part.place);
  };
  for (std::int64_t i = 0; i < to.into.count; ++i) {
    const Slots read =
        at_part(from, [&] { return layout.read(from.rank, source.buffer, source.first + i); });
    const Slots into =
        at_part(to, [&] { return layout.write(to.rank, to.into.buffer, to.into.first + i, read); });
    const auto sender = static_cast<Rank>(from.rank);
    if (is_message) add_to(from, Send{static_cast<Rank>(to.rank), read});
    if (to.kind == Step::Kind::recv) add_to(to, Recv{sender, into});
    if (to.kind == Step::Kind::recv_reduce) add_to(to, RecvReduce{sender, into});
    if (to.kind == Step::Kind::copy && !is_own_copy(Copy{read, into})) add_to(to, Copy{read, into});
    if (to.kind == Step::Kind::reduce) add_to(to, Reduce{read, into});
  }
}

/// Finishes all results at the end, since MSCCL's programs do not mark complete ones.
void finish(std::vector<Schedule>& schedules, const SlotLayout& layout) {
  const Contract& contract = layout.contract();
  const std::int64_t parts = layout.units() / contract.blocks();
  for (std::size_t rank = 0; rank < schedules.size() && contract.reduces(); ++rank)
    for (std::uint32_t block = 0; block < contract.blocks(); ++block)
      if (contract.wants_output(static_cast<Rank>(rank), block))
        schedules[rank].finish({Space::out, static_cast<std::uint32_t>(block * parts),
                                static_cast<std::uint32_t>(parts)});
}

}  // namespace

void add_rounds(const XmlAlgorithm& xml, Collective collective, WrittenSchedules& written) {
  if (xml.ranks.empty()) reject_written("there is no <gpu>");
  SlotLayout layout{xml, collective};
  std::vector<Schedule>& schedules = written.schedules;
  schedules.assign(xml.ranks.size(), layout.empty());
  written.places.assign(xml.ranks.size(), {});
  const std::vector<Node> nodes = DependencyGraph{xml}.sorted();
  std::int64_t chunks = 0;
  for (const Node& node : nodes) chunks += node.parts.front().into.count;
  if (chunks > kMostChunks)
    reject_written(fmt::format("it has {} chunks, which are too many", chunks));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    add(nodes[i], layout, written);
    if (i + 1 < nodes.size() && nodes[i + 1].round == nodes[i].round) continue;
    for (Schedule& schedule : schedules) schedule.end_round();
    layout.end_round();
  }
  finish(schedules, layout);
}

}  // namespace tutti::v0::written
