/// @file
/// An object collective with erased types, and its handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tutti/attempt.hpp>
#include <tutti/codec.hpp>
#include <tutti/export.hpp>
#include <tutti/raise.hpp>
#include <tutti/type_name.hpp>
#include <tutti/types.hpp>

namespace tutti::v0 {

class Communicator;
struct Call;

namespace detail {

class Engine;
class ObjectOperation;
struct ObjectAccess;

/// Lets only this thread call a communicator during its lifetime, for an operation of several
/// calls.
class TUTTI_API SoleCaller {
 public:
  /// Throws Error{invalid_argument} if another thread is in a call.
  explicit SoleCaller(std::shared_ptr<Engine> engine);
  SoleCaller(const SoleCaller&) = delete;
  SoleCaller& operator=(const SoleCaller&) = delete;
  ~SoleCaller();

 private:
  std::shared_ptr<Engine> engine_;
};

}  // namespace detail

/// The settings of one object collective beside its data.
struct ObjectOptions {
  /// Most bytes of one encoded object; the least value of all ranks counts. It bounds the memory
  /// that a rank allocates because of another rank's message.
  std::size_t most_bytes = std::size_t{1} << 30;
  /// Deadline of the whole operation, as Options::timeout. It includes decoding of an object that
  /// is decoded while it arrives.
  Duration timeout{0};
};

/// A larger broadcast object is first only counted, and encoded while it is sent.
inline constexpr std::size_t kStreamedBytes = std::size_t{32} << 10;

/// An object collective of encoded objects.
struct ObjectCall {
  /// Kind of an object collective.
  enum class Kind : std::uint8_t {
    broadcast,   ///< The root's object to every rank.
    scatter,     ///< Object r of the root to rank r.
    gather,      ///< Every rank's object to the root.
    all_gather,  ///< Every rank's object to every rank.
    all_to_all,  ///< Object r of every rank to rank r.
    send,        ///< The own object to the peer.
    recv         ///< The peer's object to this rank.
  };
  Kind kind{};                            ///< Kind of the collective.
  std::string_view name{};                ///< Name of the call, such as "reduce_object".
  Rank root = 0;                          ///< The root of rooted collectives.
  Rank peer = 0;                          ///< The other rank of send and recv.
  int tag = 0;                            ///< Tag of send and recv, as Call::tag.
  std::string_view type{};                ///< Name of the objects' type.
  std::uint64_t type_fingerprint = 0;     ///< Fingerprint of that type.
  Encoder bytes;                          ///< The objects of this rank, one after the other.
  std::vector<std::size_t> sizes{};       ///< The bytes of each.
  std::function<void(Encoder&)> again{};  ///< Encodes an object that was only counted.
  std::string problem{};                  ///< Why encoding failed; empty if it did not.
  ObjectOptions options{};                ///< The caller's options.

  /// Encodes the next object. A failure is stored as the problem, which all ranks get.
  /// @param object of a type that has a Codec.
  template <class T>
  void add(const T& object) {
    if constexpr (Encodable<T>) {  // otherwise the typed call reports the missing Codec
      if (!problem.empty()) return;
      bytes.begin_object();
      const std::size_t before = bytes.size();
      detail::guarded(
          [&] {
            Codec<T>::encode(bytes, object);
            sizes.push_back(bytes.size() - before);
          },
          [this] { note_failure(); });
    }
  }
  /// As add, for an object that may be encoded again while it is sent.
  template <class T>
  void add_kept(const std::shared_ptr<T>& object) {
    add(*object);
    if constexpr (Encodable<T>)
      if (bytes.is_counted()) again = [object](Encoder& to) { Codec<T>::encode(to, *object); };
  }
  /// Stores the exception that is being handled as the problem.
  void note_failure();
};

/// An object collective under way, in bytes. Move-only. Dropping a pending one fails its
/// communicator. A call of it is one of its communicator, which serves one thread at a time.
class TUTTI_API ObjectExchange {
 public:
  /// No operation.
  ObjectExchange() noexcept = default;
  /// Moves the operation; `other` is then empty.
  ObjectExchange(ObjectExchange&& other) noexcept;
  /// Drops the own operation and moves the other's; `other` is then empty.
  ObjectExchange& operator=(ObjectExchange&& other) noexcept;
  /// Fails the communicator if the operation is pending. Blocks as ~Request.
  ~ObjectExchange();

  /// Makes progress. @return whether the operation is done. Throws Error{object}, on all ranks, if
  /// objects could not be sent, which leaves the communicator usable; and the communicator's Error.
  bool test();
  /// Waits for the end. Throws as test.
  void wait();
  /// As Request::wait_for. @param time from now on. @return whether the operation is done. Throws
  /// as test.
  bool wait_for(Duration time);
  /// As Request::notify. A rank that streams an object may encode it again in the thread of tutti.
  void notify(int eventfd);
  /// @return the number of objects that this rank gets. Only after the end.
  [[nodiscard]] std::size_t count() const noexcept;
  /// @param index less than count(): the sender's rank, or 0 if there is one sender.
  /// @return that object's bytes, valid during the lifetime of this handle. Only after the end;
  /// empty for an object that this rank broadcasts, or has decoded while it arrived.
  [[nodiscard]] std::span<const std::byte> object(std::size_t index) const noexcept;
  /// Separates the objects' bytes from this handle, only after the end.
  /// @return their owner: they stay where they are, and may be written, while it lives. It may be
  /// destroyed by any thread, and after the communicator.
  [[nodiscard]] std::shared_ptr<const void> detach_bytes();
  /// Decodes an object, after wait_to_decode or wait. An object that is still arriving is decoded
  /// as it arrives, to its end.
  /// @param index as in object. @param result a new object, or any if decodes_over<T>.
  /// @return the object. Throws Error{object}; Error{invalid_argument} if there is none, for
  /// example because it was decoded before; and what wait throws.
  template <class T>
  [[nodiscard]] T decode(std::size_t index, T result = T{}) const {
    if constexpr (Encodable<T>) {  // otherwise the typed call reports the missing Codec
      const detail::SoleCaller caller = sole_caller();
      check_index(index);
      detail::guarded(
          [&] {
            Stream stream{*this};
            Decoder decoder =
                is_arriving() ? Decoder{begin_decoding(), stream} : Decoder{object(index)};
            Codec<T>::decode(decoder, result);
            decoder.finish();
          },
          [&] { fail_to_decode(index); });
      end();
    }
    return result;
  }
  /// Waits for the end, or until an object arrives that decode may start with.
  void wait_to_decode();
  /// @return an object that keeps other threads out of the communicator. Throws
  /// Error{invalid_argument} if there is no operation, or another thread is in a call.
  [[nodiscard]] detail::SoleCaller sole_caller() const;

