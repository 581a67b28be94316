// info/index.json, about.json and paths.json.
#include "conda/info/about_json.h"
#include "conda/info/index_json.h"
#include "conda/info/info_schema.h"
#include "conda/info/paths_json.h"
#include "support/matchers.h"
#include "support/text/json.h"

namespace ptpkg::conda {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::HasSubstr;

PackageMetadata Torch() {
  PackageMetadata metadata;
  metadata.name = "torch";
  metadata.version = "2.6.0";
  metadata.build_string = "py311h1234567_3";
  metadata.build_number = 3;
  metadata.depends = {"python >=3.11,<3.12.0a0", "numpy  >=1.26", "numpy >=1.26"};
  metadata.license = "BSD-3-Clause";
  return metadata;
}

TEST(MakeIndexJson, WritesTheFieldsOfCep34) {
  PackageMetadata metadata = Torch();
  metadata.constrains = {"cpuonly <0"};
  metadata.track_features = {"torch-p-1", "x"};
  ASSERT_OK_AND_ASSIGN(const Json index, MakeIndexJson(metadata, 1700000000000));
  const Json expected = {{"name", "torch"},
                         {"version", "2.6.0"},
                         {"build", "py311h1234567_3"},
                         {"build_number", 3},
                         {"depends", {"numpy >=1.26", "python >=3.11,<3.12.0a0"}},
                         {"constrains", {"cpuonly <0"}},
                         {"subdir", "linux-64"},
                         {"arch", "x86_64"},
                         {"platform", "linux"},
                         {"license", "BSD-3-Clause"},
                         {"track_features", "torch-p-1 x"},
                         {"timestamp", 1700000000000}};
  EXPECT_EQ(index, expected);
}

TEST(MakeIndexJson, MarksNoarchKinds) {
  PackageMetadata metadata = Torch();
  metadata.subdir = "noarch";
  ASSERT_OK_AND_ASSIGN(const Json generic, MakeIndexJson(metadata, 0));
  EXPECT_EQ(generic["noarch"], "generic");
  EXPECT_TRUE(generic["arch"].is_null());
  metadata.noarch_python = true;
  ASSERT_OK_AND_ASSIGN(const Json python, MakeIndexJson(metadata, 0));
  EXPECT_EQ(python["noarch"], "python");
}

TEST(CheckMetadata, NamesTheFieldThatIsWrong) {
  const auto broken = [](auto&& change) {
    PackageMetadata metadata = Torch();
    change(metadata);
    return CheckMetadata(metadata);
  };
  EXPECT_THAT(CheckMetadata(Torch()), IsOk());
  EXPECT_THAT(broken([](auto& m) { m.name = "Torch"; }),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("package name")));
  EXPECT_THAT(broken([](auto& m) { m.version = "1-2"; }),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("version")));
  EXPECT_THAT(broken([](auto& m) { m.build_string = ""; }),
              FailsWith(ErrorCode::kInvalidInput, "build string is empty"));
  EXPECT_THAT(broken([](auto& m) { m.subdir = "x"; }),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("subdir")));
  EXPECT_THAT(broken([](auto& m) { m.noarch_python = true; }), IsOk()) << "CEP 20: abi3 for one machine";
  EXPECT_THAT(broken([](auto& m) { m.entry_points = {"a = b:c"}; }),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("only noarch python packages")));
  EXPECT_THAT(broken([](auto& m) { m.track_features = {"a b"}; }),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("track feature")));
  EXPECT_THAT(broken([](auto& m) {
                m.run_exports = {{"soft", {"a"}}};
              }),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("no kind 'soft'")));
  EXPECT_THAT(broken([](auto& m) {
                m.run_exports = {{"weak", {"A"}}};
              }),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'A' is not a requirement")));
}

TEST(CheckMetadata, RefusesEntryPointsThatAreNoScripts) {
  for (const char* text : {"tool", "tool = module", "../x = a:b", "t = a b:c", "= a:b", "t = :b", "t = a:"}) {
    PackageMetadata metadata = Torch();
    metadata.subdir = "noarch";
    metadata.noarch_python = true;
    metadata.entry_points = {text};
    EXPECT_THAT(CheckMetadata(metadata), FailsWith(ErrorCode::kInvalidInput, HasSubstr("entry point")))
        << text;
  }
}

