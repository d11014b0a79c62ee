/// @file
/// Modules, and the kernels in them: the bodies that the backend has for the host.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "tests/cuda/bodies.hpp"
#include "tests/cuda/standin/context.hpp"
#include "tests/cuda/standin/handles.hpp"

namespace tutti::standin {

class Memory;

/// A kernel.
struct Function {
  /// Runs all threads of it on a device. The result: what fails the context, or success.
  using Run = std::function<CUresult(std::size_t threads, const Memory& memory, int device)>;
  /// Binds the argument of a launch, which the caller owns.
  std::function<Run(const void* argument)> bind{};
};

using Functions = Handles<CUfunction, const Function>;

class Module {
 public:
  explicit Module(Context& context) : context_{context} {}

  Context& context() const noexcept { return context_; }
  /// @return the handle of a kernel, the same each time; null if there is no such kernel.
  CUfunction find(const std::string& name, Functions& functions);
  /// Ends the handles of all kernels.
  void unload(Functions& functions);

 private:
  Context& context_;
  std::mutex mutex_;
  std::map<std::string, CUfunction> functions_;
};

}  // namespace tutti::standin
