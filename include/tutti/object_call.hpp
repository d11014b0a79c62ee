/// @file
/// An object collective with its types erased, and the handle of one under way.
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

namespace detail {

class Engine;
class ObjectOperation;
struct ObjectAccess;

/// Lets only this thread call a communicator, as long as it lives: for what takes several calls.
class TUTTI_API SoleCaller {
 public:
  /// @param engine of the communicator. Throws Error{invalid_argument} where another thread is in a
  /// call.
  explicit SoleCaller(std::shared_ptr<Engine> engine);
  SoleCaller(const SoleCaller&) = delete;
  SoleCaller& operator=(const SoleCaller&) = delete;
  ~SoleCaller();

 private:
  std::shared_ptr<Engine> engine_;
};

}  // namespace detail

/// What may be asked of one object collective beside its data.
struct ObjectOptions {
  /// Bytes that one encoded object may have; the least that any rank gives counts. It bounds what
  /// a rank allocates because another one says so.
  std::size_t most_bytes = std::size_t{1} << 30;
  /// Of the whole operation, of which decoding is a part where the object is decoded while it
  /// comes; as Options::timeout.
  Duration timeout{0};
};

/// What is broadcast and has more bytes is only counted at first, and encoded while it is sent.
inline constexpr std::size_t kStreamedBytes = std::size_t{32} << 10;

/// An object collective of objects that are encoded.
struct ObjectCall {
  /// Which way objects go.
  enum class Kind : std::uint8_t {
    broadcast,   ///< The root's to every rank.
    scatter,     ///< Of the root's, number r to rank r.
    gather,      ///< Every rank's to the root.
    all_gather,  ///< Every rank's to every rank.
    all_to_all,  ///< Of every rank's, number r to rank r.
    send,        ///< Own one to the peer.
    recv         ///< The peer's here.
  };
  Kind kind{};                         ///< Which way objects go.
  std::string_view name{};             ///< Of the call, such as "reduce_object".
  Rank root = 0;                       ///< Where there is one.
  Rank peer = 0;                       ///< Of send and recv: the other rank.
  int tag = 0;                         ///< Of send and recv, as Call::tag.
  std::string_view type{};             ///< Name of the objects' type.
  std::uint64_t type_fingerprint = 0;  ///< Of that type.
  Encoder bytes;                       ///< The objects that this rank gives, one after the other.
  std::vector<std::size_t> sizes{};    ///< The bytes of each.
  std::function<void(Encoder&)> again{};  ///< Encodes an object that was only counted.
  std::string problem{};                  ///< Why they could not be encoded; empty if they could.
  ObjectOptions options{};                ///< As given by the caller.

  /// Encodes the next object. Where that fails, that is noted as the problem, for all ranks to
  /// know. @param object of a type that has a Codec.
  template <class T>
  void add(const T& object) {
    if constexpr (Encodable<T>) {  // Else the typed call says what is missing.
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
  /// As add, of an object that may be encoded again while it is sent. @param object that is kept.
  template <class T>
  void add_kept(const std::shared_ptr<T>& object) {
    add(*object);
    if constexpr (Encodable<T>)
      if (bytes.is_counted()) again = [object](Encoder& to) { Codec<T>::encode(to, *object); };
  }
  /// Notes the exception that is being handled as the problem.
  void note_failure();
};

/// An object collective under way, in bytes. Move-only. Dropping a pending one fails its
/// communicator. A call of it is one of its communicator, which serves one thread at a time.
class TUTTI_API ObjectExchange {
 public:
  /// No operation.
  ObjectExchange() noexcept = default;
  /// Takes the operation over. @param other is empty afterwards.
  ObjectExchange(ObjectExchange&& other) noexcept;
  /// Drops its own operation and takes the other's over. @param other is empty afterwards.
  /// @return this.
  ObjectExchange& operator=(ObjectExchange&& other) noexcept;
  /// Fails the communicator if the operation is pending. Does not block, but as ~Request.
  ~ObjectExchange();

  /// Makes progress. @return whether the operation is done. Throws Error{object}, which leaves the
  /// communicator usable, where objects could not be moved, on all ranks; and the communicator's
  /// Error.
  bool test();
  /// Waits for the end. Throws as test does.
  void wait();
  /// @return how many objects this rank gets. Once it is done.
  [[nodiscard]] std::size_t count() const noexcept;
  /// @param index less than count(): the rank that gave it, or 0 where one did. @return that
  /// object's bytes, while this handle lives. Once it is done; none of what this rank broadcasts,
  /// or has decoded while it came.
  [[nodiscard]] std::span<const std::byte> object(std::size_t index) const noexcept;
  /// Decodes an object, after wait_to_decode or wait. Where it is still arriving, it is decoded as
  /// far as it is there, and done at the end. @param index as in object. @param result a new one,
  /// or, where decodes_over<T>, any. @return it. Throws Error{object}, Error{invalid_argument}
  /// where there is none, as after it was decoded while it came, and what wait throws.
  template <class T>
  [[nodiscard]] T decode(std::size_t index, T result = T{}) const {
    if constexpr (Encodable<T>) {  // Else the typed call says what is missing.
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
  /// As wait, or until an object arrives that decode may begin with.
  void wait_to_decode();
  /// @return what keeps other threads out of the communicator. Throws Error{invalid_argument} where
  /// there is no operation, or another thread is in a call.
  [[nodiscard]] detail::SoleCaller sole_caller() const;

 private:
  friend struct detail::ObjectAccess;
  /// What decode reads while it arrives.
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

/// An object collective under way. Move-only. Dropping a pending one fails its communicator. Up to
/// three of the operations that may be pending are such a one, see Request. A call of it is one of
/// its communicator, which serves one thread at a time.
/// @tparam T what it results in.
template <class T>
class ObjectRequest {
 public:
  /// No operation.
  ObjectRequest() noexcept = default;
  /// @param exchange the operation. @param result makes the result when that is done.
  /// @param decodes_early whether it may do so while an object arrives: it only decodes that.
  ObjectRequest(ObjectExchange exchange, std::function<T(const ObjectExchange&)> result,
                bool decodes_early = false) noexcept
      : exchange_{std::move(exchange)}, result_{std::move(result)}, decodes_early_{decodes_early} {}

  /// Makes progress. @return whether the operation is done. Throws Error{object}, which leaves the
  /// communicator usable, where objects could not be moved, on all ranks; and the communicator's
  /// Error.
  bool test() { return exchange_.test(); }
  /// Waits for the end, once. @return the result. Throws as test does, Error{object} where bytes do
  /// not decode, which other ranks need not know of, and what the caller's function throws.
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
  /// Where the result cannot be made, the exchange is of no use here, but others wait for its end.
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
/// What object collectives need of a communicator.
struct TUTTI_API ObjectAccess {
  /// @param world of ranks. @return memory of earlier object collectives, for an Encoder to begin
  /// with; none where a call would be refused.
  [[nodiscard]] static RawBytes bytes(Communicator& world) noexcept;
  /// @param world of ranks. @return what keeps other threads out. Throws Error{invalid_argument}.
  [[nodiscard]] static SoleCaller sole_caller(Communicator& world);
  /// Starts an object collective over bytes. @param world of ranks. @param call what.
  /// @return its handle.
  [[nodiscard]] static ObjectExchange start(Communicator& world, ObjectCall call);
};
}  // namespace detail

}  // namespace tutti::v0
