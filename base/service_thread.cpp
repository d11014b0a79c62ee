#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include <pthread.h>

#include <tutti/error.hpp>
#include <tutti/spi/service_thread.hpp>

namespace tutti::v0 {

std::thread start_thread(std::function<void()> body) try {
  return std::thread{std::move(body)};
} catch (const std::system_error& error) {
  throw Error{ErrorCode::transport,
              "cannot start a thread: " + error.code().message() +
                  "; the limits of threads are `ulimit -u`, `ulimit -v` and pids.max of a cgroup"};
}

std::thread start_service_thread(const char* name, std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the thread inherits it
  struct Restore {
    const sigset_t& before;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  } const restore{before};
  std::thread thread = start_thread(std::move(body));
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace tutti::v0
