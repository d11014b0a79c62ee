/// @file
/// A library that is loaded at run time, since it may not be there.
#pragma once

#include <memory>
#include <string>

#include <tutti/version.hpp>

namespace tutti::v0::cuda {

/// A library, which stays loaded for good: threads of its own may run in it.
class Library {
 public:
  /// @param name as the dynamic linker looks for it, such as "libcuda.so.1". Throws
  /// Error{transport} with what the linker says.
  explicit Library(std::string name);

  /// A function, for whatever has its type.
  struct Symbol {
    void* address;
    template <class Function>
    operator Function*() const noexcept {  // NOLINT(google-explicit-constructor)
      return reinterpret_cast<Function*>(address);
    }
  };
  /// @param symbol of a function. @return it. Throws Error{transport} where the library has none:
  /// it is too old.
  [[nodiscard]] Symbol operator[](const char* symbol) const { return {address_of(symbol)}; }
  /// @param newer symbol of a function, which not all versions have. @param older one that they
  /// have. @return the newer one, or else the older. Throws likewise.
  [[nodiscard]] Symbol newest(const char* newer, const char* older) const {
    void* const address = address_or_null(newer);
    return {address != nullptr ? address : address_of(older)};
  }
  /// @param symbol of a function. @param function is set to it. Throws likewise.
  template <class Function>
  void find(const char* symbol, Function& function) const {
    function = reinterpret_cast<Function>(address_of(symbol));
  }
  /// The same of a function that newer versions have. @return whether this one has it.
  template <class Function>
  bool find_newer(const char* symbol, Function& function) const noexcept {
    function = reinterpret_cast<Function>(address_or_null(symbol));
    return function != nullptr;
  }

 private:
  struct Close {
    void operator()(void* handle) const noexcept;
  };
  [[nodiscard]] void* address_of(const char* symbol) const;
  [[nodiscard]] void* address_or_null(const char* symbol) const noexcept;

  std::string name_;
  std::unique_ptr<void, Close> handle_;
};

}  // namespace tutti::v0::cuda
