#include "call.hpp"

#include <array>
#include <cstdio>

namespace tutti::nccl_standin {
namespace {

thread_local std::array<char, 256> reason_of_thread{};

}  // namespace

const char* last_reason() noexcept {
  return reason_of_thread.data();
}

void remember_reason(const char* reason) noexcept {
  std::snprintf(reason_of_thread.data(), reason_of_thread.size(), "%s", reason);
}

}  // namespace tutti::nccl_standin
