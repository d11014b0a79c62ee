// Choices as text: `name`, `name:k=4`, `name:skips=5+3+2+1`, `name:graph=torus:4x4`, and
// `name(first, second):groups=4`.
#include <tutti/spi/catalog.hpp>
#include <tutti/spi/graph.hpp>

#include "expression.hpp"
#include "nearest_word.hpp"
#include "refuse.hpp"

namespace tutti::v0 {
namespace {

const Algorithm& find(const Catalog& catalog, Collective collective, std::string_view name) {
  if (const Algorithm* const row = catalog.find(collective, name)) return *row;
  std::vector<std::string_view> choices;
  std::string names;
  for (const Algorithm* const row : catalog.rows()) {
    if (row->collective != collective) continue;
    choices.push_back(row->name);
    names += (names.empty() ? "" : ", ") + std::string{row->name};
  }
  const std::string nearest{nearest_word(name, choices)};
  const std::string hint = nearest.empty() ? "" : "; did you mean " + nearest + "?";
  reject("unknown algorithm '" + std::string{name} + "' for " + std::string{name_of(collective)} +
         ": choose from " + names + hint);
}

std::string example_of(AlgorithmParameter parameter) {
  if (parameter == AlgorithmParameter::graph) return "torus:4x4";
  return parameter == AlgorithmParameter::skips ? "3+2+1" : "4";
}

void read_parameters(Choice& choice, std::string_view text, std::string_view whole) {
  const AlgorithmParameter parameter = choice.algorithm->parameter;
  const std::string key = std::string{key_of(parameter)} + "=";
  if (parameter == AlgorithmParameter::none)
    reject("algorithm '" + std::string{choice.algorithm->name} + "' has no parameter, but '" +
           std::string{whole} + "' gives one");
  if (text.substr(0, key.size()) != key)
    reject("unknown parameter '" + std::string{text} + "' in '" + std::string{whole} +
           "': expected " + std::string{choice.algorithm->name} + ":" + key +
           example_of(parameter));
  text.remove_prefix(key.size());
  if (is_number(parameter)) {
    const int least = parameter == AlgorithmParameter::radix ? 2 : 1;
    choice.number = number_in(text, whole);
    if (choice.number < least || choice.number > 1024)
      reject("the " + std::string{name_of(parameter)} + " in '" + std::string{whole} +
             "' must be in " + std::to_string(least) + " .. 1024");
    return;
  }
  if (parameter == AlgorithmParameter::graph)
    choice.graph = std::make_shared<const Graph>(parse_graph(text));
  else choice.skips = numbers_in(text, whole);
}

}  // namespace

std::string Choice::parameters() const {
  if (is_number(algorithm->parameter))
    return std::string{key_of(algorithm->parameter)} + "=" + std::to_string(number);
  if (graph) return "graph=" + graph->text();
  if (hierarchy) return parameters_of(*hierarchy);
  return skips.empty() ? "" : "skips=" + joined(skips);
}

std::string Choice::name() const {
  const std::string name{algorithm->name};
  return hierarchy == nullptr
             ? name
             : name + "(" + hierarchy->stages[0].text() + ", " + hierarchy->stages[1].text() + ")";
}

std::string Choice::text() const {
  const std::string behind = parameters();
  return name() + (behind.empty() ? "" : ":" + behind);
}

void require(const Choice& choice, int size) {
  require(choice.algorithm->traits.sizes, size);
  if (choice.algorithm->table) require(*choice.algorithm->table, size);
  // Only generators know whether networks and groups fit.
  if (!has_default(choice.algorithm->parameter)) (void)choice.build(size, 0, 0);
}

Choice parse_choice(Collective collective, std::string_view text) {
  return parse_choice(Catalog{}, collective, text);  // tutti's own rows outlive the catalog
}

Choice parse_choice(const Catalog& catalog, Collective collective, std::string_view text) {
  const Expression expression = take_apart(text);
  Choice choice{.algorithm = &find(catalog, collective, expression.name)};
  choice.number = choice.algorithm->default_number;
  const bool is_joined = choice.algorithm->parameter == AlgorithmParameter::hierarchy;
  if (!expression.operands.empty() && !is_joined)
    reject("algorithm '" + std::string{choice.algorithm->name} + "' is not made of others, but '" +
           std::string{text} + "' names some");
  if (is_joined && (!expression.operands.empty() || expression.has_parameters))
    choice.hierarchy =
        std::make_shared<const Hierarchy>(parse_hierarchy(catalog, collective, expression, text));
  else if (expression.has_parameters) read_parameters(choice, expression.parameters, text);
  return choice;
}

}  // namespace tutti::v0
