// Choices as text: `name`, `name:k=4`, `name:skips=5+3+2+1`.
#include <charconv>

#include <tutti/algorithm.hpp>
#include <tutti/error.hpp>

#include "nearest_word.hpp"

namespace tutti {
namespace {

[[noreturn]] void refuse(std::string message) {
  throw Error{ErrorCode::invalid_argument, std::move(message)};
}

const Algorithm& find(Collective collective, std::string_view name) {
  std::vector<std::string_view> choices;
  std::string names;
  for (const Algorithm& row : catalog()) {
    if (row.collective != collective) continue;
    if (row.name == name) return row;
    choices.push_back(row.name);
    names += (names.empty() ? "" : ", ") + std::string{row.name};
  }
  const std::string nearest{nearest_word(name, choices)};
  const std::string hint = nearest.empty() ? "" : "; did you mean " + nearest + "?";
  refuse("unknown algorithm '" + std::string{name} + "' for " + std::string{name_of(collective)} +
         ": choose from " + names + hint);
}

int number(std::string_view text, std::string_view whole) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1)
    refuse("'" + std::string{text} + "' in '" + std::string{whole} + "' is not a positive number");
  return value;
}

void read_parameters(Choice& choice, std::string_view text, std::string_view whole) {
  const Parameter parameter = choice.algorithm->parameter;
  const std::string key = std::string{key_of(parameter)} + "=";
  if (parameter == Parameter::none)
    refuse("algorithm '" + std::string{choice.algorithm->name} + "' takes no parameter, but '" +
           std::string{whole} + "' gives one");
  if (text.substr(0, key.size()) != key)
    refuse("unknown parameter '" + std::string{text} + "' in '" + std::string{whole} +
           "': expected " + std::string{choice.algorithm->name} + ":" + key +
           (parameter == Parameter::skips ? "3+2+1" : "4"));
  text.remove_prefix(key.size());
  if (parameter != Parameter::skips) {
    const int least = parameter == Parameter::radix ? 2 : 1;
    choice.number = number(text, whole);
    if (choice.number < least || choice.number > 1024)
      refuse("the " + std::string{name_of(parameter)} + " in '" + std::string{whole} +
             "' must be in " + std::to_string(least) + " .. 1024");
    return;
  }
  while (true) {
    const std::size_t plus = text.find('+');
    choice.skips.push_back(number(text.substr(0, plus), whole));
    if (plus == text.npos) return;
    text.remove_prefix(plus + 1);
  }
}

}  // namespace

std::string Choice::parameters() const {
  const std::string key = std::string{key_of(algorithm->parameter)} + "=";
  if (algorithm->parameter == Parameter::none) return {};
  if (algorithm->parameter != Parameter::skips) return key + std::to_string(number);
  std::string text;
  for (const int skip : skips) text += (text.empty() ? key : "+") + std::to_string(skip);
  return text;
}

std::string Choice::text() const {
  const std::string behind = parameters();
  return std::string{algorithm->name} + (behind.empty() ? "" : ":" + behind);
}

Choice parse_choice(Collective collective, std::string_view text) {
  const std::size_t colon = text.find(':');
  Choice choice{.algorithm = &find(collective, text.substr(0, colon))};
  choice.number = choice.algorithm->default_number;
  if (colon != text.npos) read_parameters(choice, text.substr(colon + 1), text);
  return choice;
}

}  // namespace tutti
