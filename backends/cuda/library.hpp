/// @file
/// A library that is loaded at run time, since not every machine has it.
#pragma once

#include <string>

#include <tutti/version.hpp>

namespace tutti::v0::cuda {

/// A library, which is never unloaded: it may run threads of its own.
class Library {
 public:
  /// @param name as for the dynamic linker, such as "libcuda.so.1". Throws Error{transport} with
  /// the linker's message.
  explicit Library(std::string name);

  /// The address of a function, which converts to a pointer of any function type.
  struct Symbol {
    void* address;
    template <class Function>
    operator Function*() const noexcept {  // NOLINT(google-explicit-constructor)
      return reinterpret_cast<Function*>(address);
    }
  };
  /// @return the function. Throws Error{transport} if the library is too old to have it.
  [[nodiscard]] Symbol operator[](const char* symbol) const;
  /// @return the function, or null if this version is too old to have it.
  [[nodiscard]] Symbol optional(const char* symbol) const noexcept;
  /// @return the newer of two functions that this version has. Throws Error{transport} if it has
  /// none.
  [[nodiscard]] Symbol newest(const char* newer, const char* older) const {
    const Symbol found = optional(newer);
    return found.address != nullptr ? found : (*this)[older];
  }

 private:
  std::string name_;
  void* handle_;
};

}  // namespace tutti::v0::cuda
