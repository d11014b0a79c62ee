// Object collectives, each by itself: texts whose lengths differ by far. The blocking forms are
// these and a wait.
#include <optional>
#include <utility>

#include <tutti/objects.hpp>

#include "tests/objects/text.hpp"
#include "walk.hpp"

namespace tutti::matrix {
namespace {

using samples::Text;
using Texts = std::vector<Text>;

/// The objects of a rank for another one: around the size of a frame, and beyond it.
Text given(Rank from, Rank to) {
  const auto seed = static_cast<std::size_t>(from * 31 + to * 7);
  return samples::text_of(samples::kLengths[seed % std::size(samples::kLengths)], seed);
}

Texts row(Rank from, int size) {
  Texts all;
  for (Rank to = 0; to < size; ++to) all.push_back(given(from, to));
  return all;
}

Texts column(Rank to, int size) {
  Texts all;
  for (Rank from = 0; from < size; ++from) all.push_back(given(from, to));
  return all;
}

/// Does not commute, so that the order of ranks shows.
Text joined(Text left, const Text& right) {
  left.words += right.words;
  return left;
}

Text all_joined(int size) {
  Text all = given(0, 0);
  for (Rank rank = 1; rank < size; ++rank) all = joined(std::move(all), given(rank, 0));
  return all;
}

/// The place of a rank.
struct Place {
  Communicator& world;
  Rank self = world.rank();
  int size = world.size();
  Rank root = size - 1;
};

bool broadcasts(const Place& at) {
  return objects(at.world).async().broadcast(given(at.self, 0), at.root).wait() ==
         given(at.root, 0);
}
bool scatters(const Place& at) {
  const Texts own = at.self == at.root ? row(at.self, at.size) : Texts{};
  return objects(at.world).async().scatter(own, at.root).wait() == given(at.root, at.self);
}
bool gathers(const Place& at) {
  const Texts wanted = at.self == at.root ? column(0, at.size) : Texts{};
  return objects(at.world).async().gather(given(at.self, 0), at.root).wait() == wanted;
}
bool gathers_everywhere(const Place& at) {
  return objects(at.world).async().all_gather(given(at.self, 0)).wait() == column(0, at.size);
}
bool exchanges(const Place& at) {
  return objects(at.world).async().all_to_all(row(at.self, at.size)).wait() ==
         column(at.self, at.size);
}
bool passes_on(const Place& at) {
  const Rank right = (at.self + 1) % at.size;
  const Rank left = (at.self + at.size - 1) % at.size;
  auto sent = objects(at.world).async().send(given(at.self, right), right);
  const Text got = objects(at.world).async().recv<Text>(left).wait();
  sent.wait();
  return got == given(left, at.self);
}
bool reduces(const Place& at) {
  const auto got = objects(at.world).async().reduce(given(at.self, 0), joined, at.root).wait();
  return got == (at.self == at.root ? std::optional{all_joined(at.size)} : std::nullopt);
}
bool reduces_everywhere(const Place& at) {
  return objects(at.world).async().all_reduce(given(at.self, 0), joined).wait() ==
         all_joined(at.size);
}

constexpr std::pair<const char*, bool (*)(const Place&)> kObjectOperations[] = {
    {"broadcast_object", broadcasts}, {"scatter_object", scatters},
    {"gather_object", gathers},       {"all_gather_object", gathers_everywhere},
    {"all_to_all_object", exchanges}, {"send_object, recv_object", passes_on},
    {"reduce_object", reduces},       {"all_reduce_object", reduces_everywhere},
};

}  // namespace

std::vector<std::string_view> object_operations() {
  std::vector<std::string_view> names;
  for (const auto& [name, is_right] : kObjectOperations) names.emplace_back(name);
  return names;
}

Report pass_objects(Communicator& world) {
  Report report;
  for (const auto& [name, is_right] : kObjectOperations) {
    if (is_right({world})) report.add(name, "objects");
    else report.problems.push_back(std::string{name} + " is wrong");
  }
  return report;
}

}  // namespace tutti::matrix
