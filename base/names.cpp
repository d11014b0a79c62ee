// The names of enumerations without other facts.
#include <array>
#include <cstddef>
#include <string_view>

#include <tutti/determinism.hpp>
#include <tutti/error.hpp>
#include <tutti/types.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {
namespace {

constexpr std::array<std::string_view, 8> kErrorNames{"invalid_argument", "mismatch", "timeout",
                                                      "peer_dead",        "aborted",  "transport",
                                                      "object",           "bug"};

constexpr std::array<std::string_view, kDeterminisms> kDeterminismNames{
    "fast", "rank_identical", "run_to_run", "size_invariant", "layout_invariant"};

template <std::size_t N, class Enum>
constexpr std::string_view name_in(const std::array<std::string_view, N>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : detail::kNoName;
}

}  // namespace

std::string_view name_of(Determinism level) noexcept {
  return name_in(kDeterminismNames, level);
}

std::string_view name_of(ErrorCode code) noexcept {
  return name_in(kErrorNames, code);
}

std::string_view version() noexcept {
  return TUTTI_VERSION;
}

}  // namespace tutti::v0
