// Programs for MSCCL by other hands whose input and output are two buffers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/schedule_file.hpp>

#include "schedules/written.hpp"

namespace tutti::v0 {
namespace {

/// Writes a program: threadblocks with steps, in order.
class ForeignProgram {
 public:
  ForeignProgram(std::string coll, int gpus, int chunks, int inplace)
      : head_{"<algo name=\"foreign\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"" +
              std::to_string(chunks) + "\" ngpus=\"" + std::to_string(gpus) + "\" coll=\"" + coll +
              "\" inplace=\"" + std::to_string(inplace) + "\" outofplace=\"1\">"},
        gpus_(static_cast<std::size_t>(gpus)) {}
  /// Begins a threadblock. @return its id.
  int block(int gpu, int send, int recv) {
    auto& blocks = gpus_[static_cast<std::size_t>(gpu)];
    blocks.push_back({"<tb id=\"" + std::to_string(blocks.size()) + "\" send=\"" +
                          std::to_string(send) + "\" recv=\"" + std::to_string(recv) +
                          "\" chan=\"0\">",
                      0});
    return static_cast<int>(blocks.size()) - 1;
  }
  /// Adds a step to the last threadblock. @param from such as "i0". @return which step it is.
  int step(int gpu, const std::string& type, const std::string& from, const std::string& to,
           int depid = -1, int deps = -1) {
    auto& [text, steps] = gpus_[static_cast<std::size_t>(gpu)].back();
    text += "<step s=\"" + std::to_string(steps) + "\" type=\"" + type + "\" srcbuf=\"" +
            from.substr(0, 1) + "\" srcoff=\"" + from.substr(1) + "\" dstbuf=\"" + to.substr(0, 1) +
            "\" dstoff=\"" + to.substr(1) + "\" cnt=\"1\" depid=\"" + std::to_string(depid) +
            "\" deps=\"" + std::to_string(deps) + "\" hasdep=\"0\"/>";
    return steps++;
  }
  [[nodiscard]] std::string text() const {
    std::string all = head_;
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      all +=
          "<gpu id=\"" + std::to_string(gpu) + "\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"0\">";
      for (const auto& [block, steps] : gpus_[gpu]) all += block + "</tb>";
      all += "</gpu>";
    }
    return all + "</algo>";
  }

