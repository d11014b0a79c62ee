/// @file
/// Collectives of objects: of whatever has a Codec, such as trivially copyable types without
/// pointers, and, with `<tutti/cereal.hpp>`, standard containers and one's own types.
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

#include <tutti/object_call.hpp>

namespace tutti {

/// The object collectives of a Communicator. Objects may differ in size between ranks, from call to
/// call. They are encoded before a call returns, also where it does not wait. Types that differ
/// between ranks, and an object that cannot be encoded or is too large, are one and the same
/// Error{object} on every rank, which names a rank and its type and leaves the communicator usable.
/// Bytes that do not decode are an Error{object} where they are decoded. Small objects take one
/// round of messages, larger ones a second, in which no byte moves that is not of an object.
/// @tparam Self the Communicator.
template <class Self>
class Objects {
  template <class Range>
  using ObjectOf = std::ranges::range_value_t<Range>;

 public:
  /// Every rank gets the root's object.
  /// @param object at the root the object; ignored elsewhere, but that, where it is moved here,
  /// containers use its memory again. @param root the rank that has it.
  /// @param options see ObjectOptions. @return it.
  template <class T>
  [[nodiscard]] T broadcast_object(T object, Rank root = 0, const ObjectOptions& options = {}) {
    const detail::SoleCaller caller = self().sole_caller();
    return broadcast_object_async(std::move(object), root, options).wait();
  }
  /// Rank r gets object r of the root's.
  /// @param objects at the root one for each rank, in the order of ranks, ignored elsewhere.
  /// @param root the rank that has them. @param options see ObjectOptions. @return own object.
  template <std::ranges::input_range Range>
  [[nodiscard]] ObjectOf<Range> scatter_object(Range&& objects, Rank root = 0,
                                               const ObjectOptions& options = {}) {
    const detail::SoleCaller caller = self().sole_caller();
    return scatter_object_async(objects, root, options).wait();
  }
  /// The root gets all ranks' objects.
  /// @param object own one. @param root its rank. @param options see ObjectOptions. @return at the
  /// root all objects in the order of ranks, none elsewhere.
  template <class T>
  [[nodiscard]] std::vector<T> gather_object(const T& object, Rank root = 0,
                                             const ObjectOptions& options = {}) {
    const detail::SoleCaller caller = self().sole_caller();
    return gather_object_async(object, root, options).wait();
  }
  /// Every rank gets all ranks' objects.
  /// @param object own one. @param options see ObjectOptions. @return all of them, in the order of
  /// ranks.
  template <class T>
  [[nodiscard]] std::vector<T> all_gather_object(const T& object,
                                                 const ObjectOptions& options = {}) {
    const detail::SoleCaller caller = self().sole_caller();
    return all_gather_object_async(object, options).wait();
  }
  /// Rank r gets object r of every rank.
  /// @param objects one for each rank, in the order of ranks. @param options see ObjectOptions.
  /// @return one from each rank, in the order of ranks.
  template <std::ranges::input_range Range>
  [[nodiscard]] std::vector<ObjectOf<Range>> all_to_all_object(Range&& objects,
                                                               const ObjectOptions& options = {}) {
    const detail::SoleCaller caller = self().sole_caller();
    return all_to_all_object_async(objects, options).wait();
  }
  /// The root gets the reduction of all ranks' objects, from left to right in the order of ranks.
  /// @param object own one. @param combine T(T, T): the left operand, which holds what came before,
  /// and the right one. @param root its rank. @param options see ObjectOptions. @return the
  /// reduction at the root, nothing elsewhere. Throws also, at the root, what `combine` throws.
  template <class T, class Function>
  [[nodiscard]] std::optional<T> reduce_object(const T& object, Function combine, Rank root = 0,
                                               const ObjectOptions& options = {}) {
    const detail::SoleCaller caller = self().sole_caller();
    return reduce_object_async(object, std::move(combine), root, options).wait();
  }
  /// Every rank gets the reduction of all ranks' objects, from left to right in the order of ranks.
  /// @param object own one. @param combine T(T, T): the left operand, which holds what came before,
  /// and the right one; every rank calls it. @param options see ObjectOptions. @return the
  /// reduction. Throws also what `combine` throws.
  template <class T, class Function>
  [[nodiscard]] T all_reduce_object(const T& object, Function combine,
                                    const ObjectOptions& options = {}) {
    const detail::SoleCaller caller = self().sole_caller();
    return all_reduce_object_async(object, std::move(combine), options).wait();
  }

