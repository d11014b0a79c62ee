/// @file
/// Graphs: what streams have recorded, and its launches.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "tests/cuda/standin/arena.hpp"
#include "tests/cuda/standin/event.hpp"
#include "tests/cuda/standin/stream.hpp"

namespace tutti::standin {

/// Something recorded, which each launch enqueues anew.
struct Node {
  std::function<void(std::vector<Work>&)> add;  ///< Appends what is to be enqueued.
  std::vector<std::size_t> after;               ///< The nodes that come before it.
  std::size_t lane = 0;                         ///< Which of the streams has recorded it.
};

/// @return a node that is the same work each time.
/// @param context of the stream that records it; it fails with the work, on any stream.
Node node_of(Work work, Context& context);

/// Recorded operations, in an order in which they can run. They do not change once the recording
/// has ended.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  /// Its allocations have no addresses from then on.
  ~Graph();

  /// @param recorder that records the node. @return the number of the node.
  std::size_t add(Node node, const Stream& recorder);
  std::size_t size() const noexcept { return nodes_.size(); }
  /// @return a handle of a node, the same each time.
  /// @return whether all nodes are among these or come before them.
  bool is_covered_by(const std::set<std::size_t>& tails) const;

  /// Keeps room for memory that each launch allocates at the same address.
  void keep_room(Arena& arena, CUdeviceptr start);
  /// Each launch frees this memory, which it has allocated. @return false if it does not, or twice.
  bool free_room(CUdeviceptr start);
  bool has_memory() const noexcept { return !rooms_.empty(); }
  /// A launch allocates what it does not free. @param frees whether it first frees what the last
  /// one has left, for which it appends the work. @return false if something is left.
  bool allocate(bool frees, std::vector<Work>& works) const;
  /// Appends the work of all nodes.
  void append(std::vector<Work>& works) const;
  /// @return the contexts of the streams that have recorded, one per lane.
  const std::vector<Context*>& lanes() const noexcept { return lanes_; }
  /// Appends the work of all nodes, by lane. They wait for each other.
  void append(std::vector<std::vector<Work>>& works) const;

  /// Notes that it has been recorded.
  void close() noexcept { closed_ = true; }
  bool is_closed() const noexcept { return closed_; }
  /// How many executables there are.
  std::atomic<int>& instances() noexcept { return instances_; }

 private:
  struct Room {
    Arena* arena;
    CUdeviceptr start;
    bool freed = false;  ///< By the graph itself.
  };

  std::vector<Node> nodes_;
  std::map<const Stream*, std::size_t> lane_of_;
  std::vector<Context*> lanes_;
  std::vector<Room> rooms_;
  std::atomic<bool> closed_{false};
  std::atomic<int> instances_{0};
};

/// A graph that can be launched, again and again. The work of the first stream runs on the stream
/// of the launch, that of others on streams of its own, at the same time.
class Executable {
 public:
  /// @param frees whether a launch frees what the last one has left allocated.
  Executable(std::shared_ptr<Graph> graph, bool frees);
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  ~Executable();

  const std::shared_ptr<Graph>& graph() const noexcept { return graph_; }
  /// Enqueues all of it, behind its last launch.
  CUresult launch(Stream& on);

 private:
  const std::shared_ptr<Graph> graph_;
  const bool frees_;
  std::vector<std::shared_ptr<Stream>> others_;  ///< For the lanes but the first.
  std::mutex mutex_;
  std::shared_ptr<const Mark> last_;  ///< The end of the last launch.
};

}  // namespace tutti::standin
