// Reads graphs from a list of links, line by line.
#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "graph.hpp"

namespace tutti::v0 {
namespace {

/// The lines read so far.
class EdgeList {
 public:
  void read(std::string_view line) {
    ++line_;
    const std::vector<std::string_view> words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) return;
    if (words.front() == "rank") read_rank(words);
    else read_edge(words);
  }

  [[nodiscard]] Graph graph() const {
    if (edges_.empty()) reject("the list has no link");
    std::vector<Graph::Edge> edges;
    for (const auto& [edge, line] : edges_) edges.push_back({edge.first, edge.second});
    const Graph graph = Graph::from_edges(routers_, edges);
    if (ranks_.empty()) return graph;
    std::vector<int> routers;
    for (const auto& [rank, seat] : ranks_) {
      if (rank != static_cast<int>(routers.size()))
        reject("no line has the router of rank " + std::to_string(routers.size()));
      if (seat.router >= routers_)
        fail(seat.line, "router " + std::to_string(seat.router) + " has no link");
      routers.push_back(seat.router);
    }
    return graph.with_ranks_on(std::move(routers));
  }

 private:
  struct RankLine {
    int router;
    int line;
  };

  [[noreturn]] static void fail(int line, const std::string& cause) {
    reject("line " + std::to_string(line) + ": " + cause);
  }

  static std::vector<std::string_view> words_of(std::string_view line) {
    constexpr std::string_view kBlanks = " \t\r";
    std::vector<std::string_view> words;
    while (true) {
      line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
      if (line.empty()) return words;
      words.push_back(line.substr(0, line.find_first_of(kBlanks)));
      line.remove_prefix(words.back().size());
    }
  }

  /// Reads a router or rank; a list has at most as many ranks as the largest graph has routers.
  int number(std::string_view word) const {
    constexpr int kMost = kMostRouters - 1;
    int value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || value < 0 || value > kMost)
      fail(line_, "'" + std::string{word} + "' is not a number in 0 .. " + std::to_string(kMost));
    return value;
  }

  void read_edge(const std::vector<std::string_view>& words) {
    if (words.size() != 2)
      fail(line_,
           "expected two routers such as '0 1', or a rank and its router such as "
           "'rank 5 2'");
    const auto [a, b] = std::minmax({number(words[0]), number(words[1])});
    if (a == b) fail(line_, "router " + std::to_string(a) + " is linked with itself");
    const auto [found, is_new] = edges_.try_emplace(std::pair{a, b}, line_);
    if (!is_new)
      fail(line_, "the link " + std::to_string(a) + " - " + std::to_string(b) + " is in line " +
                      std::to_string(found->second) + " already");
    routers_ = std::max(routers_, b + 1);
  }

  void read_rank(const std::vector<std::string_view>& words) {
    if (words.size() != 3) fail(line_, "expected a rank and its router such as 'rank 5 2'");
    const int rank = number(words[1]);
    const auto [found, is_new] = ranks_.try_emplace(rank, RankLine{number(words[2]), line_});
    if (!is_new)
      fail(line_, "rank " + std::to_string(rank) + " has its router from line " +
                      std::to_string(found->second.line) + " already");
  }

  int line_ = 0;
  int routers_ = 0;
  std::map<std::pair<int, int>, int> edges_{};  // with the line of each
  std::map<int, RankLine> ranks_{};
};

}  // namespace

Graph read_edge_list(std::string_view text) {
  EdgeList list;
  while (true) {
    const std::size_t end = text.find('\n');
    list.read(text.substr(0, end));
    if (end == text.npos) return list.graph();
    text.remove_prefix(end + 1);
  }
}

}  // namespace tutti::v0
