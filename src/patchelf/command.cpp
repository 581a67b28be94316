// Command line of patchelf, so that build systems that call patchelf get ptpkg's ELF editor without a change.
// Scripts depend on details, which are kept: the words of messages (kWordings), "execstack:", exit code 1,
// the precedence of actions on the search path, and 'X' over erased strings. Options without effect in ptpkg
// are accepted, and those that ptpkg lacks fail only when a file is to be edited, after the file itself was
// checked.
// An empty name of a library or interpreter is an error, because no loader can open it. Only a search path
// can be empty.

#include "patchelf/command.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fmt/core.h>
#include <functional>
#include <map>
#include <system_error>

#include "patchelf/patch_file.h"
#include "support/text/text.h"

namespace ptpkg::patchelf {
namespace {

using elf::PathAction;

// A closed pipe is a failure that patchelf does not look for either.
void PrintTo(std::FILE* stream, std::string_view text) {
  const std::string line = fmt::format("{}\n", text);
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), stream));
}
void PrintResult(std::string_view line) { PrintTo(stdout, line); }
void PrintLog(std::string_view line) { PrintTo(stderr, line); }

// A name or a search path is far shorter. A wrong @FILE must not be read into memory whole.
constexpr std::uint64_t kMaxArgumentBytes = 1U << 20U;
constexpr std::string_view kNoHeader = "missing ELF header";

constexpr std::string_view kHelp = R"(syntax: patchelf
  [--set-interpreter FILENAME]
  [--print-interpreter]
  [--print-soname]
  [--set-soname SONAME]
  [--set-rpath RPATH]
  [--add-rpath RPATH]
  [--remove-rpath]
  [--shrink-rpath]
  [--allowed-rpath-prefixes PREFIXES]   with --shrink-rpath: drop absolute entries that begin otherwise
  [--print-rpath]
  [--force-rpath]                       write DT_RPATH instead of DT_RUNPATH
  [--add-needed LIBRARY]
  [--remove-needed LIBRARY]
  [--replace-needed LIBRARY NEW_LIBRARY]
  [--print-needed]
  [--no-default-lib]
  [--add-debug-tag]
  [--print-execstack]
  [--clear-execstack]
  [--set-execstack]
  [--page-size SIZE] [--no-sort] [--no-clobber-old-sections]   accepted, without effect
  [--output FILE]
  [--debug]
  [--version]
  FILENAME...

A value @FILE stands for the content of FILE. This is the patchelf command line of ptpkg.)";

/// Walks the words; each option's handler takes its values from here.
class Parser {
 public:
  Parser(Fs& fs, const AbsPath& cwd, const std::vector<std::string>& words)
      : fs_(fs), cwd_(cwd), words_(words) {}

  // Words take effect in their order. --help and --version end the parsing; later words are not even checked.
  Result<PatchelfCommand> Run() {
    while (next_ < words_.size()) {
      const std::string& word = words_[next_++];
      const auto handler = Handlers().find(word);
      if (handler == Handlers().end()) {
        command_.files.push_back(word);
      } else {
        option_ = word;
        PTPKG_CHECK(handler->second(*this));
      }
      if (command_.help || command_.version) return std::move(command_);
    }
    PTPKG_CHECK(CheckCombination());
    return std::move(command_);
  }

 private:
  using Handler = std::function<Result<void>(Parser&)>;

  static Handler Flag(bool PatchelfCommand::*member) {
    return [member](Parser& parser) {
      parser.command_.*member = true;
      return Ok();
    };
  }

  static Handler Flag(bool elf::EditRequest::*member) {
    return [member](Parser& parser) {
      parser.command_.edits.*member = true;
      return Ok();
    };
  }

  static Handler Text(std::optional<std::string> elf::EditRequest::*member) {
    return [member](Parser& parser) -> Result<void> {
      PTPKG_TRY(parser.command_.edits.*member, parser.Name());
      return Ok();
    };
  }

  static Handler List(std::vector<std::string> elf::EditRequest::*member) {
    return [member](Parser& parser) -> Result<void> {
      PTPKG_TRY(std::string value, parser.Name());
      (parser.command_.edits.*member).push_back(std::move(value));
      return Ok();
    };
  }

  static Handler Path(PathAction action, bool has_text) {
    return [action, has_text](Parser& parser) -> Result<void> {
      elf::EditRequest& edits = parser.command_.edits;
      if (has_text) {
        PTPKG_TRY(edits.path_text, parser.Value());
        // Not in path_action, which a later action replaces.
        (action == PathAction::kSet ? parser.sets_path_ : parser.adds_path_) = true;
        if (parser.sets_path_ && parser.adds_path_) {
          return Error(ErrorCode::kUsage, "--set-rpath option not allowed with --add-rpath");
        }
      }
      // patchelf's own precedence: shrink, remove, set, add.
      if (Rank(action) >= Rank(edits.path_action)) edits.path_action = action;
      return Ok();
    };
  }

