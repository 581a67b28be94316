// Packages read without unpacking them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <mutex>

#include "conda/conda_member_pass.h"
#include "support/matchers.h"
#include "unit/conda/package_builder.h"

namespace ptpkg::conda {
namespace {

using test::DemoInfo;
using test::FailsWith;
using test::MakeTarBz2;
using test::RawMember;
using test::TestEnv;
using test::WriteRawConda;
using ::testing::HasSubstr;

class CondaMemberPassTest : public ::testing::Test {
 protected:
  /// Content, or "->target", by path.
  Result<std::map<std::string, std::string>> Visit(const AbsPath& package) {
    std::mutex mutex;
    std::map<std::string, std::string> seen;
    PTPKG_TRY(const ContainerFacts facts,
              VisitPackage(env_, package, {}, [&](const archive::PassedMember& passed) -> Result<void> {
                std::string text(passed.member.size_bytes, '\0');
                PTPKG_TRY(const std::size_t got,
                          passed.content.ReadAt(0, std::as_writable_bytes(std::span(text))));
                EXPECT_EQ(got, text.size());
                const std::lock_guard lock(mutex);
                const bool link = !passed.member.link_target.empty();
                seen[passed.member.path.str()] = link ? "->" + passed.member.link_target : text;
                return Ok();
              }));
    return seen;
  }
  Result<std::map<std::string, std::string>> VisitTar(const std::vector<RawMember>& members) {
    return Visit(env_.dir().WriteFile("demo-1.0-0.tar.bz2", MakeTarBz2(members)));
  }

  TestEnv env_;
};

const std::vector<RawMember> kLinkedPayload = {{.name = "lib/a", .content = "one"},
                                               {.name = "lib/b", .type = '2', .link_target = "a"},
                                               {.name = "lib", .type = '5'},
                                               {.name = "lib/c", .type = '1', .link_target = "lib/a"}};

TEST_F(CondaMemberPassTest, BothFormats) {
  const std::map<std::string, std::string> expected = {
      {"lib/a", "one"}, {"lib/b", "->a"}, {"lib/c", "->lib/a"}};
  std::vector<RawMember> all = DemoInfo(kLinkedPayload);
  all.insert(all.end(), kLinkedPayload.begin(), kLinkedPayload.end());
  ASSERT_OK_AND_ASSIGN(auto tar, VisitTar(all));
  const AbsPath conda = env_.dir() / "demo-1.0-0.conda";
  WriteRawConda(env_, {.info = DemoInfo(kLinkedPayload), .payload = kLinkedPayload}, conda);
  ASSERT_OK_AND_ASSIGN(const auto seen, Visit(conda));
  EXPECT_EQ(seen, tar);
  EXPECT_GT(std::erase_if(tar, [](const auto& member) { return member.first.starts_with("info/"); }), 1U);
  EXPECT_EQ(tar, expected);
}

TEST_F(CondaMemberPassTest, RefusesWhatUnpackingRefuses) {
  EXPECT_THAT(VisitTar({{.name = "../a"}}), FailsWith(ErrorCode::kCorrupt, HasSubstr("'..' in its name")));
  EXPECT_THAT(VisitTar({{.name = "a"}, {.name = "a"}}), FailsWith(ErrorCode::kCorrupt, HasSubstr("twice")));
  EXPECT_THAT(VisitTar({{.name = "a", .type = '6'}}), FailsWith(ErrorCode::kCorrupt, HasSubstr("device")));
  EXPECT_THAT(VisitTar({{.name = "a", .type = '2', .link_target = "../b"}}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("outside the tree")));
  EXPECT_THAT(VisitTar({{.name = "a", .type = '1', .link_target = "b"}}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("hard link to 'b'")));
}

}  // namespace
}  // namespace ptpkg::conda
