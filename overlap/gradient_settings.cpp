// GradientOptions as JSON.
#include <limits>
#include <string_view>

#include <nlohmann/json.hpp>
#include <tutti/gradient_sync.hpp>

#include "base/json_text.hpp"
#include "base/text_file.hpp"
#include "base/write_file.hpp"
#include "codec.hpp"
#include "gradient_plan.hpp"
#include "gradient_settings.hpp"

namespace tutti::v0 {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json written(const T& option) {
  if constexpr (std::is_enum_v<T>) return name_of(option);
  else return option;
}

/// Sets an option to a value of the file. @return whether the value has the option's type.
template <class T>
bool is_read(const Json& found, T& option) {
  if constexpr (std::is_enum_v<T>) {
    if (!found.is_string()) return false;
    const auto* const known = find_gradient_enumerator<T>(found.get<std::string_view>());
    if (known == nullptr) return false;
    option = known->value;
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    if (!found.is_number_unsigned() || found.get<std::uint64_t>() > kMost) return false;
    option = found.get<T>();
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!found.is_number()) return false;
    option = found.get<T>();
  } else {
    if (found.type() != Json(option).type()) return false;
    option = found.get<T>();
  }
  return true;
}

Json json_of(const GradientOptions& options) {
  Json json;
  detail::for_each_setting(options, [&](const char* name, const std::string& /*expected*/,
                                        const auto& option) { json[name] = written(option); });
  if (options.bucket_bytes == GradientOptions::kFlat) json["bucket_bytes"] = "flat";
  return json;
}

[[noreturn]] void reject_setting(const std::string& text) {
  throw Error{ErrorCode::invalid_argument, text};
}

/// Throws Error that names a wrong option or value.
GradientOptions read_options(Json json, GradientOptions options) {
  if (!json.is_object())
    reject_setting("expected an object in JSON, as save_gradient_options writes it");
  if (json.value("bucket_bytes", Json{}) == "flat") json["bucket_bytes"] = GradientOptions::kFlat;
  std::string names;
  detail::for_each_setting(
      options, [&](const std::string& name, const std::string& expected, auto& option) {
        names += (names.empty() ? "" : ", ") + name;
        if (!json.contains(name)) return;
        if (!is_read(json[name], option))
          reject_setting(name + " is " + expected + ", found " + detail::text_of_json(json[name]));
        if (name == "compression" && json[name] != "")
          static_cast<void>(detail::parse_compression(json[name]));
        json.erase(name);
      });
  if (!json.empty()) reject_setting("'" + json.begin().key() + "' is none of " + names);
  return options;
}

}  // namespace

GradientOptions load_gradient_options(const std::string& path, GradientOptions options) {
  const std::string text = [&] {
    try {
      return detail::read_text_file(path);
    } catch (const Error& error) {  // its text begins with the path
      throw Error{error.code(), std::string{"GradientOptions: "} + error.what()};
    }
  }();
  try {
    return read_options(detail::parse_json<Json>(text, true), std::move(options));
  } catch (const Error& error) {
    throw Error{error.code(), "GradientOptions: " + path + ": " + error.what()};
  }
}

void save_gradient_options(const std::string& path, const GradientOptions& options) {
  detail::check_enumerators(options);
  const std::string text = "// Options of GradientSync, for tutti::load_gradient_options.\n" +
                           detail::text_of_json(json_of(options), 2) + "\n";
  detail::write_text_file(path, text, "GradientOptions: ");
}

}  // namespace tutti::v0