TEST(CheckIndexSchema, RefusesWrongTypes) {
  const Json good = {
      {"name", "a"}, {"version", "1"}, {"build", "0"}, {"build_number", 0}, {"depends", {"b"}}};
  EXPECT_THAT(CheckIndexSchema(good, "x"), IsOk());
  for (const auto& [key, value] : {std::pair<std::string, Json>{"name", 1},
                                   {"version", nullptr},
                                   {"build", ""},
                                   {"build_number", "0"},
                                   {"build_number", -1},
                                   {"depends", "b"},
                                   {"depends", {1}},
                                   {"subdir", 5},
                                   {"name", "a/b"}}) {
    Json index = good;
    index[key] = value;
    EXPECT_THAT(CheckIndexSchema(index, "x"), FailsWith(ErrorCode::kInvalidInput, HasSubstr(key))) << key;
  }
  EXPECT_THAT(CheckIndexSchema(Json::array(), "x"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("not a JSON object")));
}

TEST(CheckIndexSchema, TakesAndRefusesWhatRattlerDoes) {
  const Json good = {{"name", "a"}, {"version", "1"}, {"build", "0"}, {"build_number", 0}};
  const Json list = Json::array({"x"});
  const std::vector<std::pair<std::string, std::vector<Json>>> right = {
      {"timestamp", {nullptr, 0, -1, 1'600'000'000'000}},
      {"noarch", {nullptr, true, false, "", "python", "generic"}},
      {"track_features", {"a b", list}},
      {"purls", {nullptr, Json::array({"pkg:pypi/a@1"})}},
      {"legacy_bz2_md5", {nullptr, std::string(32, 'A')}},
      {"extra_depends", {Json::object(), Json{{"x", list}}}},
      {"run_exports", {nullptr, Json{{"weak", list}}}}};
  const std::vector<std::pair<std::string, std::vector<Json>>> wrong = {
      {"timestamp", {"1", 1.5, -0.0, true, 253'402'300'800'000, -377'705'116'800}},
      {"noarch", {"Python", 1, list}},
      {"track_features", {nullptr, 1, Json::array({1})}},
      {"purls", {"pkg:pypi/a", list, Json::array({"pkg:/a"})}},
      {"legacy_bz2_md5", {"", std::string(32, 'x'), 1}},
      {"extra_depends", {nullptr, list, Json{{"x", "y"}}}},
      {"run_exports", {"x", list, Json{{"weak", nullptr}}}},
      {"depends", {nullptr}},
      {"license", {list}},
      {"license_family", {1}},
      {"features", {list}},
      {"flags", {nullptr, "x"}},
      {"python_site_packages_path", {1}},
      {"arch", {false}},
      {"build_number", {-0.0, 1e2, true, nullptr}}};
  const auto check = [&](const std::string& key, const Json& value) {
    Json index = good;
    index[key] = value;
    return CheckIndexSchema(index, "x");
  };
  for (const auto& [key, values] : right) {
    for (const Json& value : values) EXPECT_THAT(check(key, value), IsOk()) << key << value;
  }
  for (const auto& [key, values] : wrong) {
    for (const Json& value : values)
      EXPECT_THAT(check(key, value), FailsWith(ErrorCode::kInvalidInput, HasSubstr(key))) << key << value;
  }
}

TEST(ParseLinkJson, TakesVersionOneWithProgramsInTheirForm) {
  const auto parse = [](const std::string& text) { return ParseLinkJson(*ParseJson(text, "x"), "x"); };
  ASSERT_OK_AND_ASSIGN(const LinkDocument link, parse(R"({"package_metadata_version": 1,
      "noarch": {"type": "python", "entry_points": ["run = a.b:c"]}})"));
  EXPECT_EQ(link.type, "python");
  EXPECT_EQ(link.entry_points, std::vector<std::string>{"run = a.b:c"});
  for (const std::string& noarch : std::vector<std::string>{
           R"({"type": "other"})", R"({})", R"([])", R"({"type": "python", "entry_points": "run = a:b"})",
           R"({"type": "python", "entry_points": ["../../evil = a:b"]})",
           R"({"type": "python", "entry_points": [".evil = a:b"]})",
           R"({"type": "python", "entry_points": ["a\\b = a:b"]})",
           R"({"type": "python", "entry_points": ["run = a:b;import os"]})",
           R"({"type": "python", "entry_points": ["run = a:b\nc"]})",
           R"({"type": "python", "entry_points": ["run"]})"}) {
    EXPECT_THAT(parse(R"({"package_metadata_version": 1, "noarch": )" + noarch + "}"),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("x: ")))
        << noarch;
  }
  EXPECT_THAT(parse(R"({"package_metadata_version": 2, "noarch": {"type": "python"}})"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("not 1")));
}

TEST(ParseJson, EndsWhereItsValueEnds) {
  for (const std::string& text :
       {std::string("{}\0", 3), std::string("{}\0{}", 5), std::string("\0{}", 3),
        std::string("\xEF\xBB\xBF{}"), std::string("{} x"), std::string("{\"a\": NaN}"),
        std::string("{\"a\": 1, \"a\": 1}"), std::string("{\"a\": \"\\ud800\"}"),
        std::string("{\"a\": \"\xff\"}"), std::string("{}\f")}) {
    EXPECT_THAT(ParseJson(text, "x"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("x"))) << text;
  }
  EXPECT_FALSE(ParseJson("-0", "x")->is_number_integer());
  EXPECT_THAT(JsonInteger(*ParseJson(R"({"a": 18446744073709551615})", "x"), "a", "x"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("an integer")));
}

TEST(MakeAboutJson, DropsEmptyTextsAndSecrets) {
  PackageMetadata metadata = Torch();
  metadata.about = {{"home", "https://user:word@example.org/x"},
                    {"summary", ""},
                    {"doc_url", "https://example.org/t/abc-1/c"}};
  const Json expected = {
      {"home", "https://example.org/x"}, {"doc_url", "https://example.org/c"}, {"license", "BSD-3-Clause"}};
  EXPECT_EQ(MakeAboutJson(metadata), expected);
}

TEST(WithoutCredentials, LeavesOtherTextAlone) {
  EXPECT_EQ(WithoutCredentials("mail me@example.org"), "mail me@example.org");
  EXPECT_EQ(WithoutCredentials("https://example.org/t/secret"), "https://example.org");
  EXPECT_EQ(WithoutCredentials("https://example.org/tools/x"), "https://example.org/tools/x");
}

StagedTree Links() {
  const auto file = [](const char* path, const char* text) {
    return TreeEntry{.path = RelPath::Literal(path),
                     .kind = FileKind::kRegular,
                     .mode = 0644,
                     .size_bytes = std::string(text).size(),
                     .sha256 = HashText(text),
                     .link_target = {}};
  };
  const auto link = [](const char* path, const char* target) {
    return TreeEntry{.path = RelPath::Literal(path),
                     .kind = FileKind::kSymlink,
                     .mode = 0777,
                     .size_bytes = 0,
                     .sha256 = {},
                     .link_target = target};
  };
  StagedTree tree;
  tree.entries = {link("a", "b"),
                  link("b", "a"),
                  link("lib/libx.so", "libx.so.1"),
                  file("lib/libx.so.1", "elf"),
                  link("lib64", "lib"),
                  link("out", "../x"),
                  link("through", "lib64/libx.so"),
                  link("to_dir", "lib"),
                  link("void", "nowhere")};
  return tree;
}

TEST(LinkedFile, FollowsLinksOfLinksAndOfFolders) {
  const StagedTree tree = Links();
  EXPECT_EQ(LinkedFile(tree, *tree.Find("lib/libx.so")), tree.Find("lib/libx.so.1"));
  EXPECT_EQ(LinkedFile(tree, *tree.Find("through")), tree.Find("lib/libx.so.1"));
}

TEST(LinkedFile, EndsAtFoldersCirclesAndOutside) {
  const StagedTree tree = Links();
  for (const char* path : {"a", "out", "to_dir", "void", "lib64"}) {
    EXPECT_EQ(LinkedFile(tree, *tree.Find(path)), nullptr) << path;
  }
}

TEST(PathsJson, ReadsWhatItWrites) {
  std::vector<PathsEntry> entries(3);
  entries[0] = {.path = "bin/x",
                .type = PathType::kHardLink,
                .sha256 = HashText("1"),
                .size_bytes = 1,
                .placeholder = "/long",
                .mode = FileMode::kBinary,
                .no_link = true,
                .has_digest = true};
  entries[1] = {.path = "bin/y",
                .type = PathType::kSoftLink,
                .sha256 = HashText("1"),
                .size_bytes = 1,
                .placeholder = "",
                .mode = FileMode::kText,
                .no_link = false,
                .has_digest = true};
  entries[2] = {.path = "z",
                .type = PathType::kHardLink,
                .sha256 = HashText("22"),
                .size_bytes = 2,
                .placeholder = "/long",
                .mode = FileMode::kText,
                .no_link = false,
                .has_digest = true};
  ASSERT_OK_AND_ASSIGN(const auto read, ParsePathsJson(MakePathsJson(entries), "x"));
  ASSERT_EQ(read.size(), 3U);
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].path, entries[i].path);
    EXPECT_EQ(read[i].type, entries[i].type);
    EXPECT_EQ(read[i].sha256, entries[i].sha256);
    EXPECT_EQ(read[i].size_bytes, entries[i].size_bytes);
    EXPECT_EQ(read[i].placeholder, entries[i].placeholder);
    EXPECT_EQ(read[i].mode, entries[i].mode);
    EXPECT_EQ(read[i].no_link, entries[i].no_link);
  }
}

