#include <csignal>
#include <utility>

#include <pthread.h>

#include <tutti/spi/service_thread.hpp>

namespace tutti::v0 {

std::thread start_service_thread(const char* name, std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the thread inherits it
  struct Restore {
    const sigset_t& before;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  } const restore{before};
  std::thread thread{std::move(body)};
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace tutti::v0
