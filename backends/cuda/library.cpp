#include "library.hpp"

#include <dlfcn.h>

#include <utility>

#include <tutti/error.hpp>

namespace tutti::v0::cuda {

Library::Library(std::string name)
    : name_{std::move(name)}, handle_{
                                  ::dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)} {
  if (handle_) return;
  const char* const why = ::dlerror();
  throw Error{ErrorCode::transport,
              why == nullptr ? name_ + " cannot be loaded" : "cannot load " + std::string{why}};
}

void Library::Close::operator()(void* handle) const noexcept {
  ::dlclose(handle);
}

void* Library::address_of(const char* symbol) const {
  void* const address = address_or_null(symbol);
  if (address != nullptr) return address;
  throw Error{ErrorCode::transport,
              name_ + " has no function " + symbol + ": it is too old; install a newer one"};
}

void* Library::address_or_null(const char* symbol) const noexcept {
  return ::dlsym(handle_.get(), symbol);
}

}  // namespace tutti::v0::cuda
