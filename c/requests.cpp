// Calls under way, prepared calls, batches, probes, selection and user operators.
#include <chrono>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include <tutti/attempt.hpp>
#include <tutti/batch.hpp>
#include <tutti/spi/interrupt.hpp>
#include <tutti/spi/per_thread.hpp>
#include <tutti/spi/transport.hpp>

#include "handles.hpp"

namespace tutti::v0::c {
namespace {

/// The batch of a thread between tutti_batch_begin and its end.
struct ThreadBatch {
  std::unique_ptr<detail::BatchScope> scope{};
};
std::unique_ptr<detail::BatchScope>& batch_of_thread() noexcept {
  return detail::PerThread<ThreadBatch>::get().scope;
}

/// Lets other ranks run that may share the core, unless the message comes within some microseconds.
void pause_after(int polls) {
  constexpr int kSpins = 100;
  constexpr int kYields = 1000;
  if (polls < kSpins) return;
  if (polls < kSpins + kYields) std::this_thread::yield();
  else std::this_thread::sleep_for(std::chrono::microseconds{50});
}

tutti_status pending_unless(bool is_done) noexcept {
  return is_done ? TUTTI_OK : TUTTI_PENDING;
}

/// Why the operator that runs in this thread fails.
struct OperatorError {
  std::string text{};
};
std::string& operator_error() noexcept {
  return detail::PerThread<OperatorError>::get().text;
}

/// A user's operator, which ends with the last call that uses it.
class UserOperator {
 public:
  /// @param is_checked whether the function clears operator_error() where it succeeds.
  UserOperator(tutti_combine function, void* context, void (*release)(void*),
               bool is_checked) noexcept
      : function_{function}, context_{context}, release_{release}, is_checked_{is_checked} {}
  UserOperator(const UserOperator&) = delete;
  UserOperator& operator=(const UserOperator&) = delete;
  ~UserOperator() {
    if (release_ != nullptr) release_(context_);
  }
  void combine(const void* left, const void* right, void* out, std::size_t count) const {
    std::string& why = operator_error();
    why = is_checked_ ? "an exception ended it" : "";
    const int status = function_(context_, left, right, out, count);
    if (status == 0 && (!is_checked_ || why.empty())) return;
    throw std::runtime_error{"a user's operator failed" +
                             (why.empty() ? " with status " + std::to_string(status) : ": " + why)};
  }

 private:
  tutti_combine function_;
  void* context_;
  void (*release_)(void*);
  bool is_checked_;
};

tutti_status make_operator(tutti_combine combine, void* context, int32_t commutative,
                           void (*release)(void* context), bool is_checked,
                           tutti_operator** result) {
  return made(result, [&] {
    require(reinterpret_cast<const void*>(combine), "combine");
    auto user = std::make_shared<UserOperator>(combine, context, release, is_checked);
    return Operator{[user](const void* left, const void* right, void* out, std::size_t count) {
                      user->combine(left, right, out, count);
                    },
                    commutative != 0};
  });
}

}  // namespace
}  // namespace tutti::v0::c

using namespace tutti::c;

