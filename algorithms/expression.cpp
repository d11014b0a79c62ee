#include "expression.hpp"

#include <charconv>

#include "refuse.hpp"

namespace tutti::v0 {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

Expression take_apart(std::string_view text) {
  Expression expression{.name = trimmed(text.substr(0, text.find_first_of("(:")))};
  std::size_t at = std::min(text.find_first_of("(:"), text.size());
  if (at < text.size() && text[at] == '(') {
    constexpr int kDeepest = 8;  // expressions come from users, and are read recursively
    int depth = 0;
    std::size_t begin = at + 1;
    for (; at < text.size(); ++at) {
      const char c = text[at];
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (depth > kDeepest)
        reject("'" + std::string{text} + "' has more than " + std::to_string(kDeepest) +
               " nested algorithms");
      if (!(c == ',' && depth == 1) && depth > 0) continue;
      expression.operands.push_back(trimmed(text.substr(begin, at - begin)));
      begin = at + 1;
      if (depth == 0) break;
    }
    if (at == text.size()) reject("a ')' is missing in '" + std::string{text} + "'");
    ++at;
  }
  const std::string_view rest = trimmed(text.substr(at));
  expression.has_parameters = !rest.empty();
  if (expression.has_parameters && rest.front() != ':')
    reject("'" + std::string{rest} + "' is superfluous in '" + std::string{text} + "'");
  expression.parameters = rest.substr(rest.empty() ? 0 : 1);
  return expression;
}

int number_in(std::string_view text, std::string_view whole, int least) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least)
    reject("'" + std::string{text} + "' in '" + std::string{whole} + "' is not a " +
           (least > 0 ? "positive number" : "number"));
  return value;
}

std::vector<int> numbers_in(std::string_view text, std::string_view whole, int least) {
  std::vector<int> numbers;
  while (true) {
    const std::string_view word = text.substr(0, text.find('+'));
    numbers.push_back(number_in(word, whole, least));
    if (word.size() == text.size()) return numbers;
    text.remove_prefix(word.size() + 1);
  }
}

std::string joined(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : "+") + std::to_string(number);
  return text;
}

}  // namespace tutti::v0
