/// @file
/// Collectives of objects that have a Codec: trivially copyable types without pointers, and,
/// with `<tutti/cereal.hpp>`, standard containers and user types.
#pragma once

#include <concepts>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/object_call.hpp>

namespace tutti::v0 {

namespace detail {
/// An object collective ends in its call, and throws.
struct ObjectsEnd {
  template <class T>
  using Of = T;
  template <class Start>
  static auto finish(Communicator& world, Start start) {
    const SoleCaller caller = ObjectAccess::sole_caller(world);
    return start().wait();
  }
};
/// A call returns a Result.
struct ObjectsReturn {
  template <class T>
  using Of = Result<T>;
  template <class Start>
  static auto finish(Communicator& world, Start start) noexcept {
    return attempt([&] { return ObjectsEnd::finish(world, std::move(start)); });
  }
};
/// A call only starts the operation.
struct ObjectsStart {
  template <class T>
  using Of = ObjectRequest<T>;
  template <class Start>
  static auto finish(Communicator& /*world*/, Start start) {
    return start();
  }
};
}  // namespace detail

/// The object collectives of a communicator, to which it refers: see objects(). Objects may differ
/// in size between ranks and between calls. A call encodes them before it returns, also if it does
/// not wait. Types that differ between ranks, and an object that cannot be encoded or is too large,
/// are the same Error{object} on every rank, which names a rank and its type and leaves the
/// communicator usable. Bytes that do not decode are an Error{object} on the decoding rank. Small
/// objects take one round of messages, larger ones a second.
/// @tparam Style how the call runs: it ends, and throws; with `async()` it returns an
/// ObjectRequest, whose wait returns the result; with `try_()` a Result.
template <class Style>
class ObjectCalls {
  template <class Range>
  using ObjectOf = std::ranges::range_value_t<Range>;
  template <class T>
  using Of = typename Style::template Of<T>;

 public:
  /// @param world the communicator; must outlive this object.
  explicit ObjectCalls(Communicator& world) noexcept : world_{&world} {}

