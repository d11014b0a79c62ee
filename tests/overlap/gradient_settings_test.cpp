// Options of GradientSync: as a file, and which of them go together.
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>

#include "gradients.hpp"

namespace tutti::test {
namespace {

template <class E>
void expect_named_once(std::span<const GradientEnumerator<E>> table) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(table[i].value), i) << "in the order of their values";
    EXPECT_EQ(name_of(table[i].value), table[i].name);
    ASSERT_NE(find_gradient_enumerator<E>(table[i].name), nullptr);
    EXPECT_EQ(find_gradient_enumerator<E>(table[i].name)->value, table[i].value);
  }
  EXPECT_EQ(name_of(static_cast<E>(table.size())), "") << "the table has all values";
  EXPECT_EQ(find_gradient_enumerator<E>(""), nullptr);
}

TEST(GradientSettings, NameEachValueOnce) {
  expect_named_once<GradientOrder>(kGradientOrders);
  expect_named_once<GradientStorage>(kGradientStorages);
  expect_named_once<UnusedGradients>(kUnusedGradients);
  EXPECT_EQ(joined_names(kGradientStorages, " or "), "copies, views or flat");
}

/// Each value of each enumeration, by its name in a file.
TEST(GradientSettings, AreWrittenByTheNamesOfTheTables) {
  const auto path =
      std::filesystem::temp_directory_path() / ("tutti_names_" + std::to_string(::getpid()));
  const auto expect_read = [&](const char* option, std::string_view name, auto member) {
    std::ofstream{path} << "{\"" << option << "\": \"" << name << "\"}";
    const GradientOptions read = load_gradient_options(path.string());
    EXPECT_EQ(name_of(read.*member), name);
    save_gradient_options(path.string(), read);
    EXPECT_EQ(load_gradient_options(path.string()).*member, read.*member);
  };
  for (const auto& one : kGradientOrders) expect_read("order", one.name, &GradientOptions::order);
  for (const auto& one : kGradientStorages)
    expect_read("storage", one.name, &GradientOptions::storage);
  for (const auto& one : kUnusedGradients)
    expect_read("unused", one.name, &GradientOptions::unused);
  for (const GradientCompression& one : kGradientCompressions) {
    std::ofstream{path} << R"({"compression": ")" << one.name << R"("})";
    EXPECT_EQ(load_gradient_options(path.string()).compression, one.name);
  }
  std::filesystem::remove(path);
}

TEST(GradientSettings, AreReadAsTheyWereWritten) {
  const auto path =
      std::filesystem::temp_directory_path() / ("tutti_settings_" + std::to_string(::getpid()));
  GradientOptions written{.bucket_bytes = GradientOptions::kFlat,
                          .first_bucket_bytes = 123,
                          .order = GradientOrder::negotiated,
                          .storage = GradientStorage::views,
                          .unused = UnusedGradients::zeros,
                          .average = false,
                          .check_finite = true,
                          .norm = true,
                          .max_norm = 2.5,
                          .hash = true,
                          .compression = "top_k:0.5",
                          .verify_every = 9,
                          .in_flight = 7,
                          .algorithm = "ring"};
  save_gradient_options(path.string(), written);
  const GradientOptions read = load_gradient_options(path.string());
  EXPECT_EQ(read.bucket_bytes, written.bucket_bytes);
  EXPECT_EQ(read.first_bucket_bytes, 123U);
  EXPECT_EQ(read.order, written.order);
  EXPECT_EQ(read.storage, written.storage);
  EXPECT_EQ(read.unused, written.unused);
  EXPECT_FALSE(read.average);
  EXPECT_TRUE(read.check_finite);
  EXPECT_TRUE(read.norm);
  EXPECT_EQ(read.max_norm, 2.5);
  EXPECT_TRUE(read.hash);
  EXPECT_EQ(read.compression, "top_k:0.5");
  EXPECT_EQ(read.verify_every, 9);
  EXPECT_EQ(read.in_flight, 7);
  EXPECT_EQ(read.algorithm, "ring");
  save_gradient_options(path.string(), {});
  EXPECT_EQ(load_gradient_options(path.string()).order, GradientOrder::automatic);
  for (const auto& [text, problem] : std::vector<std::pair<std::string, std::string>>{
           {"// fine\n{\"bucket_byte\": 3}", "'bucket_byte' is none of bucket_bytes, "},
           {R"({"in_flight": "two"})", "in_flight is a number of buckets, found \"two\""},
           {R"({"in_flight": -2})", "found -2"},
           {R"({"in_flight": 2.5})", "found 2.5"},
           {R"({"in_flight": 5000000000})", "found 5000000000"},
           {R"({"max_norm": "2"})", "max_norm is a number, found \"2\""},
           {R"({"norm": 1})", "norm is true or false, found 1"},
           {R"({"algorithm": null})", "or nothing, found null"},
           {R"({"order"})", "it is not JSON"},
           {"[]", "expected an object in JSON"},
           {"", "it is not JSON"},
           {R"({"storage": ""})", "storage is copies, views or flat, found \"\""},
           {R"({"storage": "disk"})", "storage is copies, views or flat, found \"disk\""},
           {R"({"first_bucket_bytes": "flat"})", "is a number of bytes, found \"flat\""},
           {R"({"compression": "zip"})", "compression 'zip' is none of"}}) {
    std::ofstream{path} << text;
    try {
      static_cast<void>(load_gradient_options(path.string()));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string{error.what()}.find(problem), std::string::npos) << error.what();
      EXPECT_NE(std::string{error.what()}.find(path.string()), std::string::npos) << error.what();
    }
  }
  std::filesystem::remove(path);
  for (const auto& other : {path, std::filesystem::temp_directory_path()})
    EXPECT_THROW(static_cast<void>(load_gradient_options(other.string())), Error);
}