TEST(ParsePathsJson, RefusesHostileAndUnknownEntries) {
  const auto parse = [](const Json& item) {
    return ParsePathsJson(Json{{"paths_version", 1}, {"paths", Json::array({item})}}, "x");
  };
  const Json good = {
      {"_path", "a"}, {"path_type", "hardlink"}, {"sha256", HashText("").Hex()}, {"size_in_bytes", 0}};
  EXPECT_THAT(parse(good), IsOk());
  for (const auto& [key, value, message] :
       {std::tuple<std::string, Json, std::string>{"_path", "../a", "'../a'"},
        {"_path", "/a", "'/a'"},
        {"_path", "info/x", "below info/"},
        {"path_type", "fifo", "'fifo'"},
        {"file_mode", "x", "file_mode"},
        {"sha256", "zz", "zz"},
        {"size_in_bytes", -1, "negative"}}) {
    Json item = good;
    item[key] = value;
    EXPECT_THAT(parse(item), FailsWith(ErrorCode::kInvalidInput, HasSubstr(message))) << key;
  }
  EXPECT_THAT(parse("text"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not an object")));
  EXPECT_THAT(ParsePathsJson(Json{{"paths_version", 1}, {"paths", Json::array({good, good})}}, "x"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("twice")));
  EXPECT_THAT(ParsePathsJson(Json{{"paths_version", 2}, {"paths", Json::array()}}, "x"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("paths_version 2")));
  EXPECT_THAT(ParsePathsJson(Json{{"paths_version", 1}, {"paths", 1}}, "x"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("not a list")));
  EXPECT_THAT(ParsePathsJson(Json::array(), "x"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("not a JSON object")));
}

TEST(ParsePathsJson, TakesEntriesWithoutDigest) {
  ASSERT_OK_AND_ASSIGN(
      const auto read,
      ParsePathsJson(Json{{"paths_version", 1},
                          {"paths", Json::array({Json{{"_path", "a"}, {"path_type", "hardlink"}}})}},
                     "x"));
  EXPECT_FALSE(read.at(0).has_digest);
}

}  // namespace
}  // namespace ptpkg::conda
