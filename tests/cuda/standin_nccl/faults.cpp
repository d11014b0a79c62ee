#include "faults.hpp"

#include <charconv>

#include "runtime/launch/config.hpp"

namespace tutti::nccl_standin {

std::string variable(std::string_view name) {
  const runtime::Environment environment = runtime::process_environment();
  const auto found = environment.find(name);
  return found == environment.end() ? std::string{} : found->second;
}

std::string setting(std::string_view name) {
  return variable("CUDA_STANDIN_" + std::string{name});
}

Calls::Calls(std::string_view faults) {
  while (!faults.empty()) {
    const std::string_view fault = faults.substr(0, faults.find(','));
    faults.remove_prefix(std::min(faults.size(), fault.size() + 1));
    const std::size_t colon = fault.find(':');
    if (colon == std::string_view::npos) continue;
    std::uint64_t call = 0;
    std::from_chars(fault.data() + colon + 1, fault.data() + fault.size(), call);
    faults_.emplace(fault.substr(0, colon), call);
  }
}

bool Calls::count(std::string_view function) {
  const std::scoped_lock lock{mutex_};
  const std::uint64_t calls = ++counts_.try_emplace(std::string{function}).first->second;
  return faults_.contains({std::string{function}, calls});
}

void Calls::write(std::ostream& out) const {
  const std::scoped_lock lock{mutex_};
  for (const auto& [function, calls] : counts_) out << function << ' ' << calls << '\n';
}

}  // namespace tutti::nccl_standin
