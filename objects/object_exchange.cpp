// The handle of an object collective.
#include <exception>
#include <string>
#include <utility>

#include <tutti/batch.hpp>
#include <tutti/object_call.hpp>
#include <tutti/spi/eventfd.hpp>

#include "collectives/engine/engine.hpp"
#include "object_operation.hpp"

namespace tutti::v0 {

namespace detail {

RawBytes ObjectAccess::bytes(Communicator& world, std::size_t bytes) noexcept {
  try {
    const CallGuard use{world.engine_};
    return world.engine_->payloads().acquire(bytes);
  } catch (...) {  // no memory is left; start() throws all other errors
    return {};
  }
}

SoleCaller ObjectAccess::sole_caller(Communicator& world) {
  return SoleCaller{world.engine_};
}

ObjectExchange ObjectAccess::start(Communicator& world, ObjectCall call) {
  const std::shared_ptr<Engine>& engine = world.engine_;
  const CallGuard use{engine};
  BatchScope::reject("an object collective");
  std::shared_ptr<ObjectOperation> operation = ObjectOperation::make(*engine, std::move(call));
  engine->progress().start(operation);
  return ObjectExchange{engine, std::move(operation)};
}

}  // namespace detail

detail::SoleCaller::SoleCaller(std::shared_ptr<Engine> engine) : engine_{std::move(engine)} {
  const CallGuard use{engine_};
  engine_->keep();
}

detail::SoleCaller::~SoleCaller() {
  const CallGuard use{engine_};
  engine_->let_go();
}

ObjectExchange::ObjectExchange(std::shared_ptr<detail::Engine> engine,
                               std::shared_ptr<detail::ObjectOperation> operation) noexcept
    : engine_{std::move(engine)}, operation_{std::move(operation)} {}

ObjectExchange::ObjectExchange(ObjectExchange&& other) noexcept = default;

ObjectExchange& ObjectExchange::operator=(ObjectExchange&& other) noexcept {
  ObjectExchange source{std::move(other)};  // its destructor ends the old exchange
  std::swap(engine_, source.engine_);
  std::swap(operation_, source.operation_);
  return *this;
}

ObjectExchange::~ObjectExchange() {
  if (operation_) engine_->drop(std::move(operation_));
}

bool ObjectExchange::test() {
  if (!operation_) return true;
  const detail::CallGuard use{engine_};
  if (!engine_->progress().test(*operation_)) return false;
  if (operation_->failure()) throw Error{*operation_->failure()};
  return true;
}

void ObjectExchange::wait() {
  if (operation_) end();
}

bool ObjectExchange::wait_for(Duration time) {
  if (test()) return true;
  {
    const detail::CallGuard use{engine_};
    const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
    const Duration end = deadline_after(now(), time);
    engine_->progress().wait_until([&] { return operation_->done() || now() >= end; });
  }
  return test();
}

void ObjectExchange::notify(int eventfd) {
  if (eventfd >= 0) check_eventfd(eventfd);
  if (operation_) {
    const detail::CallGuard use{engine_};
    if (!operation_->done())
      return engine_->notify(operation_->notice(), false, eventfd, "ObjectExchange::notify");
  }
  if (eventfd >= 0) signal_eventfd(eventfd);
}

void ObjectExchange::wait_to_decode() {
  if (!operation_) return;
  const detail::SoleCaller caller = sole_caller();
  {
    const detail::CallGuard use{engine_};
    engine_->progress().wait_until([this] { return operation_->done() || is_arriving(); });
  }
  if (!is_arriving()) end();
}

detail::SoleCaller ObjectExchange::sole_caller() const {
  if (!operation_)
    throw Error{ErrorCode::invalid_argument, "there is no operation to wait for, nor to decode"};
  return detail::SoleCaller{engine_};
}

void ObjectExchange::end() const {
  const detail::CallGuard use{engine_};
  if (is_arriving()) operation_->end_decoding();
  engine_->progress().wait_until([this] { return operation_->done(); });
  if (operation_->failure()) throw Error{*operation_->failure()};
}

void ObjectExchange::check_index(std::size_t index) const {
  if (is_arriving()) return;
  end();
  if (index >= count())
    throw Error{ErrorCode::invalid_argument,
                operation_->words() + ": there is no object " + std::to_string(index) +
                    " to decode; this rank has " + std::to_string(count())};
}

bool ObjectExchange::is_arriving() const noexcept {
  return operation_->is_arriving();
}

std::size_t ObjectExchange::begin_decoding() const noexcept {
  return operation_->begin_decoding();
}

std::span<const std::byte> ObjectExchange::await(std::size_t from, std::size_t bytes) const {
  const detail::CallGuard use{engine_};
  return operation_->await(from, bytes);
}

std::size_t ObjectExchange::count() const noexcept {
  return operation_ ? operation_->count() : 0;
}

std::span<const std::byte> ObjectExchange::object(std::size_t index) const noexcept {
  return operation_ ? operation_->object(index) : std::span<const std::byte>{};
}

std::shared_ptr<const void> ObjectExchange::detach_bytes() {
  return operation_ ? operation_->detach_bytes() : nullptr;
}

void ObjectExchange::fail_to_decode(std::size_t index) const {
  const Rank giver = operation_->giver(index);
  const std::exception_ptr why = std::current_exception();
  end();  // throws if the communicator failed, or the object could not be encoded
  const std::string head = "rank " + std::to_string(engine_->transport().self()) +
                           " could not decode the object that rank " + std::to_string(giver) +
                           " gave to " + operation_->words() + ": ";
  try {
    std::rethrow_exception(why);
  } catch (const std::exception& error) {
    throw Error{ErrorCode::object, head + error.what(), giver};
  } catch (...) {
    throw Error{ErrorCode::object, head + "an exception of unknown type", giver};
  }
}

}  // namespace tutti::v0
