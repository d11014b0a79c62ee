#include "others_variables.hpp"

#include <algorithm>
#include <array>

namespace tutti::runtime {
namespace {

/// Variables of environment modules end so, also those that Spack, EasyBuild and Lmod generate.
constexpr std::array<std::string_view, 13> kEnds{
    "_ROOT",   "_DIR", "_HOME",    "_BASE", "_PATH",  "_PREFIX", "_BIN",
    "_BINDIR", "_VER", "_VERSION", "_HOST", "_PROTO", "_PRELOAD"};
/// Parts of the names of modules and of service links.
constexpr std::array<std::string_view, 4> kParts{"_LIB", "_INC", "_PORT_", "_SERVICE_PORT"};

}  // namespace

bool is_of_others(std::string_view name, std::string_view value) noexcept {
  const auto ends = [name](std::string_view end) { return name.ends_with(end); };
  const auto contains = [name](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  // A service link of this name is a URL. TUTTI_PORT=29500 is a user's, whom a warning helps.
  if (name.ends_with("_PORT") && value.find("://") != std::string_view::npos) return true;
  return std::ranges::any_of(kEnds, ends) || std::ranges::any_of(kParts, contains);
}

}  // namespace tutti::runtime
