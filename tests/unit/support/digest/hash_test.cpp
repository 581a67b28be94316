#include "support/digest/hash.h"

#include <array>
#include <cctype>
#include <gtest/gtest.h>

#include "support/digest/blake2b.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"

namespace ptpkg::test {
namespace {

using ::testing::HasSubstr;

// FIPS 180-2 and RFC 1321 vectors; BLAKE2b-256 as Python's hashlib.blake2b(digest_size=32) gives it.
constexpr std::string_view kSha256Abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view kSha256Empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

Digests HashAll(std::string_view text, std::size_t piece) {
  HashingSink sink(nullptr, {.md5 = true});
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    EXPECT_OK(sink.Write(AsBytes(text.substr(0, piece))));
  }
  return sink.Finish();
}

std::string Blake2bOf(std::string_view text, std::size_t piece) {
  Blake2b256Hasher hasher;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    hasher.Update(AsBytes(text.substr(0, piece)));
  }
  return Digest<32>{hasher.Finish()}.Hex();
}

/// Bytes 0, 1, 2, … modulo 251.
std::string Pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i % 251);
  return text;
}

TEST(Hash, KnownVectors) {
  EXPECT_EQ(HashText("abc").Hex(), kSha256Abc);
  EXPECT_EQ(HashText("").Hex(), kSha256Empty);
  EXPECT_EQ(Sha1OfText("abc").Hex(), "a9993e364706816aba3e25717850c26c9cd0d89d");
  const Digests abc = HashAll("abc", 1);
  EXPECT_EQ(abc.sha256.Hex(), kSha256Abc);
  EXPECT_EQ(abc.md5.Hex(), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(Blake2bOf("abc", 1), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  EXPECT_EQ(abc.size_bytes, 3U);
}

// Lengths around the 128-byte block, where the last block must be flagged and no other.
TEST(Hash, Blake2bAtBlockEdges) {
  struct Case {
    std::size_t size;
    std::string_view hex;
  };
  constexpr std::array<Case, 8> kCases = {{
      {0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
      {1, "03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314"},
      {127, "f2fe67ff342e21b8f45e8f2e0bcd1d9243245d50ee6c78042e9c491388791c72"},
      {128, "c3582f71ebb2be66fa5dd750f80baae97554f3b015663c8be377cfcb2488c1d1"},
      {129, "f7f3c46ba2564ff4c4c162da1f5b605f9f1c4aa6a20652a9f9a337c1a2f5b9c9"},
      {255, "d9ef0fc521b4266d16df662bec231bc2ec3989e7adeaf63169c295dc239dbbea"},
      {256, "582f782226018ec33076bd8d1c42413530ac7e1126260ffc0f306ba3befc3f24"},
      {100003, "b06e067c967fcc0ae25d0b0348ae6c1bfe6865fb6940c3d36651ddc4888aec9e"},
  }};
  for (const Case& one : kCases) {
    const std::string text = Pattern(one.size);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{128}, std::size_t{100000}}) {
      EXPECT_EQ(Blake2bOf(text, piece), one.hex) << one.size << " bytes by " << piece;
    }
  }
}

TEST(HashingSink, PassesBytesOnAndLeavesUnchosenDigestsZero) {
  StringSink next;
  HashingSink sink(&next);
  ASSERT_OK(sink.Write(AsBytes("ab")));
  ASSERT_OK(sink.Write(AsBytes("")));
  ASSERT_OK(sink.Write(AsBytes("c")));
  EXPECT_EQ(next.str(), "abc");
  const Digests digests = sink.Finish();
  EXPECT_EQ(digests.sha256.Hex(), kSha256Abc);
  EXPECT_EQ(digests.md5, Md5{});
}

TEST(HashingSink, ReportsTheErrorOfTheNextSink) {
  class Broken final : public ByteSink {
    Result<void> Write(Bytes) override { return Error(ErrorCode::kIo, "no room"); }
  } broken;
  HashingSink sink(&broken);
  EXPECT_THAT(sink.Write(AsBytes("x")), FailsWith(ErrorCode::kIo, "no room"));
}

TEST(Digest, HexRoundTripAndErrors) {
  EXPECT_THAT(Sha256::FromHex(kSha256Abc), IsOkAndHolds(HashText("abc")));
  std::string upper(kSha256Abc);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_THAT(Sha256::FromHex(upper), IsOkAndHolds(HashText("abc")));

  std::string bad(kSha256Abc);
  bad[63] = 'g';
  const std::string with_nul = std::string(kSha256Abc.substr(0, 63)) + '\0';
  for (const std::string& text :
       {std::string(), std::string("12"), bad, std::string(kSha256Abc) + "0",
        std::string(kSha256Abc.substr(1)), " " + std::string(kSha256Abc.substr(1)), with_nul}) {
    EXPECT_THAT(Sha256::FromHex(text),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("64 hexadecimal digits")));
  }
  EXPECT_THAT(Md5::FromHex("900150983cd24fb0d6963f7d28e17f7"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("32")));
  const Result<Md5> huge = Md5::FromHex(std::string(1'000'000, 'a'));
  ASSERT_FALSE(huge.has_value());
  EXPECT_LT(huge.error().message().size(), 200U);
}

