// Without nlohmann-json tuning files are neither read nor written.
#include <tutti/error.hpp>

#include "base/json_text.hpp"
#include "tuning.hpp"

namespace tutti::v0::detail {

bool has_tuning_files() noexcept {
  return false;
}

Tuning tuning_of(std::string_view) {
  throw Error{ErrorCode::invalid_argument, kNoJson};
}

std::string text_of(const Tuning&) {
  throw Error{ErrorCode::invalid_argument, kNoJson};
}

Tuning read_tuning(const std::string& path) {
  throw Error{ErrorCode::invalid_argument, path + ": " + kNoJson};
}

}  // namespace tutti::v0::detail
