#include "archive/zip/zip_strict.h"

#include <gtest/gtest.h>

#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FaultFs;
using ::ptpkg::test::IsOkAndHolds;
using ::ptpkg::test::MemFs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<std::vector<ZipProblem>> AllProblems(const std::string& zip) {
  MemFs fs;
  fs.AddFile("/x.zip", zip);
  PTPKG_TRY(const std::unique_ptr<File> file, fs.Open(AbsPath::Literal("/x.zip"), OpenMode::kRead));
  return StrictZipProblems(*file);
}

Result<std::vector<std::string>> Problems(const std::string& zip) {
  PTPKG_TRY(const std::vector<ZipProblem> problems, AllProblems(zip));
  std::vector<std::string> texts;
  for (const ZipProblem& problem : problems) texts.push_back(problem.text);
  return texts;
}

std::string Extra(std::uint16_t id, const std::string& data) {
  return archive::zip::Fields().U16(id).U16(data.size()).Text(data).str();
}

std::string Zip64Sizes(std::uint64_t size, std::uint64_t stored) {
  return Extra(1, archive::zip::Fields().U64(size).U64(stored).str());
}

TEST(StrictZipProblems, AcceptsSoundArchives) {
  EXPECT_THAT(Problems(ToText(ZipText{})), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(
      Problems(ToText(ZipText{.members = {{.name = "a", .content = "text"}, {.name = "d/"}, {.name = "d/b"}},
                              .comment = "a comment of the archive is allowed"})),
      IsOkAndHolds(IsEmpty()));
  // A superfluous field that repeats the plain sizes, as libzip writes for sources of unknown size.
  EXPECT_THAT(Problems(ToText(
                  ZipText{.members = {{.name = "a", .content = "text", .local_extra = Zip64Sizes(4, 4)}}})),
              IsOkAndHolds(IsEmpty()));
  // Both sizes in the field, whatever they are.
  EXPECT_THAT(Problems(ToText(ZipText{.members = {{.name = "a",
                                                   .content = "text",
                                                   .local_size = 0xFFFFFFFF,
                                                   .local_stored = 0xFFFFFFFF,
                                                   .local_extra = Zip64Sizes(4, 4)}}})),
              IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(Problems(ToText(ZipText{.members = {{.name = "a",
                                                   .local_extra = Extra(0x7075,
                                                                        "\x01"
                                                                        "0000a")}}})),
              IsOkAndHolds(IsEmpty()));
}

/// A deflated member, whose content nobody inflates here, and what follows it.
ZipMemberText Described(const std::string& after, const std::string& local_extra = "") {
  const std::uint32_t local = local_extra.empty() ? 0 : 0xFFFFFFFF;
  return {.name = "a",
          .content = "text",
          .method = 8,
          .flags = 8,
          .local_crc = 0,
          .local_size = local,
          .local_stored = local,
          .local_extra = local_extra,
          .after = after};
}

std::string Descriptor(bool signature, bool wide, std::uint32_t crc, std::uint64_t size = 4) {
  archive::zip::Fields fields;
  if (signature) fields.U32(archive::zip::kDescriptorSignature);
  fields.U32(crc);
  return (wide ? fields.U64(4).U64(size) : fields.U32(4).U32(size)).str();
}

TEST(StrictZipProblems, TheWalkGoesOnBehindADescriptor) {
  const std::uint32_t crc = CrcOf("text");
  const std::string zip64 = Zip64Sizes(0, 0);
  for (const bool signature : {true, false}) {
    for (const bool wide : {true, false}) {
      SCOPED_TRACE(::testing::Message() << signature << wide);
      const ZipMemberText member = Described(Descriptor(signature, wide, crc), wide ? zip64 : "");
      const ZipMemberText hidden = {.name = "hidden", .in_central = false};
      EXPECT_THAT(Problems(ToText({.members = {member, {.name = "b"}}})),
                  IsOkAndHolds(ElementsAre("member 'a' has a data descriptor")));
      EXPECT_THAT(Problems(ToText({.members = {member, hidden, {.name = "b"}}})),
                  IsOkAndHolds(ElementsAre("member 'a' has a data descriptor",
                                           "member 'hidden' is not in the central directory")));
      ZipMemberText gap = member;
      gap.after += "gap";
      EXPECT_THAT(Problems(ToText({.members = {gap, {.name = "b"}}})),
                  IsOkAndHolds(Contains(HasSubstr("there is no valid local header"))));
      EXPECT_THAT(Problems(ToText({.members = {member, {.name = "b"}, {.name = "b", .in_central = false}}})),
                  IsOkAndHolds(Contains("member 'b' has two local headers")));
    }
  }
}

TEST(StrictZipProblems, ADescriptorIsComparedWithTheCentralDirectory) {
  const std::uint32_t crc = CrcOf("text");
  const std::string right = Descriptor(true, false, crc);
  const std::string contradicts = "member 'a' has a data descriptor that the central directory contradicts";
  const std::string header =
      "member 'a' has a CRC or size in its local header that the central directory contradicts";
  const auto with = [&](auto ZipMemberText::*field, std::uint32_t value) {
    ZipMemberText member = Described(right);
    member.*field = value;
    return member;
  };
  const std::vector<std::pair<ZipMemberText, std::string>> cases = {
      {Described(""), "member 'a' has no data descriptor, though its flags say so"},
      {Described(Descriptor(true, false, 7)), contradicts},
      {Described(Descriptor(false, false, 7)), contradicts},
      {Described(Descriptor(true, false, crc, 5)), contradicts},
      {Described(Descriptor(true, true, 7), Zip64Sizes(0, 0)), contradicts},
      {Described(Descriptor(true, true, crc)),
       "member 'a' has a data descriptor of the length that its local header does not announce"},
      {Described(right, Zip64Sizes(0, 0)),
       "member 'a' has a data descriptor of the length that its local header does not announce"},
      {with(&ZipMemberText::local_crc, 7), header},
      {with(&ZipMemberText::local_stored, 4), header},
  };
  for (const auto& [member, problem] : cases) {
    SCOPED_TRACE(problem);
    for (const bool is_last : {false, true}) {
      ZipText zip{.members = {member}};
      if (!is_last) zip.members.push_back({.name = "b"});
      ASSERT_OK_AND_ASSIGN(const std::vector<ZipProblem> problems, AllProblems(ToText(zip)));
      ASSERT_THAT(problems, ::testing::SizeIs(2));
      EXPECT_EQ(problems[0].text, "member 'a' has a data descriptor");
      EXPECT_EQ(problems[1].text, problem);
      EXPECT_FALSE(problems[1].splits_readers);
      EXPECT_EQ(problems[1].refused_by, (Consumers{.pypi = true, .uv = true}));
    }
  }
  // What is stored uv takes from the central directory.
  ZipMemberText stored = Described(Descriptor(true, false, 7));
  stored.method = 0;
  ASSERT_OK_AND_ASSIGN(const std::vector<ZipProblem> problems, AllProblems(ToText({.members = {stored}})));
  ASSERT_THAT(problems, ::testing::SizeIs(2));
  EXPECT_EQ(problems[1].refused_by, (Consumers{.pypi = true}));
}

TEST(StrictZipProblems, ADescriptorThatIsWrongAllOverEndsTheWalk) {
  EXPECT_THAT(Problems(ToText({.members = {Described("nonsense"), {.name = "b"}}})),
              IsOkAndHolds(Contains(HasSubstr("there is no valid local header"))));
  const ZipMemberText empty = {.name = "a", .flags = 8, .after = std::string(20, '\0')};
  EXPECT_THAT(Problems(ToText({.members = {empty, {.name = "b"}}})),
              IsOkAndHolds(Contains(HasSubstr("of the length that its local header does not announce"))))
      << "zeros are the longer form, as what follows shows";
}

struct StrictCase {
  const char* name;
  ZipText zip;
  const char* problem;
};

std::vector<StrictCase> StrictCases() {
  const auto one = [](ZipMemberText member) { return ZipText{.members = {std::move(member)}}; };
  return {
      {"descriptor", one({.name = "a", .content = "x", .flags = 8}), "'a' has a data descriptor"},
      {"descriptor_local_only", ZipText{.members = {{.name = "a", .flags = 8, .in_central = false}}},
       "'a' is not in the central directory"},
      {"encrypted", one({.name = "a", .flags = 1}), "'a' is encrypted"},
      {"method", one({.name = "a", .content = "x", .method = 93}), "'a' uses compression method 93"},
      {"control", one({.name = "a\nb"}), "'a\\x0ab' has a control character"},
      {"delete", one({.name = "a\x7f"}), "has a control character"},
      {"not_utf8", one({.name = "a\xff"}), "not UTF-8"},
      {"twice", ZipText{.members = {{.name = "a"}, {.name = "a"}}}, "'a' is twice in the central directory"},
      {"twice_local", ZipText{.members = {{.name = "a"}, {.name = "a", .in_central = false}}},
       "'a' has two local headers"},
      {"only_local", ZipText{.members = {{.name = "a"}, {.name = "b", .in_central = false}}},
       "'b' is not in the central directory"},
      {"local_name", one({.name = "a", .local_name = "b"}), "'a' has no local header"},
      {"size", one({.name = "a", .content = "x", .local_size = 2}), "another size in its local header"},
      {"crc", one({.name = "a", .content = "x", .local_crc = 2}), "another CRC in its local header"},
      {"local_method", one({.name = "a", .content = "x", .local_method = 8}), "another compression method"},
      {"stored", ZipText{.members = {{.name = "a", .content = "x", .local_stored = 0}, {.name = "b"}}},
       "another compressed size in its local header"},
      {"too_long", one({.name = "a", .content = "x", .local_stored = 20}),
       "reaches into the central directory"},
      {"larger_than_file", one({.name = "a", .content = "x", .local_stored = 0xFFFFFFF0}),
       "'a' is larger than the file"},
      {"offset", ZipText{.members = {{.name = "a"}, {.name = "b", .offset = 0}}},
       "'b' is not where the central"},
      {"prefix", ZipText{.members = {{.name = "a"}}, .prefix = "#!/bin/sh\n"},
       "at offset 0 there is no valid local header"},
      {"suffix", ZipText{.members = {{.name = "a"}}, .suffix = "x"},
       "does not end in an end-of-central-directory"},
      {"gap", ZipText{.members = {{.name = "a"}}, .before_end = "xxxx"}, "not where the end record says"},
      {"count", ZipText{.members = {{.name = "a"}}, .count = 3}, "has 1 members, not 3"},
      {"comment", one({.name = "a", .comment = "hello"}), "'a' has a comment in the central directory"},
      {"folder", one({.name = "a/", .content = "x"}), "'a/' is a directory with content"},
      {"extra_cut", one({.name = "a", .local_extra = std::string("\x01\x00\x10\x00", 4)}),
       "'a' has a damaged extra field"},
      {"extra_twice", one({.name = "a", .local_extra = Zip64Sizes(0, 0) + Zip64Sizes(0, 0)}),
       "an extra field twice"},
      {"zip64_length", one({.name = "a", .local_extra = Extra(1, "123456789012")}),
       "ZIP64 field of 12 bytes"},
      {"zip64_empty", one({.name = "a", .local_size = 0xFFFFFFFF, .local_extra = Extra(1, "")}),
       "damaged ZIP64"},
      {"zip64_one_size", one({.name = "a", .content = "x", .method = 8, .local_extra = Extra(1, "12345678")}),
       "one size in its ZIP64 field, but is compressed"},
      {"zip64_contradicts", one({.name = "a", .content = "x", .local_extra = Zip64Sizes(1, 2)}),
       "contradicts its plain sizes"},
      {"unicode_path",
       one({.name = "a",
            .local_extra = Extra(0x7075,
                                 "\x01"
                                 "0000b")}),
       "'a' has another name in its Unicode path field"},
      {"newer", one({.name = "a", .version_needed = 99}), "'a' needs version 9.9 of the zip format"},
      {"bomb", one({.name = "a", .content = "x", .size = 100U << 20U}), "more than 50 times its size"},
  };
}

TEST(StrictZipProblems, FindsWhatPypiAndUvRefuse) {
  for (const StrictCase& test : StrictCases()) {
    SCOPED_TRACE(test.name);
    const auto problems = Problems(ToText(test.zip));
    ASSERT_OK(problems);
    if (std::string_view(test.name) == "zip64_empty") {
      EXPECT_FALSE(problems->empty());
      continue;
    }
    EXPECT_THAT(*problems, Contains(HasSubstr(test.problem)));
  }
}

TEST(StrictZipProblems, SaysWhereReadersPart) {
  const auto splits = [](const ZipText& zip) {
    const auto problems = AllProblems(ToText(zip));
    EXPECT_TRUE(problems && problems->size() == 1);
    return problems && problems->front().splits_readers;
  };
  EXPECT_TRUE(splits({.members = {{.name = "a", .local_crc = 7}}}));
  EXPECT_TRUE(splits({.members = {{.name = "a"}}, .prefix = "x"}));
  EXPECT_TRUE(splits({.members = {{.name = "a"}}, .suffix = "x"}));
  EXPECT_FALSE(splits({.members = {{.name = "a", .comment = "c"}}}));
  EXPECT_FALSE(splits({.members = {{.name = "a", .flags = 1}}}));
}

TEST(StrictZipProblems, SaysWhoRefuses) {
  const auto refused = [](const ZipMemberText& member) {
    const auto problems = AllProblems(ToText({.members = {member}}));
    EXPECT_TRUE(problems && problems->size() == 1);
    return problems && problems->size() == 1 ? problems->front().refused_by : Consumers{};
  };
  constexpr Consumers kPypi = {.pypi = true};
  constexpr Consumers kUv = {.uv = true};
  EXPECT_EQ(refused({.name = "a", .comment = "c"}), kPypi);
  EXPECT_EQ(refused(Described(Descriptor(true, false, CrcOf("text")))), kPypi);
  EXPECT_EQ(refused({.name = "a", .central_flags = 8}), kUv);
  EXPECT_EQ(refused({.name = "a", .content = "x", .method = 12}), (Consumers{.pypi = true, .uv = true}));
  EXPECT_EQ(refused({.name = "a", .content = "x", .method = 93}),
            (Consumers{.pypi = true, .pip = true, .installer = true}));
  EXPECT_EQ(refused({.name = "a", .content = "x", .method = 9}), kAllConsumers);
  EXPECT_EQ(refused({.name = "a", .local_crc = 7}), kAllConsumers);
  // A ZIP64 field that is longer than its plain sizes leave to it, in either directory.
  EXPECT_EQ(
      refused({.name = "a", .content = "text", .local_extra = Extra(1, archive::zip::Fields().U64(4).str())}),
      kUv);
  EXPECT_EQ(refused({.name = "a",
                     .content = "text",
                     .local_size = 0xFFFFFFFF,
                     .local_stored = 0xFFFFFFFF,
                     .local_extra = Extra(1, archive::zip::Fields().U64(4).U64(4).U64(0).str())}),
            kUv);
}

TEST(StrictZipProblems, ListsSeveral) {
  const auto problems =
      Problems(ToText(ZipText{.members = {{.name = "a", .comment = "c"}, {.name = "b", .local_crc = 7}}}));
  EXPECT_THAT(problems, IsOkAndHolds(::testing::SizeIs(2)));
}

TEST(StrictZipProblems, ListIsBounded) {
  ZipText zip;
  for (int i = 0; i < 300; ++i) zip.members.push_back({.name = "m" + std::to_string(i), .comment = "c"});
  EXPECT_THAT(Problems(ToText(zip)), IsOkAndHolds(::testing::SizeIs(100)));
  for (int i = 0; i < 3; ++i) zip.members.push_back({.name = "h" + std::to_string(i), .in_central = false});
  ASSERT_OK_AND_ASSIGN(const std::vector<ZipProblem> problems, AllProblems(ToText(zip)));
  EXPECT_THAT(problems, ::testing::SizeIs(101));
  EXPECT_TRUE(problems.back().splits_readers);
}

TEST(StrictZipProblems, ReadErrorsAreErrors) {
  const std::string zip = ToText(ZipText{.members = {{.name = "a", .content = "text"}}});
  const int faults = ::ptpkg::test::RunFaultLoop(
      {.setup = [&](MemFs& fs) { fs.AddFile("/x.zip", zip); },
       .run = [](Fs& fs) -> Result<void> {
         PTPKG_TRY(const std::unique_ptr<File> file, fs.Open(AbsPath::Literal("/x.zip"), OpenMode::kRead));
         PTPKG_TRY([[maybe_unused]] auto problems, StrictZipProblems(*file));
         return Ok();
       },
       .check = [](MemFs&, const Error& error) { EXPECT_EQ(error.code(), ErrorCode::kIo); }});
  EXPECT_GT(faults, 4);
}

TEST(StrictZipProblems, EveryTruncationIsAProblem) {
  const std::string zip = ToText(ZipText{.members = {{.name = "a", .content = "text"}, {.name = "b"}}});
  for (std::size_t size = 0; size < zip.size(); ++size) {
    EXPECT_THAT(Problems(zip.substr(0, size)), IsOkAndHolds(::testing::Not(IsEmpty()))) << size;
  }
}

}  // namespace
}  // namespace ptpkg::archive::test
