#include "module.hpp"

#include "tests/cuda/standin/launch.hpp"

namespace tutti::standin {

CUfunction Module::find(const std::string& name, Functions& functions) {
  const std::scoped_lock lock{mutex_};
  const auto found = functions_.find(name);
  if (found != functions_.end()) return found->second;
  const Function function = function_of(name);
  if (!function.bind) return nullptr;
  return functions_[name] = functions.add(std::make_shared<const Function>(function));
}

void Module::unload(Functions& functions) {
  const std::scoped_lock lock{mutex_};
  for (const auto& [name, handle] : functions_) functions.pop(handle);
  functions_.clear();
}

}  // namespace tutti::standin
