#include <tutti/spi/interrupt.hpp>

namespace tutti::v0 {
namespace {

constinit thread_local std::atomic<InterruptFlag> own_flag{nullptr};
constinit thread_local const std::atomic<InterruptFlag>* lender_of_thread = nullptr;

}  // namespace

void interrupt_by(InterruptFlag flag) noexcept {
  own_flag.store(flag, std::memory_order_relaxed);
}

void borrow_interrupt(const std::atomic<InterruptFlag>& lender) noexcept {
  lender_of_thread = &lender;
}

InterruptFlag interrupt_flag() noexcept {
  const std::atomic<InterruptFlag>& flag =
      lender_of_thread == nullptr ? own_flag : *lender_of_thread;
  return flag.load(std::memory_order_acquire);
}

bool is_interrupted() noexcept {
  const InterruptFlag flag = interrupt_flag();
  return flag != nullptr && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0;
}

}  // namespace tutti::v0
