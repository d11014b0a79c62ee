#include "base/json_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <tutti/error.hpp>

#include "base/text_file.hpp"

namespace tutti::v0::detail {
namespace {

[[noreturn]] void reject_json(const std::string& why) {
  throw Error{ErrorCode::invalid_argument, why};
}

/// Throws Error{invalid_argument} if limits are exceeded. Looks at brackets and commas only; the
/// parser checks the syntax.
void check_json_limits(std::string_view text) {
  if (text.size() > kMostFileBytes)
    reject_json("it has more than " + std::to_string(kMostFileBytes >> 20U) +
                " MiB, the most that is read");
  std::size_t depth = 0, values = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
    } else if (c == '/') {  // a comment, where these are allowed
      const bool is_line = text.substr(i, 2) == "//";
      i = std::min(text.find(is_line ? "\n" : "*/", i + 2), text.size()) + (is_line ? 0 : 1);
    } else if (c == '[' || c == '{') {
      ++values;
      if (++depth > kMostJsonDepth)
        reject_json("it has arrays and objects more than " + std::to_string(kMostJsonDepth) +
                    " deep, the most that is read");
    } else if (c == ']' || c == '}') {
      depth -= depth > 0 ? 1 : 0;
    } else if (c == ',') {
      ++values;
    }
    if (values > kMostJsonValues)
      reject_json("it has more than " + std::to_string(kMostJsonValues) +
                  " values, the most that is read");
  }
}

}  // namespace

template <class Json>
Json parse_json(std::string_view text, bool has_comments) {
  check_json_limits(text);
  try {
    return Json::parse(text.begin(), text.end(), nullptr, true, has_comments);
  } catch (const typename Json::parse_error& error) {
    const std::string_view before = text.substr(0, error.byte > 0 ? error.byte - 1 : 0);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    reject_json("it is not JSON: syntax error in line " + std::to_string(line) + ", column " +
                std::to_string(column));
  } catch (const typename Json::exception&) {
    reject_json("it is not valid JSON: a number is too large");
  }
}

template <class Json>
std::string text_of_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

template nlohmann::json parse_json(std::string_view, bool);
template nlohmann::ordered_json parse_json(std::string_view, bool);
template std::string text_of_json(const nlohmann::json&, int);
template std::string text_of_json(const nlohmann::ordered_json&, int);

}  // namespace tutti::v0::detail
