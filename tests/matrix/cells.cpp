#include "cells.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

namespace tutti::matrix {
namespace {

using harness::CountsAre;
using harness::Model;
using enum Collective;

// The operations beside the collectives. The ring of messages is an all_to_all in which ranks have
// something for their right neighbours only.
constexpr std::array kOthers{
    Operation{.name = "scatterv", .collective = scatter, .counts_are = CountsAre::own},
    Operation{.name = "gatherv", .collective = gather, .counts_are = CountsAre::own},
    Operation{.name = "all_gatherv", .collective = all_gather, .counts_are = CountsAre::told},
    Operation{
        .name = "reduce_scatterv", .collective = reduce_scatter, .counts_are = CountsAre::told},
    Operation{.name = "all_to_allv", .collective = all_to_all, .counts_are = CountsAre::own},
    Operation{.name = "send, recv",
              .collective = all_to_all,
              .messages = PointToPoint::send,
              .in_place = false},
    Operation{.name = "sendrecv", .collective = all_to_all, .messages = PointToPoint::sendrecv},
};

// MPI has all of them in place but messages one way, and a barrier, which moves nothing.
constexpr auto kOperations = [] {
  std::array<Operation, kCollectives + kOthers.size()> all{};
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    all[i] = {.name = tutti::name_of(collective),
              .collective = collective,
              .in_place = traits_of(collective).output != Extent::nothing};
  }
  std::ranges::copy(kOthers, all.begin() + kCollectives);
  return all;
}();

std::size_t elements_of(Amount amount) {
  constexpr std::array<std::size_t, kAmounts.size()> kElements{0, 1, 37, 1003};
  return kElements[static_cast<std::size_t>(amount)];
}

/// Elements of one block of those that may differ: a third of them are empty. An exchange in place
/// has equal sizes both ways.
std::size_t ragged(const Cell& cell, std::size_t block) {
  const auto n = static_cast<std::size_t>(cell.size);
  if (cell.operation->collective == all_to_all && cell.in_place)
    block = std::min(block, block % n * n + block / n);
  const std::uint64_t bits = harness::mix(static_cast<Rank>(cell.salt % 97), block);
  const std::size_t most = elements_of(cell.amount);
  return bits % 3 == 0 || most == 0 ? 0 : 1 + bits / 3 % most;
}

std::vector<std::size_t> counts_of(const Cell& cell) {
  const auto n = static_cast<std::size_t>(cell.size);
  const std::size_t blocks = harness::blocks_of(cell.operation->collective, cell.size);
  std::vector<std::size_t> counts(blocks, 0);
  for (std::size_t block = 0; block < blocks; ++block) {
    const bool is_passed = block % n == (block / n + 1) % n;  // to the right neighbour
    if (cell.operation->is_v()) counts[block] = ragged(cell, block);
    else if (cell.operation->messages == PointToPoint::none || is_passed)
      counts[block] = elements_of(cell.amount);
  }
  return counts;
}

std::vector<Model> make_models(const Operation& operation, Datatype type) {
  if (type == Datatype::opaque) {
    if (!is_reduction(operation.collective)) return {harness::opaque_model(3)};
    return {harness::opaque_model(3), harness::affine_model()};
  }
  std::vector<Model> models;
  for (int i = 0; i < kOperatorKinds; ++i) {
    const auto kind = static_cast<OperatorKind>(i);
    const bool refused = is_prefix(operation.collective) && kind == OperatorKind::average;
    if (kind != OperatorKind::user && is_defined(kind, type) && !refused)
      models.push_back(harness::model_of(type, kind));
  }
  if (!is_reduction(operation.collective)) models.resize(1);
  return models;
}

/// @return `count` numbers in any order. Each number below `bound` is there equally often, or once
/// more.
std::vector<std::size_t> deal(std::mt19937_64& random, std::size_t count, std::size_t bound) {
  std::vector<std::size_t> cards;
  for (std::size_t i = 0; i < count; ++i) cards.push_back(i % bound);
  // Not std::shuffle, which differs between libraries: a seed means the same everywhere.
  for (std::size_t i = count; i > 1; --i)
    std::swap(cards[i - 1], cards[static_cast<std::size_t>(random() % i)]);
  return cards;
}

}  // namespace

std::span<const Operation> operations() {
  return kOperations;
}

const std::vector<Model>& models_of(const Operation& operation, Datatype type) {
  static const auto all = [] {
    std::map<std::pair<const Operation*, Datatype>, std::vector<Model>> made;
    for (const Operation& one : kOperations)
      for (int i = 0; i < kDatatypes; ++i)
        made[{&one, static_cast<Datatype>(i)}] = make_models(one, static_cast<Datatype>(i));
    return made;
  }();
  return all.at({&operation, type});
}

harness::Case Cell::problem() const {
  return {.collective = operation->collective,
          .size = size,
          .counts = counts_of(*this),
          .root = is_rooted(operation->collective) ? static_cast<Rank>(salt) % size : 0,
          .in_place = in_place,
          .segment = 0,
          .model = models_of(*operation, type)[model],
          .salt = salt,
          .counts_are = operation->counts_are};
}

std::string Cell::describe() const {
  constexpr std::array<const char*, kForms.size()> kWords{"blocking", "nonblocking", "persistent"};
  return std::string{operation->name} + ", " + kWords[static_cast<std::size_t>(form)] + ": " +
         problem().describe();
}

std::vector<Cell> all_cells(int size) {
  std::vector<Cell> cells;
  for (const Operation& operation : operations())
    for (int type = 0; type < kDatatypes; ++type)
      for (std::size_t model = 0; model < models_of(operation, static_cast<Datatype>(type)).size();
           ++model)
        for (const Form form : kForms)
          for (const Amount amount : kAmounts)
            for (const bool in_place : {false, true})
              if (operation.in_place || !in_place)
                cells.push_back({&operation, static_cast<Datatype>(type), model, size, form,
                                 in_place, amount, cells.size()});
  return cells;
}

std::vector<Cell> sample(std::uint64_t seed, int size) {
  std::mt19937_64 random{seed};
  std::vector<Cell> cells;
  std::size_t salt = seed;
  for (const Operation& operation : operations()) {
    const auto sizes = deal(random, kDatatypes, kSizes.size());
    const auto forms = deal(random, kDatatypes, kForms.size());
    const auto amounts = deal(random, kDatatypes, kAmounts.size());
    const auto places = deal(random, kDatatypes, operation.in_place ? 2 : 1);
    for (std::size_t i = 0; i < kDatatypes; ++i) {
      const auto type = static_cast<Datatype>(i);
      const std::size_t models = models_of(operation, type).size();
      const Cell cell{&operation,       type,           random() % models,    kSizes[sizes[i]],
                      kForms[forms[i]], places[i] == 1, kAmounts[amounts[i]], ++salt};
      if (cell.size == size) cells.push_back(cell);
    }
  }
  return cells;
}

}  // namespace tutti::matrix
