// Reads graphs from one line of text.
#include <algorithm>

#include "expression.hpp"
#include "graph.hpp"
#include "nearest_word.hpp"

namespace tutti::v0 {
namespace {

/// Calls visit for each word between separators.
template <class Visit>
void each_word(std::string_view text, char separator, Visit visit) {
  while (true) {
    const std::size_t end = text.find(separator);
    visit(text.substr(0, end));
    if (end == text.npos) return;
    text.remove_prefix(end + 1);
  }
}

std::vector<int> numbers(std::string_view text, char separator, std::string_view whole) {
  std::vector<int> numbers;
  each_word(text, separator,
            [&](std::string_view word) { numbers.push_back(number_in(word, whole, 0)); });
  return numbers;
}

Graph from_links(std::string_view text, std::string_view whole) {
  if (text.empty()) return Graph::from_edges(1, {});
  std::vector<Graph::Edge> edges;
  int last = 0;
  each_word(text, '+', [&](std::string_view word) {
    const std::vector<int> ends = numbers(word, '-', whole);
    if (ends.size() != 2)
      reject("'" + std::string{word} + "' in '" + std::string{whole} +
             "' is not a link such as 0-1");
    edges.push_back({ends[0], ends[1]});
    last = std::max({last, ends[0], ends[1]});
  });
  check_size("the list of links", std::int64_t{last} + 1, static_cast<std::int64_t>(edges.size()));
  return Graph::from_edges(last + 1, edges);
}

Graph make(std::string_view family, std::string_view text, std::string_view whole) {
  using enum GraphFamily;
  if (family == name_of(edges)) return from_links(text, whole);
  if (family == name_of(torus)) return Graph::torus(numbers(text, 'x', whole));
  if (family == name_of(slim_fly)) {
    if (text.substr(0, 2) != "q=")
      reject("'" + std::string{whole} + "' lacks its q: write slim_fly:q=5");
    return Graph::slim_fly(number_in(text.substr(2), whole, 0));
  }
  const int size = number_in(text, whole, 0);
  if (family == name_of(ring)) return Graph::ring(size);
  return family == name_of(hypercube) ? Graph::hypercube(size) : Graph::complete(size);
}

void check_family(std::string_view family) {
  std::vector<std::string_view> choices;
  std::string names;
  for (int index = 0; index <= static_cast<int>(GraphFamily::edges); ++index) {
    choices.push_back(name_of(static_cast<GraphFamily>(index)));
    if (choices.back() == family) return;
    names += (names.empty() ? "" : ", ") + std::string{choices.back()};
  }
  const std::string nearest{nearest_word(family, choices)};
  reject("unknown graph '" + std::string{family} + "': choose from " + names +
         (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

}  // namespace

Graph parse_graph(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view family = text.substr(0, colon);
  check_family(family);
  if (colon == text.size())
    reject("'" + std::string{text} +
           "' has no size: write for example ring:8, torus:4x4, "
           "slim_fly:q=5 or edges:0-1+1-2");
  const std::string_view rest = text.substr(colon + 1);
  const std::size_t seats = std::min(rest.find(':'), rest.size());
  const Graph graph = make(family, rest.substr(0, seats), text);
  const std::string_view behind = rest.substr(seats);
  if (behind.empty()) return graph;
  if (behind.substr(0, kGraphRanks.size()) == kGraphRanks)
    return graph.with_ranks_on(numbers(behind.substr(kGraphRanks.size()), '+', text));
  if (behind.substr(0, kGraphPerRouter.size()) != kGraphPerRouter)
    reject("unknown parameter '" + std::string{behind.substr(1)} + "' in '" + std::string{text} +
           "': expected ranks=2+0+1 or per_router=2");
  const int per_router = number_in(behind.substr(kGraphPerRouter.size()), text, 0);
  check_size("with this number of ranks per router, the graph",
             std::int64_t{per_router} * graph.routers(), 0);
  std::vector<int> routers;
  for (int rank = 0; rank < per_router * graph.routers(); ++rank)
    routers.push_back(rank / per_router);
  return graph.with_ranks_on(std::move(routers));
}

}  // namespace tutti::v0
