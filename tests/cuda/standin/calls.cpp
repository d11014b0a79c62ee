#include "calls.hpp"

#include <cstdlib>

#include "runtime/launch/config.hpp"

namespace tutti::standin {

std::string setting(std::string_view name) {
  const runtime::Environment environment = runtime::process_environment();
  const auto found = environment.find("CUDA_STANDIN_" + std::string{name});
  return found == environment.end() ? std::string{} : found->second;
}

std::size_t number_setting(std::string_view name) {
  return std::strtoull(setting(name).c_str(), nullptr, 10);
}

Calls::Calls() {
  const std::string fault = setting("FAULT");
  const std::size_t colon = fault.find(':');
  if (colon == std::string::npos) return;
  faulty_ = fault.substr(0, colon);
  faulty_call_ = std::strtoull(fault.c_str() + colon + 1, nullptr, 10);
}

bool Calls::count(std::string_view function) {
  const std::scoped_lock lock{mutex_};
  const std::uint64_t calls = ++counts_.try_emplace(std::string{function}).first->second;
  return calls == faulty_call_ && function == faulty_;
}

std::uint64_t Calls::count_of(std::string_view function) const {
  const std::scoped_lock lock{mutex_};
  const auto found = counts_.find(function);
  return found == counts_.end() ? 0 : found->second;
}

void Calls::write(std::ostream& out) const {
  const std::scoped_lock lock{mutex_};
  for (const auto& [function, calls] : counts_) out << function << ' ' << calls << '\n';
}

}  // namespace tutti::standin
