/// @file
/// Limits of this process, as administrators set them.
#pragma once

#include <csignal>
#include <cstddef>

#include <pthread.h>
#include <sys/resource.h>

#include <gtest/gtest.h>

namespace tutti::test {

/// While it lives, the system limits the files of this process to this size. A longer write ends
/// the process by a signal.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_{std::signal(SIGXFSZ, SIG_DFL)} {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &old_), 0);
    const rlimit limit{bytes, old_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit old_{};
  void (*handler_)(int);
};

/// While it lives, no thread can be started: each would need a stack larger than all addresses.
class ThreadLimit {
 public:
  ThreadLimit() {
    pthread_attr_t attributes;
    EXPECT_EQ(::pthread_getattr_default_np(&attributes), 0);
    ::pthread_attr_getstacksize(&attributes, &stack_bytes_);
    ::pthread_attr_destroy(&attributes);
    set(std::size_t{1} << 50);
  }
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;
  ~ThreadLimit() { set(stack_bytes_); }

 private:
  static void set(std::size_t bytes) {
    pthread_attr_t attributes;
    ::pthread_getattr_default_np(&attributes);
    EXPECT_EQ(::pthread_attr_setstacksize(&attributes, bytes), 0);
    EXPECT_EQ(::pthread_setattr_default_np(&attributes), 0);
    ::pthread_attr_destroy(&attributes);
  }
  std::size_t stack_bytes_ = 0;
};

}  // namespace tutti::test
