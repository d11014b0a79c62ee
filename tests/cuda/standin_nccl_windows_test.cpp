// Windows in the stand-in for NCCL: how all ranks register one.
#include <future>

#include "standin_nccl_rank.hpp"

namespace tutti::nccl_standin {
namespace {

/// A window of memory of NCCL's own.
class Window {
 public:
  Window(ncclComm_t communicator, std::size_t bytes) : communicator_{communicator} {
    EXPECT_EQ(ncclMemAlloc(&memory_, bytes), ncclSuccess);
    result =
        ncclCommWindowRegister(communicator, memory_, bytes, &window_, NCCL_WIN_COLL_SYMMETRIC);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() {
    EXPECT_EQ(ncclCommWindowDeregister(communicator_, window_), ncclSuccess);
    EXPECT_EQ(ncclCommWindowDeregister(communicator_, window_),
              has_handle() ? ncclInvalidArgument : ncclSuccess);
    EXPECT_EQ(ncclMemFree(memory_), ncclSuccess);
  }

  /// Once all ranks have registered.
  bool has_handle() const { return window_ != nullptr; }

  ncclResult_t result = ncclSuccess;

 private:
  ncclComm_t communicator_;
  void* memory_ = nullptr;
  ncclWindow_t window_ = nullptr;
};

/// A communicator that does not block writes it when all ranks have come.
TEST(CudaNcclStandinWindows, HaveAHandleWhenAllRanksHaveCome) {
  std::promise<void> looked;
  const std::shared_future<void> has_looked = looked.get_future().share();
  with_ranks(
      2,
      [&](const Rank& rank) {
        if (rank.rank == 1) has_looked.wait();
        const Window window{rank.communicator, 40};
        if (rank.rank == 0) {
          EXPECT_FALSE(window.has_handle());
          looked.set_value();
        }
        EXPECT_EQ(rank.state(), ncclSuccess);
        EXPECT_TRUE(window.has_handle());
      },
      false);
}

TEST(CudaNcclStandinWindows, HaveOneSize) {
  with_ranks(2, [](const Rank& rank) {
    const Window window{rank.communicator, rank.rank == 0 ? std::size_t{8} : std::size_t{16}};
    EXPECT_EQ(window.result, ncclInvalidArgument);
    EXPECT_FALSE(window.has_handle());
    EXPECT_EQ(rank.state(), ncclInvalidArgument);
  });
}

}  // namespace
}  // namespace tutti::nccl_standin
