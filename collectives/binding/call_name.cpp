#include <tutti/call_name.hpp>

namespace tutti::v0 {
namespace {

thread_local std::string_view current_name{};

}  // namespace

CallName::CallName(std::string_view name) noexcept : before_{current_name} {
  if (before_.empty()) current_name = name;
}
CallName::~CallName() {
  current_name = before_;
}
std::string_view CallName::current() noexcept {
  return current_name;
}

}  // namespace tutti::v0