  /// Every rank gets the root's object.
  /// @param object the object at the root. Elsewhere its value is ignored, but containers reuse its
  /// memory if it is moved here.
  template <class T>
  [[nodiscard]] Of<T> broadcast(T object, Rank root = 0, const ObjectOptions& options = {}) {
    return Style::finish(*world_, [&] {
      ObjectCall call = call_of<T>(ObjectCall::Kind::broadcast, "broadcast_object", options, root);
      const bool is_root = world_->rank() == root;
      const auto kept = std::make_shared<T>(std::move(object));
      if (is_root) call.add_kept(kept);
      return ObjectRequest<T>{detail::ObjectAccess::start(*world_, std::move(call)),
                              [is_root, kept](const ObjectExchange& exchange) {
                                return is_root ? std::move(*kept)
                                       : decodes_over<T>
                                           ? exchange.template decode<T>(0, std::move(*kept))
                                           : exchange.template decode<T>(0);
                              },
                              true};
    });
  }
  /// Rank r gets object r of the root's.
  /// @param objects at the root one for each rank, in the order of ranks; ignored elsewhere.
  template <std::ranges::input_range Range>
  [[nodiscard]] Of<ObjectOf<Range>> scatter(Range&& objects, Rank root = 0,
                                            const ObjectOptions& options = {}) {
    return Style::finish(*world_, [&] {
      using T = ObjectOf<Range>;
      ObjectCall call = call_of<T>(ObjectCall::Kind::scatter, "scatter_object", options, root);
      if (world_->rank() == root) add_all(call, objects);
      return ObjectRequest<ObjectOf<Range>>{
          detail::ObjectAccess::start(*world_, std::move(call)),
          [](const ObjectExchange& exchange) { return exchange.template decode<T>(0); }};
    });
  }
  /// The root gets all ranks' objects.
  /// @return at the root all objects in the order of ranks, elsewhere none.
  template <class T>
  [[nodiscard]] Of<std::vector<T>> gather(const T& object, Rank root = 0,
                                          const ObjectOptions& options = {}) {
    return Style::finish(*world_, [&] {
      ObjectCall call = call_of<T>(ObjectCall::Kind::gather, "gather_object", options, root);
      call.add(object);
      return ObjectRequest<std::vector<T>>{detail::ObjectAccess::start(*world_, std::move(call)),
                                           &ObjectCalls::all_of<T>};
    });
  }
  /// Every rank gets all ranks' objects.
  /// @return all objects in the order of ranks.
  template <class T>
  [[nodiscard]] Of<std::vector<T>> all_gather(const T& object, const ObjectOptions& options = {}) {
    return Style::finish(*world_, [&] {
      ObjectCall call = call_of<T>(ObjectCall::Kind::all_gather, "all_gather_object", options);
      call.add(object);
      return ObjectRequest<std::vector<T>>{detail::ObjectAccess::start(*world_, std::move(call)),
                                           &ObjectCalls::all_of<T>};
    });
  }
  /// Rank r gets object r of every rank.
  /// @param objects one for each rank, in the order of ranks.
  /// @return one from each rank, in the order of ranks.
  template <std::ranges::input_range Range>
  [[nodiscard]] Of<std::vector<ObjectOf<Range>>> all_to_all(Range&& objects,
                                                            const ObjectOptions& options = {}) {
    return Style::finish(*world_, [&] {
      using T = ObjectOf<Range>;
      ObjectCall call = call_of<T>(ObjectCall::Kind::all_to_all, "all_to_all_object", options);
      add_all(call, objects);
      return ObjectRequest<std::vector<ObjectOf<Range>>>{
          detail::ObjectAccess::start(*world_, std::move(call)), &ObjectCalls::all_of<T>};
    });
  }
  /// The root gets the reduction of all ranks' objects, from left to right in the order of ranks.
  /// @param combine T(T, T): the reduction of earlier ranks' objects, and the next object.
  /// @return the reduction at the root, nothing elsewhere. The root also throws what `combine`
  /// throws.
  template <class T, class Function>
  [[nodiscard]] Of<std::optional<T>> reduce(const T& object, Function combine, Rank root = 0,
                                            const ObjectOptions& options = {}) {
    return Style::finish(*world_, [&] {
      ObjectCall call = call_of<T>(ObjectCall::Kind::gather, "reduce_object", options, root);
      call.add(object);
      return ObjectRequest<std::optional<T>>{
          detail::ObjectAccess::start(*world_, std::move(call)),
          [combine = std::move(combine)](const ObjectExchange& exchange) {
            if (exchange.count() == 0) return std::optional<T>{};
            return std::optional<T>{reduced<T>(exchange, combine)};
          }};
    });
  }
  /// Every rank gets the reduction of all ranks' objects, from left to right in the order of ranks.
  /// @param combine T(T, T): the reduction of earlier ranks' objects, and the next object; every
  /// rank calls it.
  /// @return the reduction. Also throws what `combine` throws.
  template <class T, class Function>
  [[nodiscard]] Of<T> all_reduce(const T& object, Function combine,
                                 const ObjectOptions& options = {}) {
    return Style::finish(*world_, [&] {
      ObjectCall call = call_of<T>(ObjectCall::Kind::all_gather, "all_reduce_object", options);
      call.add(object);
      return ObjectRequest<T>{detail::ObjectAccess::start(*world_, std::move(call)),
                              [combine = std::move(combine)](const ObjectExchange& exchange) {
                                return reduced<T>(exchange, combine);
                              }};
    });
  }
  /// Sends an object to one rank, which calls recv. Objects of one tag arrive in the order in which
  /// they are sent. If the object cannot be encoded both ranks get Error{object}.
  /// @param tag 0 .. kUserTags - 1, equal to the receiver's. Arrays and objects under way at the
  /// same time need different tags.
  template <class T>
  Of<void> send(const T& object, Rank to, int tag = 0, const ObjectOptions& options = {}) {
    return Style::finish(*world_, [&] {
      ObjectCall call = call_of<T>(ObjectCall::Kind::send, "send_object", options);
      call.peer = to;
      call.tag = tag;
      call.add(object);
      return ObjectRequest<void>{detail::ObjectAccess::start(*world_, std::move(call)),
                                 [](const ObjectExchange&) {}};
    });
  }
  /// Receives an object from one rank, which calls send.
  /// @tparam T its type; another type is Error{object} on this rank.
  /// @param tag equal to the sender's. @param options a larger object than its limit fails the
  /// communicator.
  template <class T>
  [[nodiscard]] Of<T> recv(Rank from, int tag = 0, const ObjectOptions& options = {}) {
    return Style::finish(*world_, [&] {
      ObjectCall call = call_of<T>(ObjectCall::Kind::recv, "recv_object", options);
      call.peer = from;
      call.tag = tag;
      return ObjectRequest<T>{
          detail::ObjectAccess::start(*world_, std::move(call)),
          [](const ObjectExchange& exchange) { return exchange.template decode<T>(0); }};
    });
  }