  static int Rank(PathAction action) {
    switch (action) {
      case PathAction::kKeep:
        return 0;
      case PathAction::kAdd:
        return 1;
      case PathAction::kSet:
        return 2;
      case PathAction::kRemove:
        return 3;
      case PathAction::kShrink:
        return 4;
    }
    return 0;
  }

  static Handler Stack(bool executable) {
    return [executable](Parser& parser) {
      // Clearing wins when both options are given.
      std::optional<bool>& stack = parser.command_.edits.executable_stack;
      if (stack != false) stack = executable;
      return Ok();
    };
  }

  static Handler Unsupported(const std::string& option, bool has_value) {
    return [option, has_value](Parser& parser) -> Result<void> {
      if (has_value) {
        PTPKG_TRY(const std::string value, parser.Value());
      }
      parser.command_.unsupported = option;
      return Ok();
    };
  }

  static const std::map<std::string, Handler, std::less<>>& Handlers() {
    static const std::map<std::string, Handler, std::less<>> kHandlers = {
        {"--help", Flag(&PatchelfCommand::help)},
        {"-h", Flag(&PatchelfCommand::help)},
        {"--version", Flag(&PatchelfCommand::version)},
        {"--debug", Flag(&PatchelfCommand::debug)},
        {"--print-interpreter", Flag(&PatchelfCommand::print_interpreter)},
        {"--print-soname", Flag(&PatchelfCommand::print_soname)},
        {"--print-rpath", Flag(&PatchelfCommand::print_search_path)},
        {"--print-needed", Flag(&PatchelfCommand::print_needed)},
        {"--print-execstack", Flag(&PatchelfCommand::print_executable_stack)},
        {"--set-interpreter", Text(&elf::EditRequest::interpreter)},
        {"--interpreter", Text(&elf::EditRequest::interpreter)},
        {"--set-soname", Text(&elf::EditRequest::soname)},
        {"--set-rpath", Path(PathAction::kSet, true)},
        {"--add-rpath", Path(PathAction::kAdd, true)},
        {"--remove-rpath", Path(PathAction::kRemove, false)},
        {"--shrink-rpath", Path(PathAction::kShrink, false)},
        {"--allowed-rpath-prefixes", [](Parser& parser) { return parser.TakePrefixes(); }},
        {"--force-rpath", Flag(&elf::EditRequest::rpath_tag)},
        {"--add-needed", List(&elf::EditRequest::add_needed)},
        {"--remove-needed", List(&elf::EditRequest::remove_needed)},
        {"--replace-needed", [](Parser& parser) { return parser.TakeReplacement(); }},
        {"--clear-execstack", Stack(false)},
        {"--set-execstack", Stack(true)},
        {"--no-default-lib", Flag(&elf::EditRequest::no_default_libraries)},
        {"--add-debug-tag", Flag(&elf::EditRequest::add_debug_entry)},
        {"--output", [](Parser& parser) { return parser.TakeOutput(); }},
        {"--page-size", [](Parser& parser) { return parser.TakePageSize(); }},
        {"--no-sort", [](Parser&) { return Ok(); }},
        {"--no-clobber-old-sections", [](Parser&) { return Ok(); }},
        {"--clear-symbol-version", Unsupported("--clear-symbol-version", true)},
        {"--rename-dynamic-symbols", Unsupported("--rename-dynamic-symbols", true)},
        {"--set-os-abi", Unsupported("--set-os-abi", true)},
        {"--print-os-abi", Unsupported("--print-os-abi", false)},
        {"--build-resolution-cache", Unsupported("--build-resolution-cache", false)},
    };
    return kHandlers;
  }

  /// The next word as written.
  Result<std::string> Word() {
    if (next_ == words_.size()) return Error(ErrorCode::kUsage, "missing argument");
    return words_[next_++];
  }

  /// The next word, or the content of the file that it names with '@'.
  Result<std::string> Value() {
    PTPKG_TRY(std::string word, Word());
    if (!word.starts_with('@')) return word;
    PTPKG_TRY(const AbsPath path, AbsPath::Resolve(cwd_, std::string_view(word).substr(1)));
    auto text = ReadFile(fs_, path, kMaxArgumentBytes);
    if (text) return *std::move(text);
    const ErrorCode code = text.error().code();
    return Error(code, fmt::format("getting info about '{}': {}", word.substr(1), text.error().message()));
  }

