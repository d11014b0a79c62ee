// JSON within limits; its parser's errors are tutti's own.
#include "base/json_text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace tutti::detail {
namespace {

using Json = nlohmann::json;

/// Why a text is not parsed; empty if it is.
std::string json_refusal(const std::string& text, bool has_comments = false) try {
  (void)parse_json<Json>(text, has_comments);
  return {};
} catch (const Error& error) {
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  return error.what();
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(JsonText, SaysWhereItIsWrong) {
  const std::pair<const char*, const char*> wrong[]{
      {"", "line 1, column 1"},
      {"{\n  \"a\": [,", "line 2, column 9"},
      {"[1,\n\n2 3]", "line 3, column 3"},
      {"[\"\xff\"]", "line 1, column 3"},
      {"[1] // no", "line 1, column 5"},
      {"[", "line 1, column 2"},
  };
  for (const auto& [text, where] : wrong)
    EXPECT_EQ(json_refusal(text), std::string{"it is not JSON: syntax error in "} + where) << text;
  EXPECT_EQ(json_refusal("[1e999]"), "it is not valid JSON: a number is too large");
  EXPECT_EQ(json_refusal("[1] // yes", true), "");
}

TEST(JsonText, HasALimitOfDepth) {
  const char* const words = "it has arrays and objects more than 64 deep, the most that is read";
  EXPECT_EQ(json_refusal(nested(64)), "");
  EXPECT_EQ(json_refusal(nested(65)), words);
  EXPECT_EQ(json_refusal(std::string(1 << 20, '[')), words);
  EXPECT_EQ(json_refusal("[\"" + std::string(100, '[') + "\\\"" + std::string(100, '{') + "\"]"),
            "");
  const std::string quote = "// one \" quote\n/* \" */";
  EXPECT_EQ(json_refusal(quote + nested(64), true), "");
  EXPECT_EQ(json_refusal(quote + nested(65), true), words);
}

TEST(JsonText, HasALimitOfValues) {
  std::string text = "[0";
  for (std::size_t i = 2; i < kMostJsonValues; ++i) text += ",0";
  EXPECT_EQ(json_refusal(text + "]"), "");
  EXPECT_EQ(json_refusal(text + ",0]"), "it has more than 16777216 values, the most that is read");
}

}  // namespace
}  // namespace tutti::detail
