#include "module.hpp"

#include <tutti/types.hpp>

namespace tutti::standin {
namespace {

// Kernels are named for what they fold, as tutti_fold_f32.
std::size_t element_bytes_of(std::string_view kernel) {
  constexpr std::string_view kPrefix = "tutti_fold_";
  if (!kernel.starts_with(kPrefix)) return 0;
  for (int i = 0; i < kDatatypes; ++i) {
    const auto type = static_cast<Datatype>(i);
    if (kernel.substr(kPrefix.size()) == name_of(type)) return size_of(type);
  }
  return 0;
}

}  // namespace

CUfunction Module::find(const std::string& name, Functions& functions) {
  const std::scoped_lock lock{mutex_};
  const auto found = functions_.find(name);
  if (found != functions_.end()) return found->second;
  const Function function{.body = cuda::body_of(name), .element_bytes = element_bytes_of(name)};
  if (function.body == nullptr || function.element_bytes == 0) return nullptr;
  return functions_[name] = functions.add(std::make_shared<const Function>(function));
}

void Module::unload(Functions& functions) {
  const std::scoped_lock lock{mutex_};
  for (const auto& [name, handle] : functions_) functions.take(handle);
  functions_.clear();
}

}  // namespace tutti::standin