 private:
  std::string head_;
  std::vector<std::vector<std::pair<std::string, int>>> gpus_;
};

std::string chunk(char buffer, int number) {
  return buffer + std::to_string(number);
}

/// Each gpu sends its block to its own number on the other hosts, and what it has then within its
/// host.
std::string hierarchical_gather(int hosts, int per_host) {
  const int n = hosts * per_host;
  ForeignProgram program{"allgather", n, n, 0};
  for (int self = 0; self < n; ++self) {
    program.block(self, -1, -1);
    program.step(self, "cpy", "i0", chunk('o', self));
    std::vector<int> received(static_cast<std::size_t>(hosts), -1);  // threadblocks
    for (int host = 0; host < hosts; ++host) {
      const int peer = host * per_host + self % per_host;
      if (peer == self) continue;
      program.block(self, peer, -1);
      program.step(self, "s", "i0", chunk('o', self));
      received[static_cast<std::size_t>(host)] = program.block(self, -1, peer);
      program.step(self, "r", "i0", chunk('o', peer));
    }
    for (int k = 0; k < per_host; ++k) {
      const int peer = self / per_host * per_host + k;
      if (peer == self) continue;
      program.block(self, peer, -1);
      for (int host = 0; host < hosts; ++host) {
        const int block = host * per_host + self % per_host;
        const int tb = received[static_cast<std::size_t>(host)];
        if (tb < 0) program.step(self, "s", chunk('o', block), chunk('o', block), 0, 0);
        else program.step(self, "s", chunk('o', block), chunk('o', block), tb, 0);
      }
      program.block(self, -1, peer);
      for (int host = 0; host < hosts; ++host) {
        const int block = host * per_host + k;
        program.step(self, "r", chunk('o', block), chunk('o', block));
      }
    }
  }
  return program.text();
}

/// Chunks for another host go through the gpu there that has the sender's number.
std::string two_step_all_to_all(int hosts, int per_host) {
  const int n = hosts * per_host;
  ForeignProgram program{"alltoall", n, n, 0};
  for (int self = 0; self < n; ++self) {
    const int own = self / per_host, number = self % per_host;
    program.block(self, -1, -1);
    program.step(self, "cpy", chunk('i', self), chunk('o', self));
    std::vector<int> from_host(static_cast<std::size_t>(hosts), -1);
    for (int host = 0; host < hosts; ++host) {
      const int peer = host * per_host + number;
      if (host == own) continue;
      program.block(self, peer, -1);
      for (int k = 0; k < per_host; ++k)
        program.step(self, "s", chunk('i', host * per_host + k), chunk('s', 0));
      from_host[static_cast<std::size_t>(host)] = program.block(self, -1, peer);
      for (int k = 0; k < per_host; ++k)
        program.step(self, "r", "i0",
                     k == number ? chunk('o', peer) : chunk('s', host * per_host + k));
    }
    for (int k = 0; k < per_host; ++k) {
      const int peer = own * per_host + k;
      if (peer == self) continue;
      program.block(self, peer, -1);
      for (int host = 0; host < hosts; ++host) {
        const int tb = from_host[static_cast<std::size_t>(host)];
        if (tb < 0) program.step(self, "s", chunk('i', peer), chunk('o', self));
        else program.step(self, "s", chunk('s', host * per_host + k), "o0", tb, k);
      }
      program.block(self, -1, peer);
      for (int host = 0; host < hosts; ++host)
        program.step(self, "r", "i0", chunk('o', host * per_host + k));
    }
  }
  return program.text();
}

std::string refusal_of_program(const std::string& text) {
  try {
    (void)written::proved_traits(read_msccl_schedules(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return {};
}

// A proof holds in place and out of place: it assumes that a rank's own block may be one memory.
TEST(ForeignPrograms, OfTwoBuffersAreProved) {
  for (const auto& [hosts, per_host] : {std::pair{1, 3}, {2, 1}, {2, 2}, {3, 2}, {2, 4}}) {
    EXPECT_EQ(refusal_of_program(hierarchical_gather(hosts, per_host)), "") << hosts << per_host;
    EXPECT_EQ(refusal_of_program(two_step_all_to_all(hosts, per_host)), "") << hosts << per_host;
  }
}

TEST(ForeignPrograms, AreRefusedByGpuThreadblockAndStep) {
  const std::string good = hierarchical_gather(2, 2);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return refusal_of_program(text.replace(at, from.size(), to));
  };
  EXPECT_NE(with("type=\"cpy\" srcbuf=\"i\"", "type=\"cpy\" srcbuf=\"s\"")
                .find("gpu 0, tb 0, step 0: a step reads scratch that no step has written"),
            std::string::npos);
  EXPECT_NE(with("depid=\"0\" deps=\"0\"", "depid=\"9\" deps=\"0\"")
                .find("gpu 0, tb 3, step 0: there is no step 0 of tb 9"),
            std::string::npos);
  // Only the proof finds this: a gpu receives another chunk than it expects.
  const std::string found = with("srcbuf=\"o\" srcoff=\"2\" dstbuf=\"o\" dstoff=\"2\" cnt=\"1\"",
                                 "srcbuf=\"o\" srcoff=\"3\" dstbuf=\"o\" dstoff=\"3\" cnt=\"1\"");
  EXPECT_NE(found.find("(gpu 1, tb 4, step 1)"), std::string::npos) << found;
}

TEST(ForeignPrograms, InJsonMayCopyTheirOwnBlock) {
  const std::string copy =
      R"({"step":"copy","space":"out","first":SELF,"count":1,"from_space":"in","from_first":SELF},)";
  std::string text =
      R"({"algorithm":"swap","collective":"all_gather","size":2,"root":0,"units":2,"planes":0,)"
      R"("ranks":[)";
  for (int self = 0; self < 2; ++self) {
    std::string own = copy;
    for (std::size_t at = own.find("SELF"); at != own.npos; at = own.find("SELF"))
      own.replace(at, 4, std::to_string(self));
    const std::string me = std::to_string(self), other = std::to_string(1 - self);
    text += R"({"rank":)" + me + R"(,"rounds":[[)" + own.substr(0, own.size() - 1) +
            R"(],[{"step":"send","peer":)" + other + R"(,"space":"out","first":)" + me +
            R"(,"count":1},{"step":"recv","peer":)" + other + R"(,"space":"out","first":)" + other +
            R"(,"count":1}]]})" + (self == 0 ? "," : "]}");
  }
  EXPECT_TRUE(written::proved_traits(read_json_schedules(text)).rotational) << text;
}

}  // namespace
}  // namespace tutti::v0