  /// Sends an object to one rank, which calls recv_object. Objects of a tag come in the order in
  /// which they are sent. Where it cannot be encoded both ranks get Error{object}.
  /// @param object what. @param to its receiver. @param tag 0 .. kUserTags - 1, as the receiver
  /// gives; arrays and objects that are under way together have different tags.
  /// @param options see ObjectOptions.
  template <class T>
  void send_object(const T& object, Rank to, int tag = 0, const ObjectOptions& options = {}) {
    const detail::SoleCaller caller = self().sole_caller();
    send_object_async(object, to, tag, options).wait();
  }
  /// Receives an object from one rank, which calls send_object.
  /// @tparam T its type, else this rank gets Error{object}. @param from its sender. @param tag as
  /// of send_object. @param options see ObjectOptions; a larger object fails the communicator.
  /// @return it.
  template <class T>
  [[nodiscard]] T recv_object(Rank from, int tag = 0, const ObjectOptions& options = {}) {
    const detail::SoleCaller caller = self().sole_caller();
    return recv_object_async<T>(from, tag, options).wait();
  }

  /// @copydoc send_object
  /// @return the operation under way.
  template <class T>
  [[nodiscard]] ObjectRequest<void> send_object_async(const T& object, Rank to, int tag = 0,
                                                      const ObjectOptions& options = {}) {
    ObjectCall call = call_of<T>(ObjectCall::Way::send, "send_object", options);
    call.peer = to;
    call.tag = tag;
    call.add(object);
    return {self().start_objects(std::move(call)), [](const ObjectExchange&) {}};
  }
  /// @copydoc recv_object
  /// The result is that of ObjectRequest::wait.
  template <class T>
  [[nodiscard]] ObjectRequest<T> recv_object_async(Rank from, int tag = 0,
                                                   const ObjectOptions& options = {}) {
    ObjectCall call = call_of<T>(ObjectCall::Way::recv, "recv_object", options);
    call.peer = from;
    call.tag = tag;
    return {self().start_objects(std::move(call)),
            [](const ObjectExchange& exchange) { return exchange.template decode<T>(0); }};
  }
  /// @copydoc broadcast_object
  /// The result is that of ObjectRequest::wait.
  template <class T>
  [[nodiscard]] ObjectRequest<T> broadcast_object_async(T object, Rank root = 0,
                                                        const ObjectOptions& options = {}) {
    ObjectCall call = call_of<T>(ObjectCall::Way::broadcast, "broadcast_object", options, root);
    const bool is_root = self().rank() == root;
    const auto kept = std::make_shared<T>(std::move(object));
    if (is_root) call.add_kept(kept);
    return {self().start_objects(std::move(call)),
            [is_root, kept](const ObjectExchange& exchange) {
              return is_root           ? std::move(*kept)
                     : decodes_over<T> ? exchange.template decode<T>(0, std::move(*kept))
                                       : exchange.template decode<T>(0);
            },
            true};
  }
  /// @copydoc scatter_object
  /// The result is that of ObjectRequest::wait.
  template <std::ranges::input_range Range>
  [[nodiscard]] ObjectRequest<ObjectOf<Range>> scatter_object_async(
      Range&& objects, Rank root = 0, const ObjectOptions& options = {}) {
    using T = ObjectOf<Range>;
    ObjectCall call = call_of<T>(ObjectCall::Way::scatter, "scatter_object", options, root);
    if (self().rank() == root) add_all(call, objects);
    return {self().start_objects(std::move(call)),
            [](const ObjectExchange& exchange) { return exchange.template decode<T>(0); }};
  }
  /// @copydoc gather_object
  /// The result is that of ObjectRequest::wait.
  template <class T>
  [[nodiscard]] ObjectRequest<std::vector<T>> gather_object_async(
      const T& object, Rank root = 0, const ObjectOptions& options = {}) {
    ObjectCall call = call_of<T>(ObjectCall::Way::gather, "gather_object", options, root);
    call.add(object);
    return {self().start_objects(std::move(call)), &Objects::all_of<T>};
  }
  /// @copydoc all_gather_object
  /// The result is that of ObjectRequest::wait.
  template <class T>
  [[nodiscard]] ObjectRequest<std::vector<T>> all_gather_object_async(
      const T& object, const ObjectOptions& options = {}) {
    ObjectCall call = call_of<T>(ObjectCall::Way::all_gather, "all_gather_object", options);
    call.add(object);
    return {self().start_objects(std::move(call)), &Objects::all_of<T>};
  }
  /// @copydoc all_to_all_object
  /// The result is that of ObjectRequest::wait.
  template <std::ranges::input_range Range>
  [[nodiscard]] ObjectRequest<std::vector<ObjectOf<Range>>> all_to_all_object_async(
      Range&& objects, const ObjectOptions& options = {}) {
    using T = ObjectOf<Range>;
    ObjectCall call = call_of<T>(ObjectCall::Way::all_to_all, "all_to_all_object", options);
    add_all(call, objects);
    return {self().start_objects(std::move(call)), &Objects::all_of<T>};
  }
  /// @copydoc reduce_object
  /// The result is that of ObjectRequest::wait.
  template <class T, class Function>
  [[nodiscard]] ObjectRequest<std::optional<T>> reduce_object_async(
      const T& object, Function combine, Rank root = 0, const ObjectOptions& options = {}) {
    ObjectCall call = call_of<T>(ObjectCall::Way::gather, "reduce_object", options, root);
    call.add(object);
    return {self().start_objects(std::move(call)),
            [combine = std::move(combine)](const ObjectExchange& exchange) {
              if (exchange.count() == 0) return std::optional<T>{};
              return std::optional<T>{reduced<T>(exchange, combine)};
            }};
  }
  /// @copydoc all_reduce_object
  /// The result is that of ObjectRequest::wait.
  template <class T, class Function>
  [[nodiscard]] ObjectRequest<T> all_reduce_object_async(const T& object, Function combine,
                                                         const ObjectOptions& options = {}) {
    ObjectCall call = call_of<T>(ObjectCall::Way::all_gather, "all_reduce_object", options);
    call.add(object);
    return {self().start_objects(std::move(call)),
            [combine = std::move(combine)](const ObjectExchange& exchange) {
              return reduced<T>(exchange, combine);
            }};
  }

