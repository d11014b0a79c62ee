#include "library.hpp"

#include <dlfcn.h>

#include <utility>

#include <tutti/error.hpp>

namespace tutti::v0::cuda {

Library::Library(std::string name)
    : name_{std::move(name)}, handle_{::dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL)} {
  if (handle_ != nullptr) return;
  const char* const why = ::dlerror();
  throw Error{ErrorCode::transport,
              why == nullptr ? name_ + " cannot be loaded" : "cannot load " + std::string{why}};
}

Library::Symbol Library::operator[](const char* symbol) const {
  const Symbol found = optional(symbol);
  if (found.address != nullptr) return found;
  throw Error{ErrorCode::transport,
              name_ + " has no function " + symbol + ": it is too old; install a newer one"};
}

Library::Symbol Library::optional(const char* symbol) const noexcept {
  return {::dlsym(handle_, symbol)};
}

}  // namespace tutti::v0::cuda
