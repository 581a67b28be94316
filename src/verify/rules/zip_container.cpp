// Inflating is the expensive part of a check, so each member is inflated once. LookAt takes everything from
// the content while it is there: digest, first bytes, ELF facts, build paths. Some content is known
// beforehand (KnownContent). A member with the same stored bytes as in another zip takes over the facts
// without inflating. A member that equals a file on disk is inflated in pieces, not as a whole. An error of
// one member is kept with its facts. The first one in the order of members is reported, whichever thread was
// first.

#include "verify/rules/zip_container.h"

#include <algorithm>
#include <optional>

#include "archive/zip/zip_strict.h"
#include "support/text/text.h"
#include "verify/rules/build_path_checks.h"
#include "verify/unreadable.h"

namespace ptpkg::verify {
namespace {

// Texts up to here need not be inflated a second time; a file's header always fits.
constexpr std::size_t kHeadBytes = 512;

Result<void> LookAt(const archive::PassedMember& passed, const TreeEntry& entry, const ZipReading& reading,
                    MemberFacts& facts) {
  if (entry.kind == FileKind::kSymlink) {
    SearchLinkTarget(entry, reading.paths, facts.build_paths);
    return Ok();
  }
  facts.sha256 = passed.sha256;
  facts.head.resize(std::min<std::uint64_t>(kHeadBytes, passed.member.size_bytes));
  PTPKG_TRY([[maybe_unused]] const std::size_t got,
            passed.content.ReadAt(0, std::as_writable_bytes(std::span(facts.head))));
  // Before the ELF facts: the caller wants each file, whatever kind it is.
  if (reading.on_file) PTPKG_CHECK(reading.on_file(entry.path, passed.content));
  PTPKG_TRY(facts.elf, ReadElfFacts(passed.content, entry.path, reading.opened));
  return SearchBuildPaths(passed.content, entry, reading.paths, facts.build_paths);
}

/// `path` below `top`; "" leaves it as it is. REQUIRES: it lies there.
std::string BelowTop(const std::string& path, const std::string& top) {
  return top.empty() ? path : path.substr(top.size() + 1);
}

Severity ContainerSeverity(const archive::ZipProblem& problem, const ContainerRule& rule) {
  // Two people would get different files from one archive. No target can allow that.
  if (problem.splits_readers) return Severity::kError;
  if (rule.is_streamed && problem.has_descriptor) return Severity::kError;
  if (!rule.targets) return rule.where_readers_agree;
  return problem.refused_by.Intersects(*rule.targets) ? Severity::kError : Severity::kWarning;
}

}  // namespace

Result<void> CheckZipContainer(Env& env, const AbsPath& zip, const ContainerRule& rule,
                               std::vector<Finding>& findings) {
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(zip, OpenMode::kRead));
  PTPKG_TRY(const std::vector<archive::ZipProblem> problems, archive::StrictZipProblems(*file));
  for (const archive::ZipProblem& problem : problems) {
    findings.push_back({std::string(rule.id), ContainerSeverity(problem, rule), "",
                        ReplaceAll(problem.text, "'the file'", "'" + zip.str() + "'"),
                        std::string(rule.fix)});
  }
  return Ok();
}

ZipScan::ZipScan(archive::ZipMembers read) : members(std::move(read)), facts(members.members().size()) {
  for (std::size_t i = 0; i < facts.size(); ++i) by_path.emplace(members.members()[i].path.str(), i);
}

ZipTree::ZipTree(Env& env, const AbsPath& zip, archive::ZipMembers members, const ZipReading& reading)
    : zip_(zip),
      seen_(std::make_shared<ZipScan>(std::move(members))),  // shared with whoever asks for it
      top_(reading.top_folder ? reading.top_folder(seen_->members.members()) : ""),
      fs_(env.fs, zip_, seen_->members),
      env_(WithFs(env, fs_)) {}

TreeEntry ZipTree::EntryOf(const archive::ArchiveMember& member) const {
  return {.path = RelPath::Literal(BelowTop(member.path.str(), top_)),
          .kind = member.kind,
          .link_target = member.link_target};
}

