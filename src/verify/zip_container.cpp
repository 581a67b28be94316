#include "verify/zip_container.h"

#include <algorithm>
#include <optional>

#include "archive/zip_strict.h"
#include "verify/build_path_checks.h"
#include "verify/unreadable.h"

namespace ptpkg::verify {
namespace {

// Texts up to here need not be inflated a second time; a file's header always fits.
constexpr std::size_t kHeadBytes = 512;

/// Everything that the bytes of one member are needed for.
struct MemberFacts {
  Sha256 sha256 = {};
  ElfFacts elf = {};
  std::string head = {};
  std::vector<Finding> build_paths = {};
  std::optional<Error> failure = {};  ///< Of looking at it, not of inflating it.
};

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
  if (reading.on_file) PTPKG_CHECK(reading.on_file(entry.path, passed.content));
  PTPKG_TRY(facts.elf, ReadElfFacts(passed.content, entry.path, reading.opened));
  return SearchBuildPaths(passed.content, entry, reading.paths, facts.build_paths);
}

/// `path` below `top`; "" leaves it as it is. REQUIRES: it lies there.
std::string BelowTop(const std::string& path, const std::string& top) {
  return top.empty() ? path : path.substr(top.size() + 1);
}

Severity ContainerSeverity(const archive::ZipProblem& problem, const ContainerRule& rule) {
  if (problem.splits_readers) return Severity::kError;
  if (!rule.targets) return rule.where_readers_agree;
  return problem.refused_by.Meets(*rule.targets) ? Severity::kError : Severity::kWarning;
}

}  // namespace

Result<void> CheckZipContainer(Env& env, const AbsPath& zip, const ContainerRule& rule,
                               std::vector<Finding>& findings) {
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(zip, OpenMode::kRead));
  PTPKG_TRY(const std::vector<archive::ZipProblem> problems, archive::StrictZipProblems(*file));
  for (const archive::ZipProblem& problem : problems) {
    findings.push_back(
        {std::string(rule.id), ContainerSeverity(problem, rule), "", problem.text, std::string(rule.fix)});
  }
  return Ok();
}

ZipTree::ZipTree(Env& env, const AbsPath& zip, archive::ZipMembers members)
    : zip_(zip), members_(std::move(members)), fs_(env.fs, zip_, members_), env_(WithFs(env, fs_)) {}

Result<void> ZipTree::Visit(const ZipReading& reading, const std::string& top) {
  std::vector<MemberFacts> facts(members_.members().size());
  PTPKG_CHECK(members_.Visit({}, [&](const archive::PassedMember& passed) -> Result<void> {
    const archive::ArchiveMember& member = passed.member;
    const TreeEntry entry{.path = RelPath::Literal(BelowTop(member.path.str(), top)),
                          .kind = member.kind,
                          .link_target = member.link_target};
    MemberFacts& mine = facts[passed.index];
    if (auto looked = LookAt(passed, entry, reading, mine); !looked) mine.failure = std::move(looked).error();
    return Ok();
  }));
  for (std::size_t i = 0; i < facts.size(); ++i) {
    MemberFacts& mine = facts[i];
    const std::string& path = members_.members()[i].path.str();
    if (mine.failure && !failure_) failure_ = std::move(mine.failure);
    fs_.SetHead(i, std::move(mine.head));
    sha256_.emplace(path, mine.sha256);
    elf_.emplace(BelowTop(path, top), std::move(mine.elf));
    build_paths_.insert(build_paths_.end(), std::make_move_iterator(mine.build_paths.begin()),
                        std::make_move_iterator(mine.build_paths.end()));
  }
  return Ok();
}

/// Lists the tree by the rules for every tree; digests are known already.
Result<void> ZipTree::Scan(const std::string& top) {
  PTPKG_TRY(tree_, ScanTree(env_, zip_, {.hash = false}));
  for (TreeEntry& entry : tree_.entries) {
    if (entry.kind == FileKind::kRegular) entry.sha256 = sha256_.find(entry.path.str())->second;
    entry.path = RelPath::Literal(BelowTop(entry.path.str(), top));
  }
  if (!top.empty()) tree_.root = tree_.root / top;
  return Ok();
}

Result<std::unique_ptr<ZipTree>> ZipTree::Read(Env& env, const AbsPath& zip, const ZipReading& reading,
                                               std::vector<Finding>& findings) {
  const auto read = [&]() -> Result<std::unique_ptr<ZipTree>> {
    PTPKG_TRY(archive::ZipMembers members, archive::ZipMembers::Open(env, zip));
    const std::string top = reading.top_folder ? reading.top_folder(members.members()) : "";
    // Not movable: its environment refers to its files.
    auto tree = std::unique_ptr<ZipTree>(new ZipTree(env, zip, std::move(members)));
    PTPKG_CHECK(tree->Visit(reading, top));
    PTPKG_CHECK(tree->Scan(top));
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
  findings.insert(findings.end(), build_paths_.begin(), build_paths_.end());
  PTPKG_TRY(TreeMap map, TreeMap::Read(env_, tree_.root));
  std::vector<ElfFacts> facts;
  for (const RelPath& path : FilesOf(map)) facts.push_back(std::move(elf_.find(path.str())->second));
  return MakeElfTree(tree_.root, std::move(map), std::move(facts), findings);
}

}  // namespace ptpkg::verify
