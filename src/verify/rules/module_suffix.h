#pragma once
// Suffixes of extension modules, and the Pythons that look for them. Layer: verify. Sources: PEP 3149, PEP
// 803, configure.ac (SOABI, ALT_SOABI) and Python/dynload_*.c of CPython, module/imp/importing.py of PyPy.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "elf/symbols/python_symbols.h"

namespace ptpkg::verify {

/// One build of Python, by a tag or by a suffix.
struct Interpreter {
  std::string kind;        ///< "cp", "pp", "graalpy"
  std::string version;     ///< "311"
  std::string flags = {};  ///< "t": without the global lock, "d": a debug build, "m": until 3.7.

  auto operator<=>(const Interpreter&) const = default;
};

/// The part of a file name between the name of the module and its end.
struct ModuleSuffix {
  enum class Kind : std::uint8_t {
    kPlain,          ///< ".so", ".pyd"
    kStable,         ///< ".abi3.so"
    kStableThreads,  ///< ".abi3t.so"
    kOwn,            ///< ".cpython-311-x86_64-linux-gnu.so"
  };
  std::string text = {};  ///< With both dots.
  Kind kind = Kind::kPlain;
  Interpreter python = {};    ///< kOwn
  std::string platform = {};  ///< "x86_64-linux-gnu", "darwin", "win_amd64"; "" if it has none.
};

/// nullopt: not the suffix of a module ("x.foo.so", "x.so.1").
std::optional<ModuleSuffix> ModuleSuffixOf(std::string_view path);

/// A Python that looks for modules.
struct SearchingPython {
  std::string kind = "cp";
  std::string version = {};               ///< "311"
  std::optional<std::string> flags = {};  ///< nullopt: any build but a debug build.

  [[nodiscard]] std::string Words() const;  ///< "Python 3.11", "Python 3.13t"
};

/// True if the Python looks for the suffix. `platform`: a platform tag of wheels; with one that is not known
/// here, any platform fits.
bool LooksFor(const SearchingPython& python, const std::string& platform, const ModuleSuffix& suffix);

/// A name that can be imported, whatever files it has.
struct ImportedModule {
  std::string file = {};  ///< The first of its libraries.
  std::vector<ModuleSuffix> suffixes = {};
  bool has_text = false;  ///< "x.py" or "x/__init__.py".

  /// The Pythons whose own suffix some file has.
  [[nodiscard]] std::set<Interpreter> BuiltFor() const;
  /// "has the suffix '.cpython-311-darwin.so'"
  [[nodiscard]] std::string NameSuffixes() const;
};

/// The modules that have a library, by directory and name ("pkg/x"). `files`: the place of each file → the
/// file that messages name.
std::map<std::string, ImportedModule> FindImportedModules(const std::map<std::string, std::string>& files);

/// The key of the module at `place` in FindImportedModules.
std::string ModuleKey(const std::string& place);

/// Files with symbols of Python, by path.
using SymbolsByPath = std::map<std::string, elf::PythonSymbols>;

/// The Pythons that get some files.
struct ImportingPythons {
  std::string platform = {};  ///< As LooksFor takes it.
  bool is_open = false;       ///< Not one Python: files for several are what their maker chose.
  std::vector<SearchingPython> pythons = {};
};

/// The first Python that cannot import the module, from 3.8 on if there is one; null if all can. Null too for
/// a plain library without the function of a module, and for files of another system that are not known to be
/// modules.
const SearchingPython* FirstWithout(const ImportingPythons& importers, const ImportedModule& module,
                                    const SymbolsByPath& symbols);

/// True if the file defines a function of its module (ModuleNameOf): libraries that hold an interpreter
/// define functions of other modules.
bool DefinesItsModule(const std::string& path, const elf::PythonSymbols& symbols);

/// "PyModExport_x" if the file has that function alone, for which Pythons before kFirstModuleExport do not
/// look (PEP 793); "" for others, and for a suffix of one Python, which elf-module-init checks.
std::string OnlyExportHook(const std::string& path, const elf::PythonSymbols& symbols);

}  // namespace ptpkg::verify
