// The result of strip is not trusted, and the facts for ld.so are compared before and after. For instance,
// strip can destroy a table that an older patchelf has moved (NixOS/patchelf#10, pypa/auditwheel#63). Such a
// library would fail only on the user's machine.

#include "repair/strip_file.h"

#include <fmt/core.h>
#include <optional>

#include "elf/edit/edit.h"
#include "support/digest/hash.h"
#include "support/process/process.h"
#include "support/text/text.h"

namespace ptpkg::repair {
namespace {

Result<elf::LinkFacts> FactsAt(Env& env, const AbsPath& path) {
  PTPKG_TRY(const auto file, env.fs.Open(path, OpenMode::kRead));
  PTPKG_TRY(const auto image, elf::ReadImage(*file));
  if (!image) return Error(ErrorCode::kUnsupported, fmt::format("'{}' is not an ELF file", path.str()));
  PTPKG_CHECK(elf::CheckSegments(*image));
  return elf::ReadLinkFacts(*file, *image);
}

}  // namespace

Result<bool> StripFile(Env& env, const AbsPath& path) {
  const std::string search = PathVariable(env.variables);
  const std::optional<AbsPath> program = FindProgram("strip", search);
  if (!program) {
    return Error(ErrorCode::kNotFound, "the program 'strip' is not on PATH")
        .WithHint("install binutils, or remove --strip");
  }
  PTPKG_TRY(const elf::LinkFacts before, FactsAt(env, path));
  PTPKG_TRY(const Digests old, HashFile(env.fs, path));
  Command command;
  command.argv = {program->str(), "--strip-all", path.str()};
  command.env = {{"PATH", search}, {"LC_ALL", "C"}};
  command.cancel = &env.cancel;
  PTPKG_TRY(const ExitStatus status, env.process.Run(command));
  if (!status.ok()) {
    return Error(ErrorCode::kCommandFailed,
                 fmt::format("'{}' failed: {}", ShellQuote(command.argv), std::string(Trim(status.output))))
        .WithHint("remove --strip");
  }
  auto after = FactsAt(env, path);
  if (!after || *after != before) {
    return Error(ErrorCode::kUnsupported, fmt::format("strip destroyed '{}'", path.Name()))
        .WithHint("an older patchelf may have moved its tables; repair without --strip");
  }
  // strip writes a file in any case. The digest tells whether it removed anything.
  PTPKG_TRY(const Digests now, HashFile(env.fs, path));
  return now.sha256 != old.sha256;
}

}  // namespace ptpkg::repair
