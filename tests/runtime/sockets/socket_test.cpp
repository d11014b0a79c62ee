// Sockets with deadlines, addresses, descriptors that travel, and secrets in files.
#include "runtime/sockets/socket.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "runtime/security/authenticate.hpp"
#include "tests/runtime/intruders.hpp"
#include "tests/runtime/ranks.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using namespace tutti::runtime;

/// @return the text of a call's exception, or nothing.
template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Address, IsParsedAndPrinted) {
  for (const char* text : {"127.0.0.1:80", "[::1]:65535", "10.1.2.3:0"}) {
    const HostAndPort parts = parse_host_and_port(text);
    EXPECT_EQ(text_of(resolve(parts, in(kAmple)).front()), text);
  }
  EXPECT_EQ(parse_host_and_port("node7.cluster:29500").host, "node7.cluster");
  EXPECT_EQ(parse_host_and_port("node7.cluster:29500").port, 29500);
  for (const char* text : {"", "host", ":80", "host:", "host:65536", "host:-1", "host:8x", "::1:80",
                           "host: 80", "[]:80"})
    EXPECT_NE(message_of([&] { (void)parse_host_and_port(text); }), "") << text;
}

TEST(Address, OfALoopbackIsKnown) {
  EXPECT_TRUE(is_loopback(loopback()));
  for (const char* text : {"127.0.1.1:1", "[::1]:1"})
    EXPECT_TRUE(is_loopback(resolve(parse_host_and_port(text), in(kAmple)).front())) << text;
  for (const char* text : {"128.0.0.1:1", "0.0.0.0:1", "[::]:1", "[fe80::1]:1"})
    EXPECT_FALSE(is_loopback(resolve(parse_host_and_port(text), in(kAmple)).front())) << text;
}

TEST(Address, IsTheOneThatReachesAnother) {
  EXPECT_EQ(text_of(source_towards(loopback())), "127.0.0.1:0");
  EXPECT_EQ(text_of(configured_address("lo")), "127.0.0.1:0");
  EXPECT_EQ(text_of(configured_address("127.0.0.1")), "127.0.0.1:0");
  EXPECT_NE(message_of([] { (void)configured_address("nonsense0"); }).find("which has lo"),
            std::string::npos);
  EXPECT_NE(message_of([] { (void)configured_address("192.0.2.7"); }), "");
}

TEST(Socket, SaysWhoRefused) {
  const Endpoint nowhere = with_port(loopback(), free_port());
  EXPECT_EQ(message_of([&] { (void)connect_to(nowhere, in(kAmple)); }),
            "cannot connect to " + text_of(nowhere) + ": Connection refused");
}

TEST(Socket, GivesUpAtItsDeadline) {
  const UnauthenticatedPeer listener{0};
  const Descriptor connection = call(listener.listening_port());
  std::array<std::byte, 8> bytes{};
  const auto start = Clock::now();
  EXPECT_EQ(message_of([&] { receive_all(connection.get(), bytes, in(50ms)); }),
            "the peer did not answer in time");
  const std::vector<std::byte> large(64u << 20);
  EXPECT_EQ(message_of([&] { send_all(connection.get(), large, in(50ms)); }),
            "the peer did not answer in time");
  EXPECT_LT(Clock::now() - start, kLongBefore);
}

TEST(Socket, NoticesThatThePeerIsGone) {
  Descriptor connection;
  {
    const UnauthenticatedPeer listener{0};
    connection = call(listener.listening_port());
  }
  std::array<std::byte, 8> bytes{};
  EXPECT_EQ(message_of([&] { receive_all(connection.get(), bytes, in(kAmple)); }),
            "the peer closed the connection");
}

