// Chooses the file name of each bundled library. A hash in the name keeps two wheels in one process from
// sharing a library by accident: ld.so treats libraries of one SONAME as the same one (auditwheel's rule).
// A library that some file opens by dlopen must keep the name in that call, because the call can't be edited.
// So the names among the constants of all files are read first. If the openers agree on one name, the copy
// gets it. If they don't, the repair fails, because two copies would not share their state.
// Order of names: the one that serves all openers, then the SONAME or the needed name, with or without the
// hash as the options say.
// Invariant: names are unique in the wheel, also against its own files.

#include "repair/graft_names.h"

#include <algorithm>
#include <fmt/ranges.h>

#include "elf/read/string_scan.h"
#include "support/text/globs.h"
#include "verify/elf/elf_tables.h"

namespace ptpkg::repair {
namespace {

constexpr std::string_view kLibraryEnding = ".so";

std::string BareName(const std::string& name) {
  const std::size_t at = name.find(kLibraryEnding);
  return at == std::string::npos ? name : name.substr(0, at + kLibraryEnding.size());
}

class GraftNamer {
 public:
  GraftNamer(const GraftContext& context, const GraftOptions& options, std::vector<FoundLibrary>& found)
      : context_(context), options_(options), found_(found) {}

  Result<std::set<std::string>> Run() {
    PTPKG_CHECK(ReadMentions());
    std::map<std::string, const FoundLibrary*> by_name;
    for (FoundLibrary& library : found_) {
      Graft& graft = library.graft;
      PTPKG_TRY(const std::string opened_name, OpenedName(library));
      graft.name = opened_name.empty() ? NameOf(library) : opened_name;
      graft.path = options_.folder + "/" + graft.name;
      const auto [other, fresh] = by_name.emplace(graft.name, &library);
      if (!fresh) return Twice(*other->second, library);
      if (context_.tree.map.nodes().contains(graft.path)) {
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("the wheel already has a file '{}', where '{}' would go", graft.path,
                                 graft.source.str()))
            .WithHint("choose another directory with --lib-folder");
      }
    }
    return std::move(openers_);
  }

 private:
  /// A file that opens the library, and by which of its names.
  struct Opener {
    std::string file;
    std::set<std::string> names;
    bool is_text = false;
  };
  using Openers = std::vector<Opener>;  // texts last

  /// Names among the constants: of the files of the wheel, and of the libraries to be copied.
  Result<void> ReadMentions() {
    const verify::ElfTree& tree = context_.tree;
    for (const verify::ElfMember& member : tree.members) {
      PTPKG_TRY(const auto file, context_.env.fs.Open(tree.root / member.path, OpenMode::kRead));
      PTPKG_TRY(const auto image, elf::ReadImage(*file));
      if (!image) continue;
      PTPKG_TRY(const auto names, elf::ScanLibraryNames(*file, *image),
                fmt::format("while reading '{}'", member.path.str()));
      for (const std::string& name : names) mentions_[name].insert(member.path.str());
    }
    for (const FoundLibrary& library : found_) {
      for (const std::string& name : library.mentions) mentions_[name].insert(library.graft.source.str());
    }
    return Ok();
  }

  /// The one name under which the library has to be found, because somebody opens it by that or asks for
  /// that;
  /// "" if nobody does.
  Result<std::string> OpenedName(FoundLibrary& library) {
    Graft& graft = library.graft;
    std::set<std::string> names = library.asked_for;
    for (const std::string& name : graft.asked) names.insert(FileNameOf(name));
    if (library.soname) names.insert(*library.soname);
    Openers openers = OpenersOf(library, names);
    PTPKG_CHECK(CheckAskedFor(library, openers));
    const Openers by_links = OpenersOf(library, WithLinks(library, names));
    std::string name = NameFor(library, by_links);
    if (!name.empty()) {
      openers = by_links;
    } else {
      name = NameFor(library, openers);
      if (name.empty() && (!openers.empty() || !library.asked_for.empty())) return TwoNames(library, openers);
      WarnOfLinks(library, name.empty() ? NameOf(library) : name, by_links);
    }
    if (name.empty()) return name;
    graft.asked.insert(name);
    for (const Opener& opener : openers) {
      if (graft.opened_by.empty()) graft.opened_by = opener.file;
      if (!opener.is_text) openers_.insert(opener.file);
    }
    return name;
  }

  /// `names`, and the names of links beside the library that lead to it, if some file contains them.
  [[nodiscard]] std::set<std::string> WithLinks(const FoundLibrary& library,
                                                std::set<std::string> names) const {
    const AbsPath& source = library.graft.source;
    const std::string bare = BareName(library.soname.value_or(std::string(source.Name())));
    // The directory is not listed: a link that no file mentions has no effect.
    for (auto at = mentions_.lower_bound(bare); at != mentions_.end() && at->first.starts_with(bare); ++at) {
      if (names.contains(at->first) || at->first.find('/') != std::string::npos) continue;
      const auto place = context_.env.fs.RealPath(source.Parent().str() + "/" + at->first);
      if (place && *place == source) names.insert(at->first);
    }
    return names;
  }

  /// The name that serves all of `openers` and equals the requested one. "" if there is none.
  static std::string NameFor(const FoundLibrary& library, const Openers& openers) {
    std::set<std::string> names = library.asked_for;
    for (const Opener& opener : openers) names.insert(opener.names.begin(), opener.names.end());
    std::vector<std::string> order(names.begin(), names.end());
    // The name that other libraries of the system use is best.
    const auto own = std::find(order.begin(), order.end(), library.soname.value_or(""));
    if (own != order.end()) std::rotate(order.begin(), own, own + 1);
    const auto name = std::find_if(order.begin(), order.end(),
                                   [&](const std::string& one) { return ServesAll(one, library, openers); });
    return name == order.end() ? "" : *name;
  }