  [[nodiscard]] Error Empty() const {
    return Error(ErrorCode::kUsage, fmt::format("the value of {} is empty", option_));
  }

  /// A value that names something: no loader opens a library "". Only a search path can be empty.
  Result<std::string> Name() {
    PTPKG_TRY(std::string value, Value());
    if (value.empty()) return Empty();
    return value;
  }

  Result<void> TakePrefixes() {
    PTPKG_TRY(const std::string word, Word());
    command_.edits.allowed_prefixes = Split(word, ':');
    return Ok();
  }

  Result<void> TakeReplacement() {
    if (words_.size() - next_ < 2) return Error(ErrorCode::kUsage, "missing argument(s)");
    if (words_[next_].empty() || words_[next_ + 1].empty()) return Empty();
    command_.edits.replace_needed.emplace_back(words_[next_], words_[next_ + 1]);
    next_ += 2;
    return Ok();
  }

  Result<void> TakeOutput() {
    PTPKG_TRY(const std::string value, Name());
    const std::string_view last = std::string_view(value).substr(value.rfind('/') + 1);
    // Without the '/', a file would get the name of the directory.
    if (last.empty() || last == "." || last == "..")
      return ErrnoError(EISDIR, fmt::format("cannot write '{}'", value));
    PTPKG_TRY(command_.output, AbsPath::Resolve(cwd_, value));
    return Ok();
  }

  Result<void> TakePageSize() {
    PTPKG_TRY(const std::string word, Word());
    // The value has no effect, but a wrong one is refused in patchelf's words.
    const bool digits = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || word.find_first_not_of('0') == std::string::npos) {
      return Error(ErrorCode::kUsage, "invalid argument to --page-size");
    }
    return Ok();
  }

  Result<void> CheckCombination() const {
    if (command_.files.empty()) return Error(ErrorCode::kUsage, "missing filename");
    if (command_.output && command_.files.size() != 1) {
      return Error(ErrorCode::kUsage, "--output option only allowed with single input file");
    }
    return Ok();
  }

  Fs& fs_;
  const AbsPath& cwd_;
  const std::vector<std::string>& words_;
  std::size_t next_ = 0;
  std::string option_;  // the option whose value is read
  bool sets_path_ = false;
  bool adds_path_ = false;
  PatchelfCommand command_;
};

/// patchelf's words in place of `ours` in a message; scripts look for these words.
struct Wording {
  std::string_view ours;
  std::string_view patchelf;
  bool is_all = false;  ///< Our own message adds nothing.
};

// The first row whose `ours` occurs in the message decides. tests/peers/elf/patchelf_cli.py compares the
// result with patchelf.
constexpr std::array<Wording, 6> kWordings = {{
    {"is not an ELF file", "not an ELF executable", true},
    {"the ELF header is truncated", kNoHeader, true},
    {"the program header table needs", "program header table out of bounds"},
    {"section headers of", "section headers have wrong size"},
    {"of a string table of", "string table index out of bounds"},
    {"not closed by DT_NULL", "setSubstr: write extends past end of section"},
}};

Error Reworded(const Error& error) {
  const auto wording = std::find_if(kWordings.begin(), kWordings.end(), [&](const Wording& candidate) {
    return error.message().find(candidate.ours) != std::string::npos;
  });
  if (wording == kWordings.end()) return error;
  if (wording->is_all) return Error(error.code(), std::string(wording->patchelf));
  return Error(error.code(), fmt::format("{}: {}", wording->patchelf, error.message()));
}

/// "what 'name': text of the errno", as patchelf tells about system calls.
Error SystemError(const Error& error, std::string_view what, std::string_view name) {
  if (error.sys_errno() == 0) return Reworded(error);
  return Error(error.code(),
               fmt::format("{} '{}': {}", what, name, std::generic_category().message(error.sys_errno())));
}

/// Refuses anything but a file that is long enough for ELF.
Result<void> CheckFile(const FileStat& stat, std::string_view name) {
  constexpr std::uint64_t kSmallestHeader = 52;  // of a 32-bit file
  if (stat.kind == FileKind::kDirectory) {
    return Error(ErrorCode::kInvalidInput, fmt::format("reading '{}': Is a directory", name));
  }
  if (stat.kind != FileKind::kRegular || stat.size_bytes < kSmallestHeader)
    return Error(ErrorCode::kUnsupported, std::string(kNoHeader));
  return Ok();
}

