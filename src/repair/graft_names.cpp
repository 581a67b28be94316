#include "repair/graft_names.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/string_scan.h"
#include "verify/elf_tables.h"

namespace ptpkg::repair {
namespace {

constexpr std::string_view kLibraryEnding = ".so";

std::string BareName(const std::string& name) {
  const std::size_t at = name.find(kLibraryEnding);
  return at == std::string::npos ? name : name.substr(0, at + kLibraryEnding.size());
}

/// The last component of a NEEDED, which may be a path.
std::string FileNameOf(const std::string& needed) { return needed.substr(needed.rfind('/') + 1); }

class GraftNamer {
 public:
  GraftNamer(const GraftContext& context, const GraftOptions& options, std::vector<FoundLibrary>& found)
      : context_(context), options_(options), found_(found) {}

  Result<std::set<std::string>> Run() {
    PTPKG_CHECK(ReadMentions());
    std::map<std::string, const FoundLibrary*> by_name;
    for (FoundLibrary& library : found_) {
      const std::string opened_name = NoteOpeners(library);
      PTPKG_CHECK(CheckAskedFor(library));
      Graft& graft = library.graft;
      graft.name = opened_name.empty() ? NameOf(library) : opened_name;
      graft.path = options_.folder + "/" + graft.name;
      const auto [other, fresh] = by_name.emplace(graft.name, &library);
      if (!fresh) return Twice(*other->second, library);
      if (context_.tree.map.nodes().contains(graft.path)) {
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("the wheel has a file '{}' already, and '{}' would be put there", graft.path,
                                 graft.source.str()))
            .WithHint("choose another folder with --lib-folder");
      }
    }
    return std::move(openers_);
  }

 private:
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

  /// The name by which somebody opens the library, under which it has to be found then; "" if nobody does.
  std::string NoteOpeners(FoundLibrary& library) {
    Graft& graft = library.graft;
    std::string opened_name;
    std::set<std::string> names = graft.asked;
    if (library.soname) names.insert(*library.soname);
    for (const std::string& name : names) {
      const auto files = mentions_.find(name);
      if (files == mentions_.end()) continue;
      for (const std::string& file : files->second) {
        if (file == graft.source.str()) continue;
        graft.opened_by = file;
        graft.asked.insert(name);
        openers_.insert(file);
        if (opened_name.empty()) opened_name = name;
      }
    }
    return opened_name;
  }

  /// A copy that was asked for, and that no file needs or opens, would lie in the wheel for nobody.
  Result<void> CheckAskedFor(FoundLibrary& library) const {
    if (!library.asked_for || !library.graft.opened_by.empty()) return Ok();
    const auto text = options_.opened_by_text.find(*library.asked_for);
    if (text != options_.opened_by_text.end()) library.graft.opened_by = text->second;
    if (library.needed || text != options_.opened_by_text.end()) return Ok();
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("--graft '{}': no file of the wheel has that name in it, so none opens the copy",
                             *library.asked_for))
        .WithHint("give the name by which it is opened, or leave --graft out");
  }

  [[nodiscard]] std::string NameOf(const FoundLibrary& library) const {
    const std::set<std::string>& asked = library.graft.asked;
    const bool by_soname = library.soname && asked.contains(*library.soname);
    std::string plain = FileNameOf(by_soname ? *library.soname : *asked.begin());
    const bool kept =
        library.asked_for || std::any_of(asked.begin(), asked.end(), [&](const auto& name) {
          return context_.rules.IsNeverRenamed(name) || verify::MatchesAny(options_.never_rename, name);
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
        .WithHint("--rename hash tells them apart; --exclude leaves one of them out");
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

std::string HashedName(const std::string& file_name, const Sha256& digest) {
  const std::string mark = "-" + digest.Hex().substr(0, 8);
  const std::size_t dot = file_name.find('.');
  const std::string base = file_name.substr(0, dot);
  if (base.ends_with(mark)) return file_name;
  return base + mark + (dot == std::string::npos ? "" : file_name.substr(dot));
}

}  // namespace ptpkg::repair
