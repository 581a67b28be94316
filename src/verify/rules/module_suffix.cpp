// Python finds an extension module by the end of its file name alone. CPython on Linux and macOS tries its
// own suffix (SOABI), then ".abi3.so", then ".so". A debug build since 3.8 tries the release build's suffix
// second (ALT_SOABI). Python 3.15 adds ".abi3t.so" and a platform to both stable suffixes; its build without
// the global lock no longer has ".abi3.so". Windows has its own suffix and ".pyd", and no stable one. PyPy
// has its own suffix and no other.
//
// SOABI ends with the platform for which Python was configured: "x86_64-linux-gnu", since 3.11
// "x86_64-linux-musl" with musl, "darwin". Pythons before 3.5 can be without one.
//
// Invariant: where the platform or the interpreter is not known here, each suffix counts as one that it looks
// for.

#include "verify/rules/module_suffix.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/text/text.h"
#include "verify/elf/module_checks.h"

namespace ptpkg::verify {
namespace {

constexpr int kFirstStableThreads = 15;
/// Messages prefer a Python from this minor version on: "py3" also stands for Python 3.0, which nobody uses.
constexpr int kFirstNamed = 8;

/// "311t-x86_64-linux-gnu" behind its kind.
std::optional<ModuleSuffix> OwnSuffix(std::string kind, std::string_view rest) {
  std::size_t digits = 0;
  while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') ++digits;
  if (digits == 0) return std::nullopt;
  const std::size_t dash = std::min(rest.find('-'), rest.size());
  if (dash < digits) return std::nullopt;
  ModuleSuffix suffix{.kind = ModuleSuffix::Kind::kOwn,
                      .python = {.kind = std::move(kind),
                                 .version = std::string(rest.substr(0, digits)),
                                 .flags = std::string(rest.substr(digits, dash - digits))}};
  if (dash < rest.size()) suffix.platform = rest.substr(dash + 1);
  return suffix;
}

/// The suffix with the part between the dots; nullopt if it is none.
std::optional<ModuleSuffix> TaggedSuffix(std::string_view part, bool is_windows) {
  constexpr std::string_view kCPython = "cpython-";
  constexpr std::string_view kPyPy = "pypy";
  constexpr std::string_view kGraalPy = "graalpy";
  for (const auto& [word, kind] :
       {std::pair{std::string_view("abi3"), ModuleSuffix::Kind::kStable},
        std::pair{std::string_view("abi3t"), ModuleSuffix::Kind::kStableThreads}}) {
    if (part == word) return ModuleSuffix{.kind = kind};
    if (part.starts_with(word) && part[word.size()] == '-')
      return ModuleSuffix{.kind = kind, .platform = std::string(part.substr(word.size() + 1))};
  }
  if (part.starts_with(kCPython)) return OwnSuffix("cp", part.substr(kCPython.size()));
  if (part.starts_with(kGraalPy)) return OwnSuffix("graalpy", part.substr(kGraalPy.size()));
  if (part.starts_with(kPyPy)) {
    // "39-pp73-x86_64-linux-gnu"
    auto suffix = OwnSuffix("pp", part.substr(kPyPy.size()));
    if (!suffix) return suffix;
    const std::size_t dash = std::min(suffix->platform.find('-'), suffix->platform.size());
    suffix->platform.erase(0, std::min(dash + 1, suffix->platform.size()));
    return suffix;
  }
  if (is_windows && part.starts_with("cp")) return OwnSuffix("cp", part.substr(2));
  return std::nullopt;
}

/// The minor version of "311"; nullopt for Python 2.
std::optional<int> MinorOf(std::string_view version) {
  constexpr std::size_t kLongest = 4;
  if (version.size() < 2 || version.size() > kLongest || version.front() != '3') return std::nullopt;
  return std::stoi(std::string(version.substr(1)));
}

bool FlagsFit(const SearchingPython& python, int minor, const std::string& flags) {
  constexpr int kFirstWithoutM = 8;
  const bool is_new = minor >= kFirstWithoutM;
  if (!python.flags) return flags.empty() || flags == (is_new ? "t" : "m");
  std::string own = *python.flags;
  if (flags == own) return true;
  return is_new && std::erase(own, 'd') == 1 && flags == own;
}

enum class System : std::uint8_t { kOther, kLinux, kMac, kWindows };

System SystemOfTag(std::string_view platform) {
  for (const std::string_view prefix : {"linux_", "manylinux", "musllinux_"}) {
    if (platform.starts_with(prefix)) return System::kLinux;
  }
  if (platform.starts_with("macosx_")) return System::kMac;
  return platform == "win32" || platform.starts_with("win_") ? System::kWindows : System::kOther;
}

/// The processor of a platform tag in the words of CPython's configure; "" if it is not known here.
std::string_view ProcessorOf(std::string_view platform) {
  struct Processor {
    std::string_view tag, name;
  };
  constexpr std::array<Processor, 10> kProcessors = {{{"_x86_64", "x86_64"},
                                                      {"_i686", "i386"},
                                                      {"_aarch64", "aarch64"},
                                                      {"_armv7l", "arm"},
                                                      {"_armv6l", "arm"},
                                                      {"_ppc64le", "powerpc64le"},
                                                      {"_ppc64", "powerpc64"},
                                                      {"_s390x", "s390x"},
                                                      {"_riscv64", "riscv64"},
                                                      {"_loongarch64", "loongarch64"}}};
  for (const Processor& one : kProcessors) {
    if (platform.ends_with(one.tag)) return one.name;
  }
  return {};
}

/// `suffix`: one with a platform, or one that should have it.
bool PlatformFits(const SearchingPython& python, const std::string& tag, const ModuleSuffix& suffix) {
  constexpr int kFirstWithPlatform = 5;
  constexpr int kFirstWithMusl = 11;
  const std::optional<int> minor = MinorOf(python.version);
  const std::string& platform = suffix.platform;
  if (platform.empty() && (python.kind != "cp" || !minor || *minor < kFirstWithPlatform)) return true;
  switch (SystemOfTag(tag)) {
    case System::kOther:
      return true;
    case System::kMac:
      return platform == "darwin";
    case System::kWindows:
      return platform == tag;
    case System::kLinux:
      break;
  }
  const std::string_view processor = ProcessorOf(tag);
  if (processor.empty()) return true;
  const std::string before = fmt::format("{}-linux-", processor);
  if (!platform.starts_with(before)) return false;
  const std::string_view libc = std::string_view(platform).substr(before.size());
  // Other endings belong to ARM: "gnueabihf", "musleabihf".
  const bool is_musl = libc.starts_with("musl");
  if (!is_musl && !libc.starts_with("gnu")) return false;
  if (tag.starts_with("manylinux")) return !is_musl;
  const bool must_be_musl =
      tag.starts_with("musllinux") && python.kind == "cp" && minor && *minor >= kFirstWithMusl;
  return is_musl || !must_be_musl;
}

/// False if the suffix names a system other than that of `platform`.
bool IsOfSystem(const ModuleSuffix& suffix, std::string_view platform) {
  switch (SystemOfTag(platform)) {
    case System::kLinux:
      return suffix.platform.empty() || suffix.platform.find("-linux") != std::string::npos;
    case System::kMac:
      return suffix.platform.empty() || suffix.platform == "darwin";
    case System::kWindows:
      return suffix.platform.empty() || suffix.platform.starts_with("win");
    case System::kOther:
      break;
  }
  return true;
}

}  // namespace

std::optional<ModuleSuffix> ModuleSuffixOf(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const bool is_windows = file.ends_with(".pyd");
  const std::size_t dot = file.find('.');
  if ((!is_windows && !file.ends_with(".so")) || dot == 0) return std::nullopt;
  const std::string_view text = file.substr(dot);
  const std::size_t last = text.rfind('.');
  std::optional<ModuleSuffix> suffix = ModuleSuffix{};
  if (last != 0) suffix = TaggedSuffix(text.substr(1, last - 1), is_windows);
  if (suffix) suffix->text = text;
  return suffix;
}

std::string SearchingPython::Words() const {
  const bool is_threaded = flags && flags->starts_with('t');
  return fmt::format("Python {}.{}{}", version.substr(0, 1), version.substr(1), is_threaded ? "t" : "");
}

bool LooksFor(const SearchingPython& python, const std::string& platform, const ModuleSuffix& suffix) {
  const std::optional<int> minor = MinorOf(python.version);
  const System system = SystemOfTag(platform);
  const bool is_new = minor && *minor >= kFirstStableThreads;
  const bool is_cpython = python.kind == "cp";
  const bool is_windows = suffix.text.ends_with(".pyd");
  if (system != System::kOther && is_windows != (system == System::kWindows)) return false;
  switch (suffix.kind) {
    case ModuleSuffix::Kind::kPlain:
      return python.kind != "pp";
    case ModuleSuffix::Kind::kStable:
      if (!is_cpython || is_windows || (is_new && python.flags && python.flags->starts_with("t")))
        return false;
      break;
    case ModuleSuffix::Kind::kStableThreads:
      if (!is_cpython || is_windows || !is_new) return false;
      break;
    case ModuleSuffix::Kind::kOwn:
      return suffix.python.kind == python.kind && suffix.python.version == python.version &&
             (!is_cpython || FlagsFit(python, minor.value_or(0), suffix.python.flags)) &&
             PlatformFits(python, platform, suffix);
  }
  return suffix.platform.empty() || (is_new && PlatformFits(python, platform, suffix));
}

std::set<Interpreter> ImportedModule::BuiltFor() const {
  std::set<Interpreter> pythons;
  for (const ModuleSuffix& suffix : suffixes) {
    if (suffix.kind == ModuleSuffix::Kind::kOwn) pythons.insert(suffix.python);
  }
  return pythons;
}

std::string ImportedModule::NameSuffixes() const {
  std::vector<std::string> texts;
  texts.reserve(suffixes.size());
  for (const ModuleSuffix& suffix : suffixes) texts.push_back(suffix.text);
  return fmt::format("has the suffix{} '{}'", texts.size() == 1 ? "" : "es", Join(texts, "', '"));
}

std::string ModuleKey(const std::string& place) {
  return place.substr(0, place.find('.', place.rfind('/') + 1));  // npos + 1 is 0
}

std::map<std::string, ImportedModule> FindImportedModules(const std::map<std::string, std::string>& files) {
  std::map<std::string, ImportedModule> modules;
  std::set<std::string> texts;
  for (const auto& [place, file] : files) {
    if (place.ends_with(".py")) texts.insert(place.substr(0, place.size() - 3));
    auto suffix = ModuleSuffixOf(place);
    if (!suffix) continue;
    // The name ends at the first '.', so all files of one module share an entry. One that fits is enough.
    ImportedModule& module = modules[ModuleKey(place)];
    if (module.file.empty()) module.file = file;
    module.suffixes.push_back(*std::move(suffix));
  }
  for (auto& [key, module] : modules)
    module.has_text = texts.contains(key) || texts.contains(key + "/__init__");
  return modules;
}

const SearchingPython* FirstWithout(const ImportingPythons& importers, const ImportedModule& module,
                                    const SymbolsByPath& symbols) {
  const auto has = [&](const SearchingPython& python) {
    return std::any_of(module.suffixes.begin(), module.suffixes.end(), [&](const ModuleSuffix& suffix) {
      return LooksFor(python, importers.platform, suffix);
    });
  };
  if (module.has_text) return nullptr;
  const auto& pythons = importers.pythons;
  auto without = std::find_if(pythons.begin(), pythons.end(), [&](const SearchingPython& python) {
    return MinorOf(python.version).value_or(0) >= kFirstNamed && !has(python);
  });
  if (without == pythons.end()) without = std::find_if_not(pythons.begin(), pythons.end(), has);
  if (without == pythons.end()) return nullptr;
  const std::set<Interpreter> built_for = module.BuiltFor();
  const bool is_chosen = importers.is_open && built_for.size() > 1 &&
                         std::any_of(built_for.begin(), built_for.end(), [&](const Interpreter& one) {
                           return has({.kind = one.kind, .version = one.version, .flags = one.flags});
                         });
  if (is_chosen) return nullptr;
  const bool is_named =
      std::any_of(module.suffixes.begin(), module.suffixes.end(), [&](const ModuleSuffix& suffix) {
        return suffix.kind != ModuleSuffix::Kind::kPlain && IsOfSystem(suffix, importers.platform);
      });
  const auto own = symbols.find(module.file);
  const bool is_module = is_named || (own != symbols.end() && DefinesItsModule(module.file, own->second));
  return is_module ? &*without : nullptr;
}

bool DefinesItsModule(const std::string& path, const elf::PythonSymbols& symbols) {
  const std::string file = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  const std::vector<std::string> functions = ModuleNameOf(path).functions;
  return symbols.defined.contains("PyInit_" + file.substr(0, file.find('.'))) ||
         std::any_of(functions.begin(), functions.end(),
                     [&](const std::string& function) { return symbols.defined.contains(function); });
}

std::string OnlyExportHook(const std::string& path, const elf::PythonSymbols& symbols) {
  const auto suffix = ModuleSuffixOf(path);
  if (!suffix || suffix->kind == ModuleSuffix::Kind::kOwn) return {};
  const std::vector<std::string> functions = ModuleNameOf(path).functions;
  const bool is_alone = functions.size() == 2 && symbols.defined.contains(functions.front()) &&
                        !symbols.defined.contains(functions.back());
  return is_alone ? functions.front() : std::string();
}

}  // namespace ptpkg::verify
