// Writes graphs in the notation of parse_graph.
#include "graph.hpp"

namespace tutti::v0 {

std::string Graph::text() const {
  std::string text{name_of(family_)};
  std::string separator = family_ == GraphFamily::slim_fly ? ":q=" : ":";
  for (const int number : numbers_) {
    text += separator + std::to_string(number);
    separator = "x";
  }
  if (family_ == GraphFamily::edges && neighbors_.empty()) text += separator;
  if (family_ == GraphFamily::edges)
    for (const Edge& edge : edges()) {
      text += separator + std::to_string(edge.a) + "-" + std::to_string(edge.b);
      separator = "+";
    }
  const int per_router = ranks() / routers();
  bool in_turn = ranks() % routers() == 0;
  for (Rank rank = 0; in_turn && rank < ranks(); ++rank)
    in_turn = router_of(rank) == rank / per_router;
  if (in_turn)
    return per_router == 1 ? text
                           : text + std::string{kGraphPerRouter} + std::to_string(per_router);
  separator = kGraphRanks;
  for (const int router : router_of_) {
    text += separator + std::to_string(router);
    separator = "+";
  }
  return text;
}

}  // namespace tutti::v0
