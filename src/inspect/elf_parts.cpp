// Reads the content of an ELF file as digests by kind of section, and compares two such contents.
//
// Tables of names and offsets, such as .dynamic and .dynstr, do not count by their bytes: a longer search
// path moves bytes in all of them. Their meaning is compared instead. Embedded paths are collected on the
// way, from read-only data and debug sections.
//
// Sections that overlap could make a small file read for hours, so files whose sections sum up to more than
// the file are not read.

#include "inspect/elf_parts.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "inspect/unless_damaged.h"

namespace ptpkg::inspect {
namespace {

constexpr std::size_t kPieceBytes = 1U << 20U;
constexpr std::size_t kShortestPath = 6;
constexpr std::size_t kLongestPath = 1024;
constexpr std::size_t kMostPathBytes = 4U << 20U;
constexpr std::size_t kMostTexts = 1000;

/// Tables of names and offsets are compared by their meaning: an entry of a search path moves bytes in all
/// of them.
bool CountsByMeaning(const elf::NamedSection& section) {
  switch (section.type) {
    case elf::kSectionDynamic:
    case elf::kSectionDynsym:
    case elf::kSectionGnuVerneed:
    case elf::kSectionGnuVerdef:
      return true;
    case elf::kSectionStrtab:
      return section.name != ".strtab";
    default:
      return section.name == ".note.gnu.build-id";
  }
}

/// Collects strings that begin with '/' and are a path of several parts, as bytes pass by.
class PathCollector {
 public:
  void Take(Bytes bytes) {
    for (const char byte : AsText(bytes)) Take(byte);
  }
  void EndSection() { Take('\0'); }

  [[nodiscard]] std::vector<std::string> Paths() const { return {paths_.begin(), paths_.end()}; }

 private:
  void Take(char byte) {
    const bool printable = byte >= ' ' && byte <= '~';
    if (printable) {
      if (at_begin_) inside_ = byte == '/';
      at_begin_ = false;
      if (inside_ && text_.size() < kLongestPath) text_ += byte;
      return;
    }
    if (inside_) Keep();
    at_begin_ = true;
    inside_ = false;
  }

  void Keep() {
    const bool path = text_.size() >= kShortestPath && text_.find('/', 1) != std::string::npos &&
                      text_.find(' ') == std::string::npos && text_[1] != '/';
    if (path && path_bytes_ < kMostPathBytes && paths_.insert(text_).second) path_bytes_ += text_.size();
    text_.clear();
  }