  /// @copydoc send_object
  /// @return nothing, or the Error.
  template <class T>
  [[nodiscard]] Result<void> try_send_object(const T& object, Rank to, int tag = 0,
                                             const ObjectOptions& options = {}) {
    return detail::attempt([&] { send_object(object, to, tag, options); });
  }
  /// @copydoc recv_object
  /// Or the Error.
  template <class T>
  [[nodiscard]] Result<T> try_recv_object(Rank from, int tag = 0,
                                          const ObjectOptions& options = {}) {
    return detail::attempt([&] { return recv_object<T>(from, tag, options); });
  }
  /// @copydoc broadcast_object
  /// Or the Error.
  template <class T>
  [[nodiscard]] Result<T> try_broadcast_object(T object, Rank root = 0,
                                               const ObjectOptions& options = {}) {
    return detail::attempt([&] { return broadcast_object(std::move(object), root, options); });
  }
  /// @copydoc scatter_object
  /// Or the Error.
  template <std::ranges::input_range Range>
  [[nodiscard]] Result<ObjectOf<Range>> try_scatter_object(Range&& objects, Rank root = 0,
                                                           const ObjectOptions& options = {}) {
    return detail::attempt([&] { return scatter_object(objects, root, options); });
  }
  /// @copydoc gather_object
  /// Or the Error.
  template <class T>
  [[nodiscard]] Result<std::vector<T>> try_gather_object(const T& object, Rank root = 0,
                                                         const ObjectOptions& options = {}) {
    return detail::attempt([&] { return gather_object(object, root, options); });
  }
  /// @copydoc all_gather_object
  /// Or the Error.
  template <class T>
  [[nodiscard]] Result<std::vector<T>> try_all_gather_object(const T& object,
                                                             const ObjectOptions& options = {}) {
    return detail::attempt([&] { return all_gather_object(object, options); });
  }
  /// @copydoc all_to_all_object
  /// Or the Error.
  template <std::ranges::input_range Range>
  [[nodiscard]] Result<std::vector<ObjectOf<Range>>> try_all_to_all_object(
      Range&& objects, const ObjectOptions& options = {}) {
    return detail::attempt([&] { return all_to_all_object(objects, options); });
  }
  /// @copydoc reduce_object
  /// Or the Error.
  template <class T, class Function>
  [[nodiscard]] Result<std::optional<T>> try_reduce_object(const T& object, Function combine,
                                                           Rank root = 0,
                                                           const ObjectOptions& options = {}) {
    return detail::attempt(
        [&] { return reduce_object(object, std::move(combine), root, options); });
  }
  /// @copydoc all_reduce_object
  /// Or the Error.
  template <class T, class Function>
  [[nodiscard]] Result<T> try_all_reduce_object(const T& object, Function combine,
                                                const ObjectOptions& options = {}) {
    return detail::attempt([&] { return all_reduce_object(object, std::move(combine), options); });
  }

 protected:
  Objects() = default;

 private:
  template <class T>
  [[nodiscard]] ObjectCall call_of(ObjectCall::Way way, std::string_view name,
                                   const ObjectOptions& options, Rank root = 0) {
    static_assert(Encodable<T>,
                  "tutti does not know how to move objects of this type: include "
                  "<tutti/cereal.hpp> for standard containers and types with cereal's functions, "
                  "specialise tutti::is_flat for a trivially copyable class without pointers, or "
                  "specialise tutti::Codec");
    return {.way = way,
            .name = name,
            .root = root,
            .type = type_name<T>,
            .type_fingerprint = type_fingerprint<T>(),
            .bytes = Encoder{options.most_bytes, self().bytes_for_objects(),
                             way == ObjectCall::Way::broadcast ? kStreamedBytes : ~std::size_t{0}},
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
  [[nodiscard]] Self& self() noexcept { return static_cast<Self&>(*this); }
};

}  // namespace tutti
