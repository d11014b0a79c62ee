// Objects as bytes.
#include <string>

#include <tutti/object_call.hpp>

#include "handles.hpp"

namespace tutti::v0::c {
namespace {

ObjectCall::Kind kind_of(tutti_object_kind kind) {
  if (kind < TUTTI_OBJECT_BROADCAST || kind > TUTTI_OBJECT_RECV)
    throw Error{ErrorCode::invalid_argument,
                "there is no tutti_object_kind " + std::to_string(kind)};
  return static_cast<ObjectCall::Kind>(kind);
}

std::string_view name_of(tutti_object_kind kind) {
  static constexpr std::string_view kNames[]{
      "broadcast_object",   "scatter_objects", "gather_objects", "all_gather_objects",
      "all_to_all_objects", "send_object",     "recv_object"};
  return kNames[kind];
}

std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

void add(ObjectCall& call, const tutti_object& object) {
  if (object.count > 0) require(object.pieces, "tutti_object::pieces");
  call.bytes.begin_object();
  const std::size_t before = call.bytes.size();
  for (std::size_t i = 0; i < object.count; ++i)
    call.bytes.write(object.pieces[i].data, object.pieces[i].bytes);
  call.sizes.push_back(call.bytes.size() - before);
}

ObjectCall object_call_of(const tutti_object_call* given) {
  require(given, "call");
  tutti_object_call defaults{};
  tutti_object_call_defaults(&defaults, sizeof defaults);
  const tutti_object_call read_call = read(given, defaults);
  ObjectCall call{
      .kind = kind_of(read_call.kind),
      .name = name_of(read_call.kind),
      .root = read_call.root,
      .peer = read_call.peer,
      .tag = read_call.tag,
      .type = view_of(read_call.type),
      .type_fingerprint = hash_of(view_of(read_call.type)),
      .bytes = Encoder{read_call.most_bytes},
      .options = {.most_bytes = read_call.most_bytes, .timeout = duration_of(read_call.timeout)}};
  if (read_call.failure != nullptr) {
    call.problem = read_call.failure;
    return call;
  }
  if (read_call.count > 0) require(read_call.objects, "tutti_object_call::objects");
  try {
    for (std::size_t i = 0; i < read_call.count; ++i) add(call, read_call.objects[i]);
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
    return tutti::detail::ObjectAccess::start(communicator->world, object_call_of(call));
  });
}

tutti_status tutti_objects_wait_for(tutti_objects* objects, int64_t slice) {
  return guarded(objects, "objects", [&] {
    return objects->exchange.wait_for(tutti::Duration{slice}) ? TUTTI_OK : TUTTI_PENDING;
  });
}

size_t tutti_objects_count(const tutti_objects* objects) {
  return objects == nullptr ? 0 : objects->exchange.count();
}

tutti_status tutti_objects_get(const tutti_objects* objects, size_t index, const void** data,
                               size_t* bytes) {
  return guarded(objects, "objects", [&] {
    require(data, "data");
    require(bytes, "bytes");
    if (index >= objects->exchange.count())
      throw tutti::Error{tutti::ErrorCode::invalid_argument,
                         "there is no object " + std::to_string(index) + "; there are " +
                             std::to_string(objects->exchange.count())};
    const auto object = objects->exchange.object(index);
    *data = object.data();
    *bytes = object.size();
  });
}

void tutti_objects_free(tutti_objects* objects) {
  delete objects;
}

}  // extern "C"