/// True if the facts of the member are known without holding its content.
Result<bool> ZipTree::UseKnownContent(const ZipReading& reading, std::size_t index) {
  const archive::ArchiveMember& member = seen_->members.members()[index];
  const std::string& path = member.path.str();
  if (const auto& model = reading.known->zip; model != nullptr) {
    const auto place = model->by_path.find(path);
    if (place != model->by_path.end()) {
      PTPKG_TRY(const bool alike, seen_->members.HasSameStoredBytes(index, model->members, place->second));
      if (alike) seen_->facts[index] = model->facts[place->second];
      if (alike) return true;
    }
  }
  const auto known = reading.known->files.find(path);
  if (known == reading.known->files.end()) return false;
  PTPKG_TRY(const std::unique_ptr<File> content, fs_.Open(known->second, OpenMode::kRead));
  PTPKG_TRY(const std::optional<Sha256> digest, seen_->members.DigestIfSame(index, *content));
  if (!digest) return false;
  MemberFacts& mine = seen_->facts[index];
  const archive::PassedMember passed{
      .index = index, .member = member, .content = *content, .sha256 = *digest};
  if (auto looked = LookAt(passed, EntryOf(member), reading, mine); !looked)
    mine.failure = std::move(looked).error();
  return true;
}

Result<void> ZipTree::Visit(const ZipReading& reading) {
  archive::PassOptions options;
  if (reading.known != nullptr)
    options.is_known = [&](std::size_t index) { return UseKnownContent(reading, index); };
  PTPKG_CHECK(seen_->members.Visit(options, [&](const archive::PassedMember& passed) -> Result<void> {
    MemberFacts& mine = seen_->facts[passed.index];
    if (auto looked = LookAt(passed, EntryOf(passed.member), reading, mine); !looked)
      mine.failure = std::move(looked).error();
    return Ok();
  }));
  for (std::size_t i = 0; i < seen_->facts.size(); ++i) {
    const MemberFacts& mine = seen_->facts[i];
    if (mine.failure && !failure_) failure_ = mine.failure;
    fs_.SetHead(i, &mine.head);
  }
  return Ok();
}

/// Lists the tree by the rules for every tree; digests are known already.
Result<void> ZipTree::Scan() {
  // Through env_, so that the same rules apply as for a directory: names, links, leftovers.
  PTPKG_TRY(tree_, ScanTree(env_, zip_, {.hash = false}));
  for (TreeEntry& entry : tree_.entries) {
    if (entry.kind == FileKind::kRegular)
      entry.sha256 = seen_->facts[seen_->by_path.find(entry.path.str())->second].sha256;
    entry.path = RelPath::Literal(BelowTop(entry.path.str(), top_));
  }
  if (!top_.empty()) tree_.root = tree_.root / top_;
  return Ok();
}

Result<std::unique_ptr<ZipTree>> ZipTree::Read(Env& env, const AbsPath& zip, const ZipReading& reading,
                                               std::vector<Finding>& findings) {
  const auto read = [&]() -> Result<std::unique_ptr<ZipTree>> {
    PTPKG_TRY(archive::ZipMembers members, archive::ZipMembers::Open(env, zip));
    // Not movable: its environment refers to its files.
    auto tree = std::unique_ptr<ZipTree>(new ZipTree(env, zip, std::move(members), reading));
    PTPKG_CHECK(tree->Visit(reading));
    PTPKG_CHECK(tree->Scan());
    return tree;
  };
  Result<std::unique_ptr<ZipTree>> tree = read();
  if (!tree) {
    PTPKG_CHECK(UnreadableFinding(std::move(tree).error(), findings));
    return std::unique_ptr<ZipTree>();
  }
  if ((*tree)->failure_) return *std::move((*tree)->failure_);
  return tree;
}

Result<ElfTree> ZipTree::TakeElfTree(std::vector<Finding>& findings) {
  for (const MemberFacts& mine : seen_->facts)
    findings.insert(findings.end(), mine.build_paths.begin(), mine.build_paths.end());
  PTPKG_TRY(TreeMap map, TreeMap::Read(env_, tree_.root));
  std::vector<SharedElfFacts> facts;
  for (const RelPath& path : FilesOf(map)) {
    const std::string whole = top_.empty() ? path.str() : top_ + "/" + path.str();
    facts.push_back(seen_->facts[seen_->by_path.find(whole)->second].elf);
  }
  return MakeElfTree(tree_.root, std::move(map), facts, findings);
}

}  // namespace ptpkg::verify
