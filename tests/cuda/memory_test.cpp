// Memory of a device, on the stand-in for the driver: the host may not touch it.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/error.hpp>

#include "backends/cuda/survey.hpp"
#include "device_memory.hpp"
#include "tests/backends/host/oracle.hpp"

namespace tutti::cuda {
namespace {

using Bytes = std::vector<std::byte>;

class DeviceMemoryTest : public ::testing::Test {
 protected:
  std::byte* upload(const Bytes& bytes) {
    std::byte* const data = memory_.allocate(bytes.size());
    memory_.copy(data, bytes.data(), bytes.size());
    taken_.emplace_back(data, bytes.size());
    return data;
  }
  Bytes download(const std::byte* data, std::size_t bytes) {
    Bytes got(bytes);
    memory_.copy(got.data(), data, bytes);
    return got;
  }
  void TearDown() override {
    for (const auto& [data, bytes] : taken_) memory_.deallocate(data, bytes);
  }

  std::shared_ptr<const Driver> driver_ = std::make_shared<const Driver>();
  std::shared_ptr<const Device> device_ = std::make_shared<const Device>(driver_, 0);
  DeviceMemory memory_{device_};
  std::vector<std::pair<std::byte*, std::size_t>> taken_{};
};

TEST_F(DeviceMemoryTest, CopiesBothWays) {
  const Bytes bytes = test::hard_elements(Datatype::f64, 1000, 1);
  EXPECT_EQ(download(upload(bytes), bytes.size()), bytes);
}

// Memory allocated in the order of a stream is visible to its own device only.
TEST_F(DeviceMemoryTest, MayBeSharedWithOtherDevices) {
  int is_shareable = 0;
  CUpointer_attribute asked = CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE;
  void* answer = &is_shareable;
  ASSERT_EQ(driver_->calls().pointer_attributes(1, &asked, &answer, address_of(upload(Bytes(64)))),
            CUDA_SUCCESS);
  EXPECT_NE(is_shareable, 0);
}

// More operands than a launch can pass take several.
TEST_F(DeviceMemoryTest, FoldsEveryDatatype) {
  constexpr std::size_t kCount = 333;
  for (int index = 0; index < static_cast<int>(Datatype::opaque); ++index)
    for (const std::size_t operands : {std::size_t{2}, std::size_t{5}, kPassedAddresses + 3}) {
      const auto type = static_cast<Datatype>(index);
      const OperatorKind kind = test::operators_of(type).back();
      const std::size_t bytes = size_of(type);
      std::vector<Bytes> values;
      std::vector<const void*> places;
      for (std::size_t i = 0; i < operands; ++i) {
        values.push_back(test::hard_elements(type, kCount, i));
        places.push_back(upload(values.back()));
      }
      Bytes wanted(kCount * bytes);
      for (std::size_t i = 0; i < kCount; ++i) {
        std::vector<const std::byte*> element;
        for (const Bytes& value : values) element.push_back(value.data() + i * bytes);
        test::expected_element({type, kind}, element, wanted.data() + i * bytes);
      }
      std::byte* const to = upload(Bytes(kCount * bytes));
      const std::array<void*, 1> copies{upload(Bytes(kCount * bytes))};
      const Operator op{kind};
      memory_.fold({.type = type,
                    .op = &op,
                    .destination = to,
                    .operands = places,
                    .count = kCount,
                    .copies = copies});
      ASSERT_EQ(download(to, wanted.size()), wanted) << name_of(type) << ", " << operands;
      ASSERT_EQ(download(static_cast<std::byte*>(copies[0]), wanted.size()), wanted);
    }
}

TEST_F(DeviceMemoryTest, RefusesWhatAGpuCannotDo) {
  const Operator user{[](const void*, const void*, void*, std::size_t) {}, true};
  std::byte* const data = upload(Bytes(64));
  const std::array<const void*, 2> operands{data, data + 32};
  EXPECT_THROW(memory_.fold({.type = Datatype::f32,
                             .op = &user,
                             .destination = data,
                             .operands = operands,
                             .count = 4}),
               Error);
}

TEST_F(DeviceMemoryTest, SaysWhichGpusThereAre) {
  try {
    const Device none{driver_, 99};
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string{error.what()}.find("there is no GPU 99; this process sees "),
              std::string::npos)
        << error.what();
  }
  const Survey found = survey();
  EXPECT_EQ(found.why_no_driver, "");
  EXPECT_EQ(static_cast<int>(found.gpus.size()), driver_->devices());
}

// So a copy that is forgotten shows.
TEST_F(DeviceMemoryTest, IsNotTheHosts) {
  std::byte* const data = upload(Bytes(64));
  EXPECT_DEATH(*static_cast<volatile std::byte*>(data) = std::byte{1}, "");
}

}  // namespace
}  // namespace tutti::cuda
