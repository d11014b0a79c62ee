#include "runtime/failure_note.hpp"

#include <filesystem>

#include "runtime/channel_file.hpp"
#include "runtime/fields.hpp"
#include "runtime/hello.hpp"

namespace tutti::runtime {

void leave_failure(Folder& folder, const std::string& nonce, const Error& error) {
  std::string words;
  write_error(words, error);
  folder.write(std::string{kFailed} + nonce, words);
}

std::optional<Error> failure_left(const Folder& folder, const std::string& nonce) {
  const auto text = folder.read(std::string{kFailed} + nonce);
  if (!text) return {};
  std::string_view rest = *text;
  return read_error(rest);
}

void send_end_notice(const std::string& path, const FilePlace& place, const Error& error) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return;  // Folder would make it
  Folder folder{path};
  const Hello wanted = own_hello(place.job, place.size, {});
  const auto waiting = [&](const std::string& name) -> std::optional<Hello> {
    const auto text = folder.read(name);
    if (!text || !folder.is_held(name)) return {};
    const Hello hello = hello_of(*text);
    return hello.agrees_with(wanted) ? std::optional{hello} : std::nullopt;
  };
  for (Rank rank = 0; rank < place.size; ++rank) {
    const std::string name = hello_name(rank);
    const auto hello = waiting(name);
    if (!hello) continue;
    leave_failure(folder, hello->nonce, error);
    // A rank that leaves takes its hello away before its notes.
    const auto still = waiting(name);
    if (!still || still->nonce != hello->nonce) folder.remove(std::string{kFailed} + hello->nonce);
  }
  folder.remove_if_empty();
}

}  // namespace tutti::runtime