TEST(Socket, PassesADescriptor) {
  const int before = open_descriptors();
  {
    const std::string name = "tutti-test-" + std::to_string(::getpid());
    const Descriptor listener = listen_locally(name);
    const Descriptor one = connect_locally(name, in(kAmple));
    const Descriptor other{::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK)};
    EXPECT_EQ(peer_user(one.get()), ::geteuid());
    EXPECT_EQ(peer_user(other.get()), ::geteuid());
    const Descriptor memory{::memfd_create("test", MFD_CLOEXEC)};
    ASSERT_EQ(::ftruncate(memory.get(), 4711), 0);
    send_descriptor(one.get(), std::byte{5}, memory.get(), in(kAmple));
    send_descriptor(one.get(), std::byte{6}, -1, in(kAmple));
    const FdMessage first = receive_descriptor(other.get(), in(kAmple));
    const FdMessage second = receive_descriptor(other.get(), in(kAmple));
    EXPECT_EQ(first.note, std::byte{5});
    struct stat status {};
    ASSERT_EQ(::fstat(first.descriptor.get(), &status), 0);
    EXPECT_EQ(status.st_size, 4711);
    EXPECT_NE(::fcntl(first.descriptor.get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_EQ(second.note, std::byte{6});
    EXPECT_FALSE(second.descriptor);
    EXPECT_NE(message_of([&] { (void)receive_descriptor(other.get(), in(20ms)); }), "");
  }
  EXPECT_EQ(open_descriptors(), before);
}

// A program that was started without a standard input gives this number to something else.
TEST(Socket, PassesTheDescriptorThatIsNumber0) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Descriptor one{ends[0]};
  const Descriptor other{ends[1]};
  const Descriptor memory{::memfd_create("test", MFD_CLOEXEC)};
  const Descriptor input{::dup(0)};
  ASSERT_EQ(::dup2(memory.get(), 0), 0);
  send_descriptor(one.get(), std::byte{5}, 0, in(kAmple));
  if (input) ASSERT_EQ(::dup2(input.get(), 0), 0);
  else ::close(0);
  EXPECT_TRUE(receive_descriptor(other.get(), in(kAmple)).descriptor);
}

TEST(Socket, SaysThatNobodyListensLocally) {
  EXPECT_FALSE(connect_locally("tutti-test-nobody", in(kAmple)));
}