 private:
  friend struct detail::ObjectAccess;
  /// The source of bytes for a decode during arrival.
  class Stream final : public Arrivals {
   public:
    explicit Stream(const ObjectExchange& exchange) noexcept : exchange_{exchange} {}
    std::span<const std::byte> await(std::size_t from, std::size_t bytes) override {
      return exchange_.await(from, bytes);
    }

   private:
    const ObjectExchange& exchange_;
  };
  ObjectExchange(std::shared_ptr<detail::Engine> engine,
                 std::shared_ptr<detail::ObjectOperation> operation) noexcept;
  void check_index(std::size_t index) const;
  [[nodiscard]] bool is_arriving() const noexcept;
  [[nodiscard]] std::size_t begin_decoding() const noexcept;
  [[nodiscard]] std::span<const std::byte> await(std::size_t from, std::size_t bytes) const;
  void end() const;
  [[noreturn]] void fail_to_decode(std::size_t index) const;
  std::shared_ptr<detail::Engine> engine_{};
  std::shared_ptr<detail::ObjectOperation> operation_{};
};

/// An object collective under way. Move-only. Dropping a pending one fails its communicator. It
/// counts as up to three of the operations that may be pending, see Request. Its calls are calls of
/// the communicator: one thread at a time.
/// @tparam T type of the result.
template <class T>
class ObjectRequest {
 public:
  /// No operation.
  ObjectRequest() noexcept = default;
  /// @param result makes the result when the operation is done.
  /// @param decodes_early whether `result` only decodes the object, so that it may start while the
  /// object arrives.
  ObjectRequest(ObjectExchange exchange, std::function<T(const ObjectExchange&)> result,
                bool decodes_early = false) noexcept
      : exchange_{std::move(exchange)}, result_{std::move(result)}, decodes_early_{decodes_early} {}

  /// Makes progress. @return whether the operation is done. Throws Error{object}, on all ranks, if
  /// objects could not be sent, which leaves the communicator usable; and the communicator's Error.
  bool test() { return exchange_.test(); }
  /// As ObjectExchange::notify.
  void notify(int eventfd) { exchange_.notify(eventfd); }
  /// Waits for the end, once. @return the result. Throws as test; Error{object} on this rank if
  /// bytes do not decode; and what the caller's function throws.
  T wait() {
    if (!result_) detail::raise({ErrorCode::invalid_argument, "there is no operation to wait for"});
    const detail::SoleCaller caller = exchange_.sole_caller();
    if (decodes_early_) exchange_.wait_to_decode();
    else exchange_.wait();
    const auto result = std::exchange(result_, nullptr);
    ObjectExchange exchange = std::move(exchange_);
    if constexpr (std::is_void_v<T>) {
      end_after(exchange, [&] { result(exchange); });
    } else {
      std::optional<T> value;
      end_after(exchange, [&] { value.emplace(result(exchange)); });
      return *std::move(value);
    }
  }
  /// As test. @return whether the operation is done, or the Error.
  [[nodiscard]] Result<bool> try_test() noexcept {
    return detail::attempt([this] { return test(); });
  }
  /// As wait. @return the result, or the Error.
  [[nodiscard]] Result<T> try_wait() noexcept {
    return detail::attempt([this] { return wait(); });
  }

 private:
  /// If the result cannot be made, this rank needs no exchange, but other ranks wait for its end.
  template <class Function>
  static void end_after(ObjectExchange& exchange, Function function) {
    detail::guarded(std::move(function), [&exchange] {
      exchange.wait();
      detail::raise_again();
    });
  }

  ObjectExchange exchange_{};
  std::function<T(const ObjectExchange&)> result_{};
  bool decodes_early_ = false;
};

namespace detail {
/// Access of object collectives to a communicator.
struct TUTTI_API ObjectAccess {
  /// @param bytes that are needed; 0: as many as earlier object collectives have left.
  /// @return memory for an Encoder; none if a call would be rejected.
  [[nodiscard]] static RawBytes bytes(Communicator& world, std::size_t bytes = 0) noexcept;
  /// @return an object that keeps other threads out. Throws Error{invalid_argument}.
  [[nodiscard]] static SoleCaller sole_caller(Communicator& world);
  /// As reject_call of spi/rejection.hpp.
  static void reject(Communicator& world, const Call& call, std::string_view reason);
  /// Starts an object collective over bytes. @return its handle.
  [[nodiscard]] static ObjectExchange start(Communicator& world, ObjectCall call);
};
}  // namespace detail

}  // namespace tutti::v0