/// Refuses the same as patchelf: files that are not linked, and options about an absent section.
Result<void> CheckSections(const PatchelfCommand& command, const ElfSummary& summary) {
  const auto missing = [](std::string_view section) {
    return Error(
        ErrorCode::kUnsupported,
        fmt::format("cannot find section '{}'. The input file is most likely statically linked", section));
  };
  if (!summary.is_linked) return Error(ErrorCode::kUnsupported, "wrong ELF type");
  const elf::EditRequest& edits = command.edits;
  const bool wants_interpreter = command.print_interpreter || edits.interpreter;
  if (wants_interpreter && !summary.interpreter) return missing(".interp");
  const bool wants_dynamic = command.print_search_path || command.print_needed ||
                             edits.path_action != PathAction::kKeep || !edits.add_needed.empty() ||
                             !edits.remove_needed.empty() || !edits.replace_needed.empty() ||
                             edits.no_default_libraries || edits.add_debug_entry;
  if (wants_dynamic && !summary.declares_dynamic) return missing(".dynamic");
  return Ok();
}

void Print(const PatchelfCommand& command, const ElfSummary& summary) {
  if (command.print_interpreter) PrintResult(summary.interpreter.value_or(""));
  if (command.print_soname && summary.is_library && summary.soname && !summary.soname->empty()) {
    PrintResult(*summary.soname);
  }
  if (command.print_search_path && summary.has_dynamic) PrintResult(summary.search_path.value_or(""));
  if (command.print_executable_stack) PrintResult(fmt::format("execstack: {}", summary.executable_stack));
  if (command.print_needed) {
    for (const std::string& name : summary.needed) PrintResult(name);
  }
}

Result<void> PatchOne(Fs& fs, const AbsPath& cwd, const PatchelfCommand& command, const std::string& name) {
  // patchelf writes through a symlink, so the file that it leads to is edited.
  const auto file = fs.RealPath(name.starts_with('/') ? name : fmt::format("{}/{}", cwd.str(), name));
  // A pipe behind /dev/stdin has no path, but it can be looked at.
  const auto given = AbsPath::Resolve(cwd, name);
  if (!file && given) {
    if (const auto stat = fs.Stat(*given)) PTPKG_CHECK(CheckFile(*stat, name));
  }
  if (!file) return SystemError(file.error(), "getting info about", name);
  PTPKG_TRY(const FileStat stat, fs.Stat(*file));
  PTPKG_CHECK(CheckFile(stat, name));
  const auto summary = SummarizeElf(fs, *file);
  if (!summary) return SystemError(summary.error(), "opening", name);
  for (const std::string& warning : summary->warnings) PrintLog(fmt::format("warning: {}", warning));
  PTPKG_CHECK(CheckSections(command, *summary));
  // Refused this late because scripts look for patchelf's messages about the file, which come first.
  if (!command.unsupported.empty()) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{} is not supported by ptpkg's patchelf", command.unsupported));
  }
  // Printed before the edit: --print-rpath next to --set-rpath shows the old path.
  Print(command, *summary);
  elf::EditRequest edits = command.edits;
  edits.blank = 'X';  // scripts that look for leftovers expect it
  // patchelf moves program headers without asking. A warning replaces the refusal.
  edits.allow_strip_hazard = true;
  auto patched = PatchElf(fs, {.file = *file, .output = command.output, .edits = std::move(edits)});
  if (!patched) return Reworded(patched.error());
  if (*patched) {
    PrintLog(fmt::format(
        "warning: '{}' must not be stripped any more: its program headers were moved to the end", name));
  }
  return Ok();
}

}  // namespace

Result<PatchelfCommand> ParsePatchelf(Fs& fs, const AbsPath& cwd, const std::vector<std::string>& words) {
  return Parser(fs, cwd, words).Run();
}

int RunPatchelf(Fs& fs, const AbsPath& cwd, const std::vector<std::string>& words) {
  if (words.empty()) {
    PrintLog(kHelp);
    return 1;
  }
  const auto command = ParsePatchelf(fs, cwd, words);
  if (!command) {
    PrintLog(fmt::format("patchelf: {}", command.error().message()));
    return 1;
  }
  if (command->help) {
    PrintLog(kHelp);
    return 0;
  }
  if (command->version) {
    PrintResult(fmt::format("patchelf {}", kPatchelfVersion));
    return 0;
  }
  // Each file is a transaction of its own: files before a failing one stay edited.
  for (const std::string& file : command->files) {
    if (command->debug) PrintLog(fmt::format("patching ELF file '{}'", file));
    if (const auto done = PatchOne(fs, cwd, *command, file); !done) {
      PrintLog(fmt::format("patchelf: {}", done.error().message()));
      return 1;
    }
  }
  return 0;
}

}  // namespace ptpkg::patchelf
