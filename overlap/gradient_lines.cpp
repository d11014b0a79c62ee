// The options of GradientSync as lines, by which ranks compare them.
#include <string>
#include <type_traits>

#include "base/number_text.hpp"
#include "gradient_plan.hpp"
#include "gradient_settings.hpp"

namespace tutti::v0::detail {
namespace {

template <class T>
std::string text_of(const T& option) {
  if constexpr (std::is_enum_v<T>) return '"' + std::string{name_of(option)} + '"';
  else if constexpr (std::is_same_v<T, bool>) return option ? "true" : "false";
  else if constexpr (std::is_floating_point_v<T>) return shortest_text(option);
  else if constexpr (std::is_integral_v<T>) return std::to_string(option);
  else return '"' + option + '"';
}

}  // namespace

std::string lines_of(const GradientOptions& options) {
  std::string lines;
  for_each_setting(options, [&](const std::string& name, const std::string& /*expected*/,
                                const auto& option) {
    const bool is_flat = name == "bucket_bytes" && options.bucket_bytes == GradientOptions::kFlat;
    lines += kOptionLine + name + " " + (is_flat ? "\"flat\"" : text_of(option)) + "\n";
  });
  return lines;
}

}  // namespace tutti::v0::detail
