// What ranks tell each other of their calls.
#include <algorithm>

#include <tutti/spi/call_status.hpp>

namespace tutti::v0 {
namespace {

/// So long a rank that only looks at a call is taken to wait for it.
constexpr std::chrono::milliseconds kBetweenLooks{100};

}  // namespace

std::string words_of_number(std::uint64_t number) {
  return number > kPlanCalls ? "plan #" + std::to_string(number - kPlanCalls)
                             : "call #" + std::to_string(number);
}

std::string words_of(const CallWait& wait) {
  const std::string name{wait.name};
  if (wait.number > kPlanCalls) return name + " of " + words_of_number(wait.number);
  return name + (wait.number > 0 ? " #" + std::to_string(wait.number)
                                 : " with tag " + std::to_string(wait.tag));
}

void CallCounter::add_plan(std::uint64_t plan, std::uint64_t fingerprint) {
  const std::lock_guard lock{mutex_};
  plans_[plan] = fingerprint;
  if (plans_.size() > kRememberedPlans) plans_.erase(plans_.begin());
}

void CallCounter::describe(std::uint64_t fingerprint, std::string words) {
  const std::lock_guard lock{mutex_};
  Text& text = texts_[fingerprint];
  text.words = std::move(words);
  ++text.kinds;
}

bool CallCounter::remembers(std::uint64_t fingerprint) const noexcept {
  return std::ranges::any_of(slots_,
                             [fingerprint](const Slot& slot) {
                               return slot.fingerprint.load(std::memory_order_relaxed) ==
                                      fingerprint;
                             }) ||
         std::ranges::any_of(plans_, [&](const auto& plan) { return plan.second == fingerprint; });
}

/// What is remembered can be asked for, and keeps its words.
void CallCounter::forget(std::uint64_t fingerprint) noexcept {
  const std::lock_guard lock{mutex_};
  const auto found = texts_.find(fingerprint);
  if (found != texts_.end() && found->second.kinds > 0) --found->second.kinds;
  std::erase_if(texts_, [this](const auto& text) {
    return text.second.kinds == 0 && !remembers(text.first);
  });
}

void CallCounter::wait(std::span<const CallWait> waits, bool blocks) noexcept {
  const std::lock_guard lock{mutex_};
  wait_count_ = std::min(waits.size(), kMostWaits);
  std::copy_n(waits.begin(), wait_count_, waits_.begin());
  blocks_ = blocks;
  noted_ = std::chrono::steady_clock::now();
}

void CallCounter::advance() noexcept {
  const std::lock_guard lock{mutex_};
  wait_count_ = 0;
}

CallStatus CallCounter::status_of(std::uint64_t number) const {
  CallStatus told{.state = CallStatus::State::there,
                  .begun = begun_.load(std::memory_order_acquire)};
  if (number == 0) number = told.begun;
  const Slot& slot = slots_[number % kRemembered];
  const std::uint64_t before = slot.number.load(std::memory_order_acquire);
  told.fingerprint = slot.fingerprint.load(std::memory_order_acquire);
  const std::uint64_t after = slot.number.load(std::memory_order_relaxed);
  // The call that comes kRemembered later takes the slot, just before it is counted as begun.
  const bool is_taken = begun_.load(std::memory_order_acquire) + 1 >= number + kRemembered;
  const std::lock_guard lock{mutex_};
  if (number > kPlanCalls) {
    const auto plan = plans_.find(number - kPlanCalls);
    if (plan != plans_.end()) {
      told.memory = CallStatus::Memory::known;
      told.fingerprint = plan->second;
    } else if (!plans_.empty() && number - kPlanCalls < plans_.begin()->first) {
      told.memory = CallStatus::Memory::forgotten;
    }
  } else if (number > 0 && before == number && after == number) {
    told.memory = CallStatus::Memory::known;
  } else if (number > 0 && is_taken) {
    told.memory = CallStatus::Memory::forgotten;
  }
  const auto text = texts_.find(told.fingerprint);
  if (told.memory == CallStatus::Memory::known && text != texts_.end())
    told.words = text->second.words;
  const Duration age = std::chrono::steady_clock::now() - noted_;
  if (!blocks_ && age > kBetweenLooks) return told;
  for (const CallWait& wait : std::span{waits_}.first(wait_count_))
    told.waits.push_back({words_of(wait), wait.number, wait.rank, wait.time + age});
  return told;
}

}  // namespace tutti::v0