  std::set<std::string> paths_;
  std::size_t path_bytes_ = 0;
  std::string text_;
  bool at_begin_ = true;
  bool inside_ = false;
};

Result<void> HashSection(File& file, const elf::NamedSection& section, HashingSink& hash,
                         PathCollector* paths) {
  PTPKG_CHECK(hash.Write(AsBytes(section.name)));
  PTPKG_CHECK(hash.Write(AsBytes(std::string_view("\0", 1))));
  std::vector<std::byte> buffer(std::min<std::uint64_t>(kPieceBytes, section.size_bytes));
  for (std::uint64_t done = 0; done < section.size_bytes;) {
    const std::uint64_t most = std::min<std::uint64_t>(buffer.size(), section.size_bytes - done);
    PTPKG_TRY(const std::size_t got,
              file.ReadAt(section.offset + done, MutableBytes(buffer).first(static_cast<std::size_t>(most))));
    if (got == 0) return Error(ErrorCode::kCorrupt, "the file ends inside of a section");
    const Bytes piece = Bytes(buffer).first(got);
    PTPKG_CHECK(hash.Write(piece));
    if (paths != nullptr) paths->Take(piece);
    done += got;
  }
  if (paths != nullptr) paths->EndSection();
  return Ok();
}

Result<Sha256> HashKind(File& file, elf::SectionKind kind, ElfContent& content, PathCollector& paths) {
  HashingSink hash(nullptr);
  for (const elf::NamedSection& section : content.facts.sections) {
    if (section.kind != kind || CountsByMeaning(section)) continue;
    const bool strings = kind == elf::SectionKind::kReadOnlyData || kind == elf::SectionKind::kDebug;
    PTPKG_CHECK(HashSection(file, section, hash, strings ? &paths : nullptr));
  }
  if (kind == elf::SectionKind::kSymbols) {
    PTPKG_TRY(content.symbols, HashDynamicSymbols(file, hash));
  }
  return hash.Finish().sha256;
}

/// Sections that overlap would be read again and again.
void RefuseOverlaps(ElfFacts& facts) {
  std::uint64_t sum = 0;
  for (const elf::NamedSection& section : facts.sections) sum += section.size_bytes;
  if (sum <= facts.size_bytes) return;
  facts.damage.sections =
      fmt::format("the sections overlap: they have {} bytes, the file {}", sum, facts.size_bytes);
  facts.sections.clear();
}

std::vector<std::string> EntriesOf(const std::optional<elf::SearchPath>& path) {
  if (!path) return {};
  return {path->tag == elf::PathTag::kRpath ? "RPATH" : "RUNPATH", path->text};
}

std::vector<std::string> OneOrNone(const std::optional<std::string>& text) {
  return text ? std::vector<std::string>{*text} : std::vector<std::string>();
}

void AddTexts(std::string_view part, std::vector<std::string> before, std::vector<std::string> after,
              std::vector<ElfPart>& parts) {
  if (before == after) return;
  parts.push_back({.part = std::string(part), .old_texts = std::move(before), .new_texts = std::move(after)});
}

/// The texts that only `some` has; `more`: how many there are beyond kMostTexts.
std::vector<std::string> OnlyIn(const std::vector<std::string>& some, const std::vector<std::string>& others,
                                std::size_t& more) {
  std::vector<std::string> only;
  std::set_difference(some.begin(), some.end(), others.begin(), others.end(), std::back_inserter(only));
  more = only.size() - std::min(only.size(), kMostTexts);
  only.resize(only.size() - more);
  return only;
}

/// Two sorted lists.
void AddDifference(std::string_view part, const std::vector<std::string>& before,
                   const std::vector<std::string>& after, std::vector<ElfPart>& parts) {
  ElfPart difference{.part = std::string(part)};
  difference.old_texts = OnlyIn(before, after, difference.old_more);
  difference.new_texts = OnlyIn(after, before, difference.new_more);
  if (*difference.old_texts != *difference.new_texts) parts.push_back(std::move(difference));
}

void CompareLinks(const elf::LinkFacts& before, const elf::LinkFacts& after, std::vector<ElfPart>& parts) {
  AddTexts("search path", EntriesOf(before.Effective()), EntriesOf(after.Effective()), parts);
  AddTexts("needed", before.needed, after.needed, parts);
  AddTexts("soname", OneOrNone(before.soname), OneOrNone(after.soname), parts);
  AddTexts("interpreter", OneOrNone(before.interpreter), OneOrNone(after.interpreter), parts);
}

void CompareHeaders(const ElfFacts& before, const ElfFacts& after, std::vector<ElfPart>& parts) {
  const auto both = [&](std::string ElfDamage::*part) {
    return (before.damage.*part).empty() && (after.damage.*part).empty();
  };
  if (both(&ElfDamage::links)) {
    CompareLinks(before.links, after.links, parts);
    AddDifference("dynamic", before.dynamic, after.dynamic, parts);
  }
  if (both(&ElfDamage::notes)) {
    AddTexts("build id", OneOrNone(before.build_id), OneOrNone(after.build_id), parts);
  }
}

}  // namespace

Result<std::optional<ElfContent>> ReadElfContent(File& file) {
  PTPKG_TRY(std::optional<ElfFacts> facts, ReadElfFacts(file));
  if (!facts) return std::optional<ElfContent>();
  RefuseOverlaps(*facts);
  ElfContent content{.facts = *std::move(facts)};
  if (!content.facts.damage.sections.empty()) return std::optional(std::move(content));
  for (const elf::NamedSection& section : content.facts.sections) {
    content.kinds.at(static_cast<std::size_t>(section.kind)).size_bytes += section.size_bytes;
  }
  PathCollector paths;
  for (std::size_t i = 0; i < elf::kSectionKinds; ++i) {
    const auto kind = static_cast<elf::SectionKind>(i);
    PTPKG_TRY(content.kinds.at(i).digest,
              UnlessDamaged(HashKind(file, kind, content, paths), content.facts.damage.sections));
  }
  content.paths = paths.Paths();
  return std::optional(std::move(content));
}

std::vector<ElfPart> CompareElfContents(const ElfContent& before, const ElfContent& after) {
  std::vector<ElfPart> parts;
  for (std::size_t kind = 0; kind < elf::kSectionKinds; ++kind) {
    const KindContent& old_content = before.kinds.at(kind);
    const KindContent& new_content = after.kinds.at(kind);
    // A kind that could not be read on one side is not a difference.
    if (!old_content.digest || !new_content.digest || *old_content.digest == *new_content.digest) continue;
    parts.push_back({.part = std::string(elf::SectionKindName(static_cast<elf::SectionKind>(kind))),
                     .old_bytes = old_content.size_bytes,
                     .new_bytes = new_content.size_bytes});
  }
  CompareHeaders(before.facts, after.facts, parts);
  if (before.facts.damage.sections.empty() && after.facts.damage.sections.empty()) {
    AddDifference("embedded paths", before.paths, after.paths, parts);
    if (before.symbols.complete && after.symbols.complete) {
      AddDifference("exported symbols", before.symbols.exported, after.symbols.exported, parts);
      AddDifference("needed symbols", before.symbols.needed, after.symbols.needed, parts);
    }
  }
  const std::vector<std::string> old_damage = before.facts.damage.Texts();
  const std::vector<std::string> new_damage = after.facts.damage.Texts();
  if (!old_damage.empty() || !new_damage.empty()) {
    parts.push_back({.part = "unreadable", .old_texts = old_damage, .new_texts = new_damage});
  }
  // The files differ, and everything else was equal.
  if (parts.empty()) parts.push_back({.part = "headers"});
  return parts;
}

}  // namespace ptpkg::inspect
