/// @file
/// Whether a type has functions for cereal. This needs no header of cereal.
#pragma once

#include <cstdint>
#include <type_traits>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

/// @cond declarations of classes that are defined elsewhere
namespace cereal {
class access;
}  // namespace cereal

namespace tutti::v0 {

class ObjectReader;
class ObjectWriter;

namespace detail {

/// Represents an archive while functions are searched. A function whose parameter is one of tutti's
/// archives accepts it; a function whose parameter is a stream or a path does not.
/// @tparam Others classes whose namespaces are searched as well.
template <class... Others>
struct AnyArchive {
  using is_saving = std::true_type;
  using is_loading = std::true_type;
  template <class... Parts>
  const AnyArchive& operator()(Parts&&...) const;
  operator ObjectReader&() const;
  operator ObjectWriter&() const;
};

/// The names of cereal's functions, as a base class beside T: a name that T has too, even a private
/// one, is ambiguous.
struct NamesOfCereal {
  int serialize, save, load, save_minimal, load_minimal;
};
template <class T>
struct WithNames : T, NamesOfCereal {};

template <class Member>
concept Data = !std::is_function_v<std::remove_reference_t<Member>>;

template <class T>
concept NamesSerialize = !requires {
  &WithNames<T>::serialize;
}
&&!requires(T & object) {
  requires Data<decltype((object.serialize))>;
};
template <class T>
concept NamesSave = !requires {
  &WithNames<T>::save;
}
&&!requires(T & object) {
  requires Data<decltype((object.save))>;
};
template <class T>
concept NamesLoad = !requires {
  &WithNames<T>::load;
}
&&!requires(T & object) {
  requires Data<decltype((object.load))>;
};
template <class T>
concept NamesSaveMinimal = !requires {
  &WithNames<T>::save_minimal;
}
&&!requires(T & object) {
  requires Data<decltype((object.save_minimal))>;
};

/// Calls public members as cereal::access calls private ones too.
struct PublicAccess {
  template <class Archive, class T, class... Version>
  static auto member_serialize(Archive& archive, T& object, Version... version)
      -> decltype(object.serialize(archive, version...));
  template <class Archive, class T, class... Version>
  static auto member_save(Archive& archive, const T& object, Version... version)
      -> decltype(object.save(archive, version...));
  template <class Archive, class T, class... Version>
  static auto member_save_minimal(const Archive& archive, const T& object, Version... version)
      -> decltype(object.save_minimal(archive, version...));
};

/// Whether members can be called by such an access. @tparam Version nothing, or its type.
template <class Access, class T, class... Version>
concept Calls = requires(AnyArchive<>& archive, T& object, Version... version) {
  Access::member_serialize(archive, object, version...);
}
|| requires(AnyArchive<>& archive, T& object, Version... version) {
  Access::member_save(archive, object, version...);
}
|| requires(AnyArchive<>& archive, T& object, Version... version) {
  Access::member_save_minimal(archive, object, version...);
};

template <class T>
[[nodiscard]] consteval bool has_members_for_cereal() noexcept {
  if constexpr (!std::is_class_v<T>) {
    return false;
  } else if constexpr (std::is_final_v<T>) {
    using Access = cereal::access;  // incomplete where nothing of cereal is included
    return Calls<PublicAccess, T> || Calls<PublicAccess, T, std::uint32_t> || Calls<Access, T> ||
           Calls<Access, T, std::uint32_t>;
  } else {
    return NamesSerialize<T> || NamesSaveMinimal<T> || (NamesSave<T> && NamesLoad<T>);
  }
}

template <class Archive, class T, class... Version>
concept HasSerialize = requires(Archive& archive, T& object, Version... version) {
  serialize(archive, object, version...);
};
template <class Archive, class T, class... Version>
concept HasSave = requires(Archive& archive, const T& object, Version... version) {
  save(archive, object, version...);
}
&&requires(Archive& archive, T& object, Version... version) {
  load(archive, object, version...);
};
template <class Archive, class T, class... Version>
concept HasSaveMinimal = requires(const Archive& archive, const T& object, Version... version) {
  save_minimal(archive, object, version...);
};

/// cereal has a function for all enumerations, which returns the number.
template <class Archive, class T>
[[nodiscard]] consteval bool converts_to_number() noexcept {
  if constexpr (std::is_enum_v<T>) return requires(const Archive& archive, const T& object) {
      requires std::is_same_v<decltype(save_minimal(archive, object)), std::underlying_type_t<T>>;
    };
  else return false;
}

/// @tparam Archive is searched by its namespaces, beside those of the type.
template <class Archive, class T>
concept HasFreeFunctions = HasSerialize<Archive, T> || HasSerialize<Archive, T, std::uint32_t> ||
    HasSave<Archive, T> || HasSave<Archive, T, std::uint32_t> ||
    HasSaveMinimal<Archive, T, std::uint32_t> ||
    (HasSaveMinimal<Archive, T> && !converts_to_number<Archive, T>());

/// A type with functions for cereal of its own: members, or free functions in its namespace or in
/// cereal's.
template <class T>
concept HasCerealFunctions = has_members_for_cereal<T>() || HasFreeFunctions<AnyArchive<>, T> ||
    HasSaveMinimal<AnyArchive<>, T> || HasFreeFunctions<AnyArchive<cereal::access>, T>;

}  // namespace detail
}  // namespace tutti::v0
/// @endcond