extern "C" {

tutti_status tutti_wait(tutti_request* request) {
  return guarded(request, "request", [&] { request->request.wait(); });
}

tutti_status tutti_wait_for(tutti_request* request, int64_t slice) {
  return guarded(request, "request",
                 [&] { return pending_unless(request->request.wait_for(tutti::Duration{slice})); });
}

tutti_status tutti_test(tutti_request* request) {
  return guarded(request, "request", [&] { return pending_unless(request->request.test()); });
}

tutti_status tutti_request_notify(tutti_request* request, int32_t eventfd) {
  return guarded(request, "request", [&] { request->request.notify(eventfd); });
}

tutti_status tutti_wait_all(tutti_request* const* requests, size_t count) {
  return guarded([&] {
    if (count > 0) require(requests, "requests");
    std::optional<tutti::Error> first;
    for (size_t i = 0; i < count; ++i) {
      const auto result = tutti::detail::attempt([&] {
        require(requests[i], "requests[" + std::to_string(i) + "]");
        requests[i]->request.wait();
      });
      if (!result && !first) first = result.error();
    }
    if (first) throw tutti::Error{*first};
  });
}

void tutti_request_free(tutti_request* request) {
  delete request;
}

tutti_status tutti_make_plan(tutti_communicator* communicator, const tutti_call* call,
                             const tutti_options* options, tutti_plan** result) {
  return made(result, [&] {
    const GivenCall given{communicator, call, options};
    return communicator->world.plan().run(given.call, given.options);
  });
}

tutti_status tutti_plan_start(tutti_plan* plan, const void* in, void* out) {
  return guarded(plan, "plan", [&] {
    if (in == nullptr && out == nullptr) plan->plan.start();
    else plan->plan.start(in, out);
  });
}

tutti_status tutti_plan_wait(tutti_plan* plan) {
  return guarded(plan, "plan", [&] { plan->plan.wait(); });
}

tutti_status tutti_plan_wait_for(tutti_plan* plan, int64_t slice) {
  return guarded(plan, "plan",
                 [&] { return pending_unless(plan->plan.wait_for(tutti::Duration{slice})); });
}

tutti_status tutti_plan_test(tutti_plan* plan) {
  return guarded(plan, "plan", [&] { return pending_unless(plan->plan.test()); });
}

void tutti_interrupt_by(const volatile int32_t* flag) {
  tutti::interrupt_by(flag);
}

const char* tutti_plan_algorithm(const tutti_plan* plan) {
  return plan == nullptr ? "" : plan->plan.algorithm().c_str();
}

void tutti_plan_free(tutti_plan* plan) {
  delete plan;
}

tutti_status tutti_batch_begin(void) {
  return guarded([] { batch_of_thread() = std::make_unique<tutti::detail::BatchScope>(); });
}

tutti_status tutti_batch_end(void) {
  return guarded([] {
    const std::unique_ptr<tutti::detail::BatchScope> scope = std::move(batch_of_thread());
    if (!scope)
      throw tutti::Error{tutti::ErrorCode::invalid_argument,
                         "there is no batch; tutti_batch_begin begins one"};
    scope->run();
  });
}

void tutti_batch_cancel(void) {
  batch_of_thread().reset();
}

tutti_status tutti_probe(tutti_communicator* communicator, int32_t from, int32_t tag, int64_t slice,
                         tutti_arrival* arrival) {
  return guarded(communicator, "communicator", [&] {
    require(arrival, "arrival");
    check_size(*arrival);
    const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
    const tutti::Duration end = tutti::deadline_after(now(), tutti::Duration{slice});
    for (int polls = 0;; ++polls) {
      if (const auto found = communicator->world.probe_now(from, tag)) {
        write(
            arrival, arrival->size,
            {.size = arrival->size, .from = found->from, .tag = found->tag, .bytes = found->bytes});
        return TUTTI_OK;
      }
      if (tutti::is_interrupted())
        throw tutti::Error{tutti::ErrorCode::aborted, "the probe was interrupted"};
      if (now() >= end) return TUTTI_PENDING;
      pause_after(polls);
    }
  });
}

tutti_status tutti_explain(tutti_communicator* communicator, const tutti_call* call,
                           const tutti_options* options, char* text, size_t capacity,
                           size_t* length) {
  return stored(text, capacity, length, [&] {
    const GivenCall given{communicator, call, options};
    return communicator->world.explain(given.call, given.options);
  });
}

tutti_status tutti_make_operator(tutti_combine combine, void* context, int32_t commutative,
                                 void (*release)(void* context), tutti_operator** result) {
  return make_operator(combine, context, commutative, release, false, result);
}

tutti_status tutti_make_checked_operator(tutti_combine combine, void* context, int32_t commutative,
                                         void (*release)(void* context), tutti_operator** result) {
  return make_operator(combine, context, commutative, release, true, result);
}

void tutti_operator_error(const char* text) {
  try {
    operator_error() = text == nullptr ? "" : text;
  } catch (const std::bad_alloc&) {
    operator_error().clear();  // the error has the number that the operator returns
  }
}

void tutti_operator_free(tutti_operator* user_op) {
  delete user_op;
}

}  // extern "C"