TEST(Base64, MatchesRfc4648WithoutPadding) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"", ""},
                                                                  {"f", "Zg"},
                                                                  {"fo", "Zm8"},
                                                                  {"foo", "Zm9v"},
                                                                  {"foob", "Zm9vYg"},
                                                                  {"foobar", "Zm9vYmFy"},
                                                                  {"\xFB\xFF\xFE", "-__-"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(Base64UrlUnpadded(AsBytes(text)), expected);
  // What wheel's RECORD holds for an empty file.
  const Sha256 empty = HashText("");
  EXPECT_EQ(Base64UrlUnpadded(std::as_bytes(std::span(empty.bytes))),
            "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
}

TEST(HashFile, ReadsEachByteOnce) {
  MemFs fs;
  const std::string text = Pattern(2'500'000);
  fs.AddFile("/f", text);
  ASSERT_OK_AND_ASSIGN(const Digests digests, HashFile(fs, AbsPath::Literal("/f"), {.md5 = true}));
  EXPECT_EQ(digests.sha256, HashText(text));
  EXPECT_EQ(digests.size_bytes, text.size());
  EXPECT_EQ(fs.BytesRead("/f"), text.size());
  EXPECT_THAT(HashFile(fs, AbsPath::Literal("/none")), FailsWith(ErrorCode::kNotFound, HasSubstr("/none")));
}

TEST(HashFile, EveryFaultIsReported) {
  EXPECT_EQ(RunFaultLoop({.setup = [](MemFs& fs) { fs.AddFile("/f", "x"); },
                          .run = [](Fs& fs) -> Result<void> {
                            PTPKG_TRY(const Digests digests, HashFile(fs, AbsPath::Literal("/f")));
                            EXPECT_EQ(digests.size_bytes, 1U);
                            return Ok();
                          },
                          .check = {}}),
            3);  // open, read, read of the end
}

TEST(KeyHasher, FieldsCannotBeShiftedIntoEachOther) {
  const auto key = [](std::vector<std::pair<std::string, std::string>> fields) {
    KeyHasher hasher;
    for (const auto& [name, value] : fields) hasher.Add(name, value);
    return hasher.Finish();
  };
  EXPECT_EQ(key({{"a", "1"}, {"b", "2"}}), key({{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(key({{"a", "1"}}), HashText("1:a1:1"));
  EXPECT_NE(key({{"a", "1"}, {"b", "2"}}), key({{"b", "2"}, {"a", "1"}}));
  EXPECT_NE(key({{"a", "bc"}}), key({{"ab", "c"}}));
  EXPECT_NE(key({{"a", "11:b2:xy"}}), key({{"a", "1"}, {"b", "xy"}}));
  EXPECT_NE(key({{"a", ""}}), key({}));
}

}  // namespace
}  // namespace ptpkg::test