  /// `name`: of the copy.
  void WarnOfLinks(const FoundLibrary& library, const std::string& name, const Openers& openers) const {
    for (const Opener& opener : openers) {
      if (opener.names.contains(name)) continue;
      context_.env.reporter.Warn(
          fmt::format("'{}' opens '{}', here a link to '{}', and will not find the copy, which is named '{}'",
                      opener.file, fmt::join(opener.names, "' and '"), library.graft.source.str(), name));
    }
  }

  [[nodiscard]] Openers OpenersOf(const FoundLibrary& library, const std::set<std::string>& names) const {
    std::map<std::string, std::set<std::string>> binaries;
    std::map<std::string, std::set<std::string>> texts;
    for (const std::string& name : names) {
      if (const auto files = mentions_.find(name); files != mentions_.end()) {
        for (const std::string& file : files->second) {
          if (file != library.graft.source.str()) binaries[file].insert(name);
        }
      }
      if (const auto files = options_.opened_by_text.find(name); files != options_.opened_by_text.end()) {
        for (const std::string& file : files->second) texts[file].insert(name);
      }
    }
    Openers openers;
    for (auto& [file, opened] : binaries) openers.push_back({.file = file, .names = std::move(opened)});
    for (auto& [file, opened] : texts)
      openers.push_back({.file = file, .names = std::move(opened), .is_text = true});
    return openers;
  }

  static bool ServesAll(const std::string& name, const FoundLibrary& library, const Openers& openers) {
    if (library.asked_for.size() > 1 || (!library.asked_for.empty() && !library.asked_for.contains(name)))
      return false;
    return std::all_of(openers.begin(), openers.end(),
                       [&](const Opener& opener) { return opener.names.contains(name); });
  }

  /// A requested copy that no file needs or opens would be useless in the wheel.
  static Result<void> CheckAskedFor(const FoundLibrary& library, const Openers& openers) {
    if (library.needed) return Ok();
    for (const std::string& name : library.asked_for) {
      const bool opened = std::any_of(openers.begin(), openers.end(),
                                      [&](const Opener& opener) { return opener.names.contains(name); });
      if (opened) continue;
      return Error(ErrorCode::kInvalidInput,
                   fmt::format(
                       "--graft '{}': no file of the wheel contains that name, so none opens the copy", name))
          .WithHint("give the name that dlopen uses, or remove --graft");
    }
    return Ok();
  }

  /// Two copies of one library in a process would not share what it remembers.
  static Error TwoNames(const FoundLibrary& library, const Openers& openers) {
    std::string lines;
    for (const std::string& name : library.asked_for) lines += fmt::format("\n    '{}', by --graft", name);
    for (const Opener& opener : openers)
      lines += fmt::format("\n    '{}', by '{}'", fmt::join(opener.names, "' or '"), opener.file);
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("cannot bundle '{}': files open it under different names:{}",
                             library.graft.source.str(), lines))
        .WithHint(
            "make all of them open one name and pass it to --graft, or exclude the library with --exclude");
  }

  [[nodiscard]] std::string NameOf(const FoundLibrary& library) const {
    const std::set<std::string>& asked = library.graft.asked;
    // The SONAME is the name that other libraries of the process need, so it is the better one of several.
    const bool by_soname = library.soname && asked.contains(*library.soname);
    std::string plain = FileNameOf(by_soname ? *library.soname : *asked.begin());
    const bool kept = std::any_of(asked.begin(), asked.end(), [&](const std::string& needed) {
      const std::string name = FileNameOf(needed);
      return context_.rules.IsNeverRenamed(name) || MatchesAnyGlob(options_.never_rename, name);
    });
    if (kept || options_.rename == Rename::kNone) return plain;
    if (options_.rename == Rename::kBare) return BareName(plain);
    return HashedName(std::string(library.graft.source.Name()), library.graft.sha256);
  }

  static Error Twice(const FoundLibrary& first, const FoundLibrary& second) {
    return Error(
               ErrorCode::kInvalidInput,
               fmt::format("'{}' (for '{}') and '{}' (for '{}') would both be '{}'", first.graft.source.str(),
                           first.asker, second.graft.source.str(), second.asker, second.graft.path))
        .WithHint("use --rename hash, or exclude one of them with --exclude");
  }

  const GraftContext& context_;
  const GraftOptions& options_;
  std::vector<FoundLibrary>& found_;
  std::map<std::string, std::set<std::string>> mentions_;  // name → files
  std::set<std::string> openers_;
};

}  // namespace

Result<std::set<std::string>> NameGrafts(const GraftContext& context, const GraftOptions& options,
                                         std::vector<FoundLibrary>& found) {
  return GraftNamer(context, options, found).Run();
}

std::string FileNameOf(const std::string& needed) { return needed.substr(needed.rfind('/') + 1); }

std::string HashedName(const std::string& file_name, const Sha256& digest) {
  const std::string mark = "-" + digest.Hex().substr(0, 8);
  const std::size_t dot = file_name.find('.');
  const std::string base = file_name.substr(0, dot);
  if (base.ends_with(mark)) return file_name;
  return base + mark + (dot == std::string::npos ? "" : file_name.substr(dot));
}

}  // namespace ptpkg::repair