TEST(GradientSettings, MustGoTogether) {
  train({2, "auto", 1}, [](Communicator& world) {
    Model model{{10, 10}};
    const auto on_shard = [](std::span<const ParameterShard>) {};
    for (const GradientOptions& options : std::vector<GradientOptions>{
             {.order = GradientOrder::reversed, .compression = "f16", .on_shard = on_shard},
             {.order = GradientOrder::observed, .on_shard = on_shard},
             {.order = GradientOrder::reversed,
             .unused = UnusedGradients::detect,
             .on_shard = on_shard},
             {.algorithm = "rings"},
             {.algorithm = world.rank() == 0 ? "ring" : ""},
             {.groups = {nullptr}},
             {.verify_every = 3, .state = {{.name = "nothing", .count = 3}}},
             {.resync_every = 3},
             {.verify_every = -1},
             {.in_flight = 0}})
      EXPECT_THROW((GradientSync{world, model.parameters(), options}), Error);
    EXPECT_NO_THROW(world.barrier());
  });
}

/// Defaults never contradict options that the program chose.
TEST(GradientSettings, StandAlone) {
  const std::vector<std::pair<const char*, std::function<void(GradientOptions&)>>> single{
      {"none", [](GradientOptions&) {}},
      {"bucket_bytes", [](GradientOptions& o) { o.bucket_bytes = 0; }},
      {"bucket_bytes, flat", [](GradientOptions& o) { o.bucket_bytes = GradientOptions::kFlat; }},
      {"first_bucket_bytes", [](GradientOptions& o) { o.first_bucket_bytes = 0; }},
      {"in_place_bytes", [](GradientOptions& o) { o.in_place_bytes = 0; }},
      {"reversed", [](GradientOptions& o) { o.order = GradientOrder::reversed; }},
      {"observed", [](GradientOptions& o) { o.order = GradientOrder::observed; }},
      {"negotiated", [](GradientOptions& o) { o.order = GradientOrder::negotiated; }},
      {"known_order",
       [](GradientOptions& o) {
         o.known_order = {1, 0};
       }},
      {"views", [](GradientOptions& o) { o.storage = GradientStorage::views; }},
      {"flat", [](GradientOptions& o) { o.storage = GradientStorage::flat; }},
      {"zeros", [](GradientOptions& o) { o.unused = UnusedGradients::zeros; }},
      {"detect", [](GradientOptions& o) { o.unused = UnusedGradients::detect; }},
      {"check_finite", [](GradientOptions& o) { o.check_finite = true; }},
      {"norm", [](GradientOptions& o) { o.norm = true; }},
      {"max_norm", [](GradientOptions& o) { o.max_norm = 1e6; }},
      {"hash", [](GradientOptions& o) { o.hash = true; }},
      {"compression", [](GradientOptions& o) { o.compression = "bf16"; }},
      {"compression_after", [](GradientOptions& o) { o.compression_after = 1; }},
      {"verify_every", [](GradientOptions& o) { o.verify_every = 1; }},
      {"in_flight", [](GradientOptions& o) { o.in_flight = 1; }},
      {"timeout", [](GradientOptions& o) { o.timeout = std::chrono::seconds{60}; }},
      {"algorithm", [](GradientOptions& o) { o.algorithm = "ring"; }},
      {"on_bucket", [](GradientOptions& o) { o.on_bucket = [](const ReducedBucket&) {}; }},
      {"on_shard", [](GradientOptions& o) { o.on_shard = [](std::span<const ParameterShard>) {}; }},
      {"record", [](GradientOptions& o) { o.record = 1; }}};
  for (const auto& [name, choose] : single)
    train({2, "auto", 1}, [&name = name, &choose = choose](Communicator& world) {
      GradientOptions options;
      choose(options);
      std::vector<float> flat(30);
      const std::span<float> all{flat};
      const std::array parts{all.first(10), all.subspan(10)};
      std::vector<Parameter> parameters{Parameter::of("a", parts[0]), Parameter::of("b", parts[1])};
      if (options.storage == GradientStorage::views)
        for (Parameter& parameter : parameters) parameter.data = nullptr;
      GradientSync sync{world, parameters, options};
      for (int step = 1; step < 4; ++step) {
        for (std::size_t i = parts.size(); i-- > 0;) {
          void* const view = sync.view(i);
          float* const to = view != nullptr ? static_cast<float*>(view) : parts[i].data();
          std::fill_n(to, parts[i].size(), static_cast<float>(step + 2 * world.rank()));
          sync.ready(i);
        }
        EXPECT_NO_THROW(sync.wait()) << name;
        for (std::size_t i = 0; i < parts.size(); ++i) {
          const void* const view = sync.view(i);
          EXPECT_EQ(view != nullptr ? *static_cast<const float*>(view) : parts[i][0],
                    static_cast<float>(step + 1))
              << name;
        }
      }
    });
}

/// Chosen options that contradict each other are rejected.
TEST(GradientSettings, RefuseAnObservedOrderThatWasChosen) {
  train({2, "auto", 1}, [](Communicator& world) {
    Model model{{10, 10}};
    for (const GradientStorage storage : {GradientStorage::views, GradientStorage::flat})
      EXPECT_THROW(
          (GradientSync{
              world, model.parameters(), {.order = GradientOrder::observed, .storage = storage}}),
          Error);
    EXPECT_NO_THROW(world.barrier());
  });
}

}  // namespace
}  // namespace tutti::test