 protected:
  Communicator* world_;  ///< The communicator of the calls.

 private:
  template <class T>
  [[nodiscard]] ObjectCall call_of(ObjectCall::Kind kind, std::string_view name,
                                   const ObjectOptions& options, Rank root = 0) {
    static_assert(Encodable<T>,
                  "tutti cannot send objects of this type: include "
                  "<tutti/cereal.hpp> for standard containers and types with cereal's functions, "
                  "specialise tutti::is_flat for a trivially copyable class without pointers, or "
                  "specialise tutti::Codec");
    return {
        .kind = kind,
        .name = name,
        .root = root,
        .type = type_name<T>,
        .type_fingerprint = type_fingerprint<T>(),
        .bytes = Encoder{options.most_bytes, detail::ObjectAccess::bytes(*world_),
                         kind == ObjectCall::Kind::broadcast ? kStreamedBytes : ~std::size_t{0}},
        .options = options};
  }
  template <class Range>
  void add_all(ObjectCall& call, Range& objects) {
    for (auto&& object : objects) call.add<ObjectOf<Range>>(object);
  }
  template <class T>
  [[nodiscard]] static std::vector<T> all_of(const ObjectExchange& exchange) {
    std::vector<T> all;
    all.reserve(exchange.count());
    for (std::size_t i = 0; i < exchange.count(); ++i) all.push_back(exchange.decode<T>(i));
    return all;
  }
  template <class T, class Function>
  [[nodiscard]] static T reduced(const ObjectExchange& exchange, const Function& combine) {
    T result = exchange.decode<T>(0);
    for (std::size_t i = 1; i < exchange.count(); ++i)
      result = combine(std::move(result), exchange.decode<T>(i));
    return result;
  }
};

/// The calls of objects().
class Objects : public ObjectCalls<detail::ObjectsEnd> {
 public:
  using ObjectCalls::ObjectCalls;
  /// @return calls that start an operation and return its ObjectRequest.
  [[nodiscard]] ObjectCalls<detail::ObjectsStart> async() const noexcept {
    return ObjectCalls<detail::ObjectsStart>{*world_};
  }
  /// @return calls that do not throw and return a Result.
  [[nodiscard]] ObjectCalls<detail::ObjectsReturn> try_() const noexcept {
    return ObjectCalls<detail::ObjectsReturn>{*world_};
  }
};

/// @param world a communicator, which must live.
/// @return its collectives of objects, as in `objects(world).all_gather(x)`.
[[nodiscard]] inline Objects objects(Communicator& world) noexcept {
  return Objects{world};
}

}  // namespace tutti::v0
