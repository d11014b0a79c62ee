// Without nlohmann-json options and traces are neither read nor written.
#include <tutti/call_name.hpp>
#include <tutti/gradient_sync.hpp>

#include "base/json_text.hpp"

namespace tutti::v0 {

GradientOptions load_gradient_options(const std::string& path, GradientOptions) {
  throw Error{ErrorCode::invalid_argument, "GradientOptions: " + path + ": " + detail::kNoJson};
}

void save_gradient_options(const std::string& path, const GradientOptions&) {
  throw Error{ErrorCode::invalid_argument, "GradientOptions: " + path + ": " + detail::kNoJson};
}

void GradientSync::write_trace(const std::string& path) {
  throw Error{ErrorCode::invalid_argument,
              "GradientSync: the trace: " + path + ": " + detail::kNoJson};
}

}  // namespace tutti::v0
