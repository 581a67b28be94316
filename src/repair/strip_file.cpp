// The result of strip is not trusted: the facts for ld.so and the faults that end a load are compared before
// and after. For instance, strip can destroy a table or segment that an older patchelf has moved
// (NixOS/patchelf#10, pypa/auditwheel#63). Such a library would fail only on the user's machine.

#include "repair/strip_file.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>

#include "elf/edit/edit.h"
#include "elf/load/load_faults.h"
#include "elf/symbols/symbol_use.h"
#include "support/digest/hash.h"
#include "support/process/process.h"
#include "support/text/text.h"

namespace ptpkg::repair {
namespace {

struct LoadFacts {
  elf::LinkFacts names;
  std::vector<elf::LoadFault> faults;
};

Result<LoadFacts> FactsAt(Env& env, const AbsPath& path) {
  PTPKG_TRY(const auto file, env.fs.Open(path, OpenMode::kRead));
  PTPKG_TRY(const auto image, elf::ReadImage(*file));
  if (!image) return Error(ErrorCode::kUnsupported, fmt::format("'{}' is not an ELF file", path.str()));
  PTPKG_CHECK(elf::CheckSegments(*image));
  LoadFacts facts;
  PTPKG_TRY(facts.names, elf::ReadLinkFacts(*file, *image));
  if (!image->dynamic) return facts;
  PTPKG_TRY(facts.faults, elf::FindLoadFaults(*file, *image));
  PTPKG_TRY(const elf::RelocationFacts relocations, elf::ReadRelocationFacts(*file, *image, {}));
  facts.faults.insert(facts.faults.end(), relocations.faults.begin(), relocations.faults.end());
  return facts;
}

/// How strip changed the file for ld.so; "" if it did not.
std::string DamageBetween(const LoadFacts& before, const Result<LoadFacts>& after) {
  if (!after) return after.error().message();
  if (after->names != before.names) return "its names or search path changed";
  for (const elf::LoadFault& fault : after->faults) {
    if (std::find(before.faults.begin(), before.faults.end(), fault) == before.faults.end())
      return fault.message;
  }
  return "";
}

}  // namespace

Result<bool> StripFile(Env& env, const AbsPath& path) {
  const std::string search = PathVariable(env.variables);
  const std::optional<AbsPath> program = FindProgram("strip", search);
  if (!program) {
    return Error(ErrorCode::kNotFound, "the program 'strip' is not on PATH")
        .WithHint("install binutils, or remove --strip");
  }
  PTPKG_TRY(const LoadFacts before, FactsAt(env, path));
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
  if (const std::string damage = DamageBetween(before, FactsAt(env, path)); !damage.empty()) {
    return Error(ErrorCode::kUnsupported, fmt::format("strip destroyed '{}': {}", path.Name(), damage))
        .WithHint("an older patchelf may have moved its tables; repair without --strip");
  }
  // strip writes a file in any case. The digest tells whether it removed anything.
  PTPKG_TRY(const Digests now, HashFile(env.fs, path));
  return now.sha256 != old.sha256;
}

}  // namespace ptpkg::repair
