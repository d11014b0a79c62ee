#include "graph.hpp"

#include <algorithm>
#include <utility>

#include "tests/cuda/standin/driver.hpp"

namespace tutti::standin {

Node node_of(Work work, Context& context) {
  work.run = [run = std::move(work.run), &context](const Stream& on) {
    const CUresult result = run(on);
    if (result != CUDA_SUCCESS) context.fail(result);
    return result;
  };
  return {.add = [work = std::move(work)](std::vector<Work>& to) { to.push_back(work); },
          .after = {}};
}

Graph::~Graph() {
  for (const Room& room : rooms_) room.arena->release(room.start);
}

std::size_t Graph::add(Node node, const Stream& recorder) {
  const auto [lane, is_new] = lane_of_.try_emplace(&recorder, lanes_.size());
  if (is_new) lanes_.push_back(&recorder.context());
  node.lane = lane->second;
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

// A node comes later than all that it depends on.
bool Graph::is_covered_by(const std::set<std::size_t>& tails) const {
  std::set<std::size_t> covered = tails;
  for (std::size_t node = nodes_.size(); node-- > 0;) {
    if (!covered.contains(node)) return false;
    covered.insert(nodes_[node].after.begin(), nodes_[node].after.end());
  }
  return true;
}

void Graph::keep_room(Arena& arena, CUdeviceptr start) {
  arena.keep(start);
  rooms_.push_back({.arena = &arena, .start = start});
}

bool Graph::free_room(CUdeviceptr start) {
  const auto found =
      std::ranges::find_if(rooms_, [&](const Room& room) { return room.start == start; });
  return found != rooms_.end() && !std::exchange(found->freed, true);
}

bool Graph::allocate(bool frees, std::vector<Work>& works) const {
  const auto is_left = [](const Room& room) {
    return !room.freed && room.arena->is_live(room.start);
  };
  if (!frees && std::ranges::any_of(rooms_, is_left)) return false;
  for (const Room& room : rooms_) {
    if (room.freed) continue;
    if (room.arena->retire(room.start))
      works.push_back({.run =
                           [room](const Stream&) {
                             room.arena->close(room.start);
                             return CUDA_SUCCESS;
                           },
                       .always = true});
    room.arena->revive(room.start);
  }
  return true;
}

void Graph::append(std::vector<Work>& works) const {
  for (const Node& node : nodes_) node.add(works);
}

// A node that another lane waits for reaches a mark.
void Graph::append(std::vector<std::vector<Work>>& works) const {
  std::vector<std::shared_ptr<Mark>> marks(nodes_.size());
  for (const Node& node : nodes_)
    for (const std::size_t before : node.after)
      if (nodes_[before].lane != node.lane && marks[before] == nullptr)
        marks[before] = std::make_shared<Mark>();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    std::vector<Work>& lane = works.at(nodes_[i].lane);
    for (const std::size_t before : nodes_[i].after)
      if (nodes_[before].lane != nodes_[i].lane) lane.push_back(work_that_waits_for(marks[before]));
    nodes_[i].add(lane);
    if (marks[i] != nullptr) lane.push_back(work_that_reaches(marks[i]));
  }
}

Executable::Executable(std::shared_ptr<Graph> graph, bool frees)
    : graph_{std::move(graph)}, frees_{frees} {
  ++graph_->instances();
  for (std::size_t lane = 1; lane < graph_->lanes().size(); ++lane)
    others_.push_back(driver().streams.create_unnamed(*graph_->lanes()[lane]));
}

Executable::~Executable() {
  for (const auto& stream : others_) driver().streams.retire(stream);
  --graph_->instances();
}

CUresult Executable::launch(Stream& on) {
  const std::scoped_lock lock{mutex_};
  std::vector<Work> works;
  if (last_ != nullptr) works.push_back(work_that_waits_for(last_));
  if (!graph_->allocate(frees_, works)) return CUDA_ERROR_INVALID_VALUE;
  const auto start = std::make_shared<Mark>();
  works.push_back(work_that_reaches(start));
  std::vector<std::vector<Work>> lanes(others_.size() + 1);
  lanes[0] = std::move(works);
  for (std::size_t lane = 1; lane < lanes.size(); ++lane)
    lanes[lane].push_back(work_that_waits_for(start));
  graph_->append(lanes);
  works = std::move(lanes[0]);
  for (std::size_t lane = 1; lane < lanes.size(); ++lane) {
    const auto done = std::make_shared<Mark>();
    lanes[lane].push_back(work_that_reaches(done));
    works.push_back(work_that_waits_for(done));
  }
  const auto end = std::make_shared<Mark>();
  works.push_back(work_that_reaches(end));
  // The graph lives as long as it has something to do.
  works.push_back({.run = [graph = graph_](const Stream&) { return CUDA_SUCCESS; }});
  const CUresult result = on.enqueue(std::move(works));
  if (result != CUDA_SUCCESS) return result;
  last_ = end;
  for (std::size_t lane = 1; lane < lanes.size(); ++lane)
    others_[lane - 1]->enqueue(std::move(lanes[lane]));
  return CUDA_SUCCESS;
}

}  // namespace tutti::standin