/// A folder for secret files.
class SecretFile : public ::testing::Test {
 protected:
  std::string write(const std::string& content, mode_t mode) const {
    const std::string path = folder_ / "secret";
    std::ofstream{path} << content;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  test::TemporaryFolder folder_;
};

TEST_F(SecretFile, HoldsBytesOrDigits) {
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  const std::string bytes(32, '\x5A');
  std::string digits;
  for (int i = 0; i < 32; ++i) digits += "5a";
  for (const std::string& content : {bytes, digits, digits + "\n"}) {
    const Secret secret = read_secret(write(content, 0600));
    EXPECT_EQ(secret.bytes(), secret_of(0x5A)->bytes());
  }
  (void)read_secret(write(bytes, 0400));
}

TEST_F(SecretFile, IsRefusedWhenOthersMayOpenIt) {
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  for (const mode_t mode : {0640u, 0604u, 0644u, 0660u, 0610u})
    EXPECT_EQ(message_of([&] { (void)read_secret(write(std::string(32, 'x'), mode)); }),
              "the secret file " + folder_.path().string() +
                  "/secret may be opened by other users; its mode must be 0600");
}

TEST_F(SecretFile, IsRefusedWhenItBelongsToAnother) {
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  const std::string path = write(std::string(32, 'x'), 0600);
  if (::chown(path.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root gives files away";
  EXPECT_EQ(message_of([&] { (void)read_secret(path); }),
            "the secret file " + path + " belongs to another user");
}

TEST_F(SecretFile, IsRefusedWhenItsContentIsNoSecret) {
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  for (const std::string& content : {std::string{}, std::string(31, 'x'), std::string(33, 'x'),
                                     std::string(64, 'x'), std::string(5000, '0')})
    EXPECT_NE(
        message_of([&] { (void)read_secret(write(content, 0600)); }).find("must hold 32 bytes"),
        std::string::npos);
  EXPECT_NE(message_of([&] { (void)read_secret(folder_ / "none"); }).find("cannot be opened"),
            std::string::npos);
  EXPECT_NE(message_of([&] { (void)read_secret(folder_.path()); }).find("is not a regular file"),
            std::string::npos);
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_NE(message_of([&] { (void)read_secret(folder_ / "pipe"); }).find("not a regular file"),
            std::string::npos);
}

TEST(Socket, KnowsWhetherItsPeerIsOfThisUserWhileItStands) {
  for (const char* const address : {"127.0.0.1", "[::1]"}) {
    Descriptor listener;
    try {
      listener =
          listen_on(resolve(parse_host_and_port(address + std::string{":0"}), in(kAmple)).front());
    } catch (const Error&) {
      continue;  // no IPv6 here
    }
    Descriptor caller = connect_to(bound_endpoint(listener.get()), in(kAmple));
    const Descriptor accepted{::accept(listener.get(), nullptr, nullptr)};
    EXPECT_TRUE(is_of_this_user(accepted.get())) << address;
    EXPECT_TRUE(is_of_this_user(caller.get())) << address;
    caller.reset();
    EXPECT_FALSE(is_of_this_user(accepted.get())) << address;
  }
}

TEST(Dial, SaysAtOnceThatThereAreNoDescriptors) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = 3;
  const Identity self{.job = 7, .size = 2, .rank = 1, .secret = {}, .versions = {}};
  for (const bool listening : {false, true}) {
    const Target target{
        .addresses = {with_port(loopback(), 9)}, .peer = "x", .listening = listening};
    const auto start = Clock::now();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
    const std::string said = message_of([&] { (void)dial(self, target, in(kAmple)); });
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(said, "this process has no file descriptors left: raise `ulimit -n`, which is 3");
    EXPECT_LT(Clock::now() - start, kLongBefore);
  }
}

TEST(Secret, IsDrawnAnewEachTime) {
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  EXPECT_NE(generate_secret().value().bytes(), generate_secret().value().bytes());
}

TEST(Secret, ProtectsANetworkAddress) {
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  const Endpoint network = resolve({"192.0.2.1", 1}, in(kAmple)).front();
  EXPECT_EQ(message_of([] { require_protection(loopback(), {}, false); }), "");
  EXPECT_EQ(message_of([&] { require_protection(network, secret_of(1), false); }), "");
  EXPECT_EQ(message_of([&] { require_protection(network, {}, true); }), "");
  EXPECT_NE(message_of([&] { require_protection(network, {}, false); }).find("without a secret"),
            std::string::npos);
}

TEST(Secret, IsOfNoUseWithoutOpenSSL) {
  if (has_cryptography()) GTEST_SKIP() << "built with OpenSSL";
  const Endpoint network = resolve({"192.0.2.1", 1}, in(kAmple)).front();
  EXPECT_FALSE(generate_secret());
  EXPECT_NE(message_of([] { (void)read_secret("/dev/null"); }).find("without OpenSSL"),
            std::string::npos);
  EXPECT_NE(message_of([&] { require_protection(network, {}, true); }).find("without OpenSSL"),
            std::string::npos);
  EXPECT_EQ(message_of([] { require_protection(loopback(), {}, false); }), "");
}

// A user may have too many threads already.
TEST(Address, IsNotLookedUpWithoutAThread) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    const bool limited = (getuid() != 0 || setresuid(65534, 65534, 65534) == 0) &&
                         setrlimit(RLIMIT_NPROC, &none) == 0;
    sigset_t before;
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    int said = limited ? 1 : 2;
    try {
      static_cast<void>(resolve({"localhost", 1}, in(kAmple)));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::transport) said = 0;
    } catch (const std::exception&) {
      said = 3;
    }
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    for (const int number : {SIGINT, SIGTERM})
      if (sigismember(&before, number) != sigismember(&after, number)) said = 4;
    _exit(said);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace tutti::test
