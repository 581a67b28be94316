// Unpacks arbitrary bytes as a conda package. The first byte says what the rest is: a .conda or .tar.bz2 as
// it is, or a plain tar that is packed into a .tar.bz2 here, so that mutations reach its members.

#include "conda/info/package_info.h"
#include "conda/package.h"
#include "fuzz/extract_check.h"
#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "unit/conda/package_builder.h"

namespace ptpkg::fuzz {

using test::RawMember;

std::vector<std::string> Seeds() {
  const std::vector<RawMember> payload = {{.name = "lib/a", .content = "text"},
                                          {.name = "lib/link", .type = '2', .link_target = "a"},
                                          {.name = "lib/same", .type = '1', .link_target = "lib/a"}};
  std::vector<RawMember> members = test::DemoInfo(payload);
  members.insert(members.end(), payload.begin(), payload.end());
  test::TestEnv env;
  const AbsPath conda = env.dir() / "x.conda";
  test::WriteRawConda(env, {.info = test::DemoInfo(payload), .payload = payload}, conda);
  return {"\x01" + test::MakeTar(members), std::string(1, '\0') + test::MakeTarBz2(members),
          std::string(1, '\0') + env.dir().ReadFile("x.conda")};
}

}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptpkg;  // NOLINT(google-build-using-namespace): one function is all there is
  if (size == 0) return 0;
  std::string package(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 1) package = test::Bzip2(package);
  test::MemFs fs;
  fs.AddDir("/out");
  fs.AddFile("/x.zip", package);
  bool unpacked = false;
  fuzz::CheckExtraction(fs, [&](Env& env) -> Result<void> {
    const auto info = conda::UnpackPackage(env, AbsPath::Literal("/x.zip"), AbsPath::Literal("/out"), {});
    unpacked = info.has_value();
    if (info) return Ok();
    fuzz::RequireFair(info.error());
    return info.error();
  });
  if (!unpacked) fuzz::Require(fs.List("/out").empty(), "a package that was refused left files");
  return 0;
}
