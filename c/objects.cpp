// Objects as bytes.
#include <string>

#include <tutti/byte_count.hpp>
#include <tutti/object_call.hpp>

#include "handles.hpp"

namespace tutti::v0::c {
namespace {

using detail::most_elements;
using detail::ObjectAccess;

constexpr std::string_view kObjectNames[]{
    "broadcast_object",   "scatter_objects", "gather_objects", "all_gather_objects",
    "all_to_all_objects", "send_object",     "recv_object"};

std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

/// @param count of objects that a rank gives. @return why there are too many, which all ranks get;
/// empty if there are not.
std::string excess_of(ObjectCall::Kind kind, std::size_t count, int ranks) {
  if (kind == ObjectCall::Kind::scatter || kind == ObjectCall::Kind::all_to_all) {
    if (count <= static_cast<std::size_t>(ranks)) return {};
    return std::to_string(count) + " objects were given for " + std::to_string(ranks) +
           " ranks: one for each is needed";
  }
  if (count <= 1) return {};
  return std::to_string(count) + " objects were given, but a rank gives one";
}

/// @return the bytes of all objects. Throws Error{invalid_argument} if their pieces lie nowhere.
std::size_t bytes_of(std::span<const tutti_object> objects) {
  std::size_t bytes = 0;
  for (const tutti_object& object : objects) {
    if (object.count > 0) require(object.pieces, "tutti_object::pieces");
    for (const tutti_piece& piece : std::span{object.pieces, object.count}) {
      if (piece.bytes > 0) require(piece.data, "tutti_piece::data");
      if (piece.bytes > most_elements(1) - bytes)
        throw Error{ErrorCode::invalid_argument,
                    "the pieces of all objects together exceed the address space"};
      bytes += piece.bytes;
    }
  }
  return bytes;
}

void add(ObjectCall& call, const tutti_object& object) {
  call.bytes.begin_object();
  const std::size_t before = call.bytes.size();
  for (std::size_t i = 0; i < object.count; ++i)
    call.bytes.write(object.pieces[i].data, object.pieces[i].bytes);
  call.sizes.push_back(call.bytes.size() - before);
}

ObjectCall object_call_of(tutti::Communicator& world, const tutti_object_call* given) {
  require(given, "call");
  tutti_object_call defaults{};
  tutti_object_call_defaults(&defaults, sizeof defaults);
  const tutti_object_call read_call = read(given, defaults);
  const auto kind =
      enumerator_of<ObjectCall::Kind>(read_call.kind, std::size(kObjectNames), "tutti_object_kind");
  std::string problem = excess_of(kind, read_call.count, world.size());
  if (const char* const failure = read_call.failure; failure != nullptr)
    problem = *failure != '\0' ? failure : "its objects could not be encoded";
  std::span<const tutti_object> objects;  // not read if there are more than a rank may give
  if (problem.empty() && read_call.count > 0) {
    require(read_call.objects, "tutti_object_call::objects");
    objects = {read_call.objects, read_call.count};
  }
  ObjectCall call{
      .kind = kind,
      .name = kObjectNames[read_call.kind],
      .root = read_call.root,
      .peer = read_call.peer,
      .tag = read_call.tag,
      .type = view_of(read_call.type),
      .type_fingerprint = hash_of(view_of(read_call.type)),
      .bytes = Encoder{read_call.most_bytes, ObjectAccess::bytes(world, bytes_of(objects))},
      .problem = std::move(problem),
      .options = {.most_bytes = read_call.most_bytes, .timeout = duration_of(read_call.timeout)}};
  try {
    for (const tutti_object& object : objects) add(call, object);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::object) throw;
    call.problem = error.what();  // all ranks get it
  }
  return call;
}

}  // namespace
}  // namespace tutti::v0::c

using namespace tutti::c;

extern "C" {

void tutti_object_call_defaults(tutti_object_call* call, size_t size) {
  tutti_object_call values{};
  values.most_bytes = tutti::ObjectOptions{}.most_bytes;
  write(call, size, values);
}

tutti_status tutti_objects_start(tutti_communicator* communicator, const tutti_object_call* call,
                                 tutti_objects** result) {
  return made(result, [&] {
    require(communicator, "communicator");
    return ObjectAccess::start(communicator->world, object_call_of(communicator->world, call));
  });
}

tutti_status tutti_objects_wait_for(tutti_objects* objects, int64_t slice) {
  return guarded(objects, "objects", [&] {
    return objects->exchange.wait_for(tutti::Duration{slice}) ? TUTTI_OK : TUTTI_PENDING;
  });
}

tutti_status tutti_objects_notify(tutti_objects* objects, int32_t eventfd) {
  return guarded(objects, "objects", [&] { objects->exchange.notify(eventfd); });
}

size_t tutti_objects_count(const tutti_objects* objects) {
  if (objects == nullptr) return 0;
  return objects->owner ? objects->kept.size() : objects->exchange.count();
}

tutti_status tutti_objects_get(const tutti_objects* objects, size_t index, const void** data,
                               size_t* bytes) {
  clear(data);
  clear(bytes);
  return guarded(objects, "objects", [&] {
    require(data, "data");
    require(bytes, "bytes");
    const std::size_t count = tutti_objects_count(objects);
    if (index >= count)
      throw tutti::Error{
          tutti::ErrorCode::invalid_argument,
          "there is no object " + std::to_string(index) + "; there are " + std::to_string(count)};
    const auto object = objects->owner ? objects->kept[index] : objects->exchange.object(index);
    *data = object.data();
    *bytes = object.size();
  });
}

tutti_status tutti_objects_keep(tutti_objects* objects) {
  return guarded(objects, "objects", [&] {
    if (objects->owner) return;
    if (!objects->exchange.test())
      throw tutti::Error{tutti::ErrorCode::invalid_argument,
                         "the call is pending; wait for it before objects are kept"};
    std::vector<std::span<const std::byte>> kept;
    for (std::size_t i = 0; i < objects->exchange.count(); ++i)
      kept.push_back(objects->exchange.object(i));
    objects->owner = objects->exchange.detach_bytes();
    objects->kept = std::move(kept);
    objects->exchange = {};
  });
}

void tutti_objects_free(tutti_objects* objects) {
  delete objects;
}

}  // extern "C"
