#include "unit/elf/linked_toys.h"

#include <stdexcept>

#include "support/process.h"

namespace ptpkg::elf::test {
namespace {

const AbsPath& ToyRoot() {
  static const AbsPath kRoot = AbsPath::Literal(PTPKG_ELF_TOYS);
  return kRoot;
}

Command MakeCommand(std::vector<std::string> argv, const AbsPath& cwd) {
  Command command;
  command.argv = std::move(argv);
  command.env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"LC_ALL", "C"}};
  command.cwd = cwd;
  command.timeout = std::chrono::seconds(60);
  return command;
}

template <class T>
T Must(Result<T> result) {
  if (!result.has_value()) throw std::runtime_error(FormatError(result.error()));
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

constexpr std::string_view kDeviceSet = "device-";
constexpr std::string_view kAarch64Set = "aarch64-";

std::vector<std::string> SetsNamed(std::string_view begin) {
  std::vector<std::string> sets = Must(MakeOsFs()->ListDir(ToyRoot()));
  std::erase_if(sets, [&](const std::string& set) { return !set.starts_with(begin); });
  return sets;
}

int ExitCode(Env& env, const Command& command) {
  const ExitStatus status = Must(env.process.Run(command));
  return status.signal != 0 ? 128 + status.signal : status.code;
}

}  // namespace

std::vector<std::string> InstalledLinkers() {
  std::vector<std::string> linkers;
  const auto fs = MakeOsFs();
  for (const char* name : {"bfd", "gold", "lld", "mold"}) {
    if (Must(Exists(*fs, ToyRoot() / name))) linkers.emplace_back(name);
  }
  return linkers;
}

std::vector<std::string> DeviceSets() { return SetsNamed(kDeviceSet); }
std::vector<std::string> Aarch64Sets() { return SetsNamed(kAarch64Set); }

std::vector<std::string> ShapesOf(const std::string& linker) {
  std::vector<std::string> shapes = {"libleaf.so", "libnote.so", "libself_note.so", "libdynamic.so",
                                     "libcode_first.so"};
  std::erase_if(
      shapes, [&](const std::string& name) { return !Must(Exists(*MakeOsFs(), ToyRoot() / linker / name)); });
  return shapes;
}

AbsPath LinkedToys::AddShape(const std::string& linker, const std::string& name) {
  Must(fs().CopyFile(ToyRoot() / linker / name, Path(name)));
  return Path(name);
}

LinkedToys::LinkedToys(const std::string& set) {
  const AbsPath from = ToyRoot() / set;
  if (set.starts_with(kDeviceSet) || set.starts_with(kAarch64Set)) {
    std::vector<const char*> names = {"libdevice.so"};
    if (set.starts_with(kDeviceSet))
      names.insert(names.end(), {"device_loader", "host.o", "device.o", "libdevice.a"});
    for (const char* name : names) Must(fs().CopyFile(from / name, Path(name)));
    return;
  }
  static_cast<void>(dir_.MakeDir("deps"));
  for (const char* name : {"deps/libdeep.so", "libanswer.so", "app", "app_fixed", "loader"}) {
    Must(fs().CopyFile(from / name, Path(name)));
  }
  static_cast<void>(dir_.MakeSymlink("libdeep.so", "deps/libdeep.so.1"));
}

std::string LinkedToys::Output(const std::vector<std::string>& argv) {
  const ExitStatus status = Must(env_.env().process.Run(MakeCommand(argv, dir_.path())));
  if (!status.ok()) throw std::runtime_error(ShellQuote(argv) + ": " + status.output);
  return status.output;
}

int LinkedToys::Load(const AbsPath& library) {
  return ExitCode(env_, MakeCommand({Path("loader").str(), library.str()}, AbsPath::Literal("/")));
}

int LinkedToys::Run(const AbsPath& program) {
  return ExitCode(env_, MakeCommand({program.str()}, AbsPath::Literal("/")));
}

}  // namespace ptpkg::elf::test
