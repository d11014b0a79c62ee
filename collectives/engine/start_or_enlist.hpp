/// @file
/// The start of a call, which may be in a batch.
#pragma once

#include <memory>
#include <utility>

#include <tutti/batch.hpp>

#include "engine.hpp"

namespace tutti::v0::detail {

/// Starts a call, at once or with the others of this thread's batch.
inline void start_or_enlist(const std::shared_ptr<Engine>& engine, Execution& execution,
                            const void* in, void* out, const BatchCalls::Enlistment& how) {
  BatchScope* const batch = BatchScope::current();
  if (batch == nullptr) return engine->calls().start(execution, in, out, how.timeout);
  engine->batch().add(execution, in, out, how);
  batch->add(engine);
}
/// Starts a call on a stream in the same way. @param blocks whether a batch waits for it.
inline void start_or_enlist(const std::shared_ptr<Engine>& engine,
                            const std::shared_ptr<StreamExecution>& call, bool blocks) {
  BatchScope* const batch = BatchScope::current();
  if (batch == nullptr) return engine->streamed().start(*call);
  engine->streamed().enlist(call, blocks);
  batch->add(engine);
}

}  // namespace tutti::v0::detail
