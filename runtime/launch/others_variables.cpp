#include "others_variables.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace tutti::runtime {
namespace {

constexpr std::array<std::string_view, 3> kProtocols{"tcp", "udp", "sctp"};

bool is_port(std::string_view value) noexcept {
  std::uint16_t port = 0;
  const char* const end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data(), end, port);
  return error == std::errc{} && at == end && port > 0;
}

bool is_address(std::string_view value) noexcept {
  if (value.starts_with('[') && value.ends_with(']')) value = value.substr(1, value.size() - 2);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (value.empty() || value.size() >= text.size()) return false;
  std::ranges::copy(value, text.begin());
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, text.data(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, text.data(), bytes.data()) == 1;
}

bool is_protocol(std::string_view value) noexcept {
  return std::ranges::find(kProtocols, value) != kProtocols.end();
}

/// Whether a value is a URL, such as tcp://10.96.0.7:80.
bool is_url(std::string_view value) noexcept {
  constexpr std::string_view kSeparator = "://";
  const std::size_t separator = value.find(kSeparator);
  const std::size_t colon = value.rfind(':');
  if (separator == std::string_view::npos || colon <= separator) return false;
  const std::size_t host = separator + kSeparator.size();
  return is_protocol(value.substr(0, separator)) && is_address(value.substr(host, colon - host)) &&
         is_port(value.substr(colon + 1));
}

/// A folder or several, or flags of a compiler or linker.
bool is_place(std::string_view value) noexcept {
  return value.starts_with('/') || value.starts_with("-I") || value.starts_with("-L") ||
         value.starts_with("-l");
}

bool is_version(std::string_view value) noexcept {
  return value.find_first_of("0123456789") != std::string_view::npos;
}

/// Names, whose stars stand for one character or more, and their values.
struct Pattern {
  std::string_view name;
  bool (*is_value)(std::string_view value) noexcept;
};

/// The variables of Kubernetes for each service, of whose name TUTTI is the first word at least.
constexpr std::array<Pattern, 8> kServiceLinks{{
    {"_SERVICE_HOST", is_address},
    {"_SERVICE_PORT", is_port},
    {"_SERVICE_PORT_*", is_port},
    {"_PORT", is_url},
    {"_PORT_*", is_url},
    {"_PORT_*_PROTO", is_protocol},
    {"_PORT_*_PORT", is_port},
    {"_PORT_*_ADDR", is_address},
}};

/// The variables of environment modules, also those that Spack and Lmod generate.
constexpr std::array<std::string_view, 24> kPlaces{
    "_ROOT",    "_DIR",         "_HOME",        "_BASE",    "_PREFIX",  "_PATH",
    "_BIN",     "_BINDIR",      "_BIN_DIR",     "_LIB",     "_LIBDIR",  "_LIB_DIR",
    "_LIBS",    "_LIBRARY",     "_LIBRARY_DIR", "_INC",     "_INCDIR",  "_INC_DIR",
    "_INCLUDE", "_INCLUDE_DIR", "_INSTALL_DIR", "_DOC_DIR", "_MAN_DIR", "_SHARE_DIR"};
constexpr std::array<std::string_view, 2> kVersions{"_VERSION", "_VER"};

bool matches(std::string_view name, std::string_view pattern) noexcept {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  const std::string_view end = pattern.substr(star + 1);
  return name.size() > star + end.size() && name.starts_with(pattern.substr(0, star)) &&
         name.ends_with(end);
}

bool is_service_link(std::string_view rest, std::string_view value) noexcept {
  // The name of a service, such as tutti-cache, may have several parts.
  for (std::size_t at = 0; at != std::string_view::npos; at = rest.find('_', at + 1))
    for (const Pattern& pattern : kServiceLinks)
      if (matches(rest.substr(at), pattern.name) && pattern.is_value(value)) return true;
  return false;
}

}  // namespace

bool is_of_others(std::string_view rest, std::string_view value) noexcept {
  const auto is_one = [rest](std::string_view name) { return name == rest; };
  if (std::ranges::any_of(kPlaces, is_one)) return is_place(value);
  if (std::ranges::any_of(kVersions, is_one)) return is_version(value);
  return is_service_link(rest, value);
}

}  // namespace tutti::runtime
