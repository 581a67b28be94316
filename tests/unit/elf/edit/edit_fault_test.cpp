// The writer is stopped at every one of its operations, in every way that a disk or a kill can: what stands
// there afterwards is the old file or the new one, or a record at its end lets the next call restore the old
// one.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf/edit/edit.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "unit/elf/fixtures/linked_toys.h"
#include "unit/elf/fixtures/synthetic_elf.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FaultAfter;
using ptpkg::test::FaultFs;
using ptpkg::test::FaultPlan;
using ptpkg::test::FaultScope;
using ptpkg::test::FaultTear;
using ptpkg::test::MemFs;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

const AbsPath kFaulty = AbsPath::Literal("/tree/libanswer.so");
const AbsPath kOtherLink = AbsPath::Literal("/tree/other.so");

/// How the edit has to be written.
enum class Way { kOneWrite, kInPlace, kSpareEntry, kAppend, kMovesAll, kHardLink, kReadOnly };

struct Case {
  std::string name;
  Way way;
  ElfClass elf_class;
  ByteOrder order;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const std::vector<std::pair<Way, std::string>> ways = {
      {Way::kOneWrite, "OneWrite"}, {Way::kInPlace, "InPlace"},   {Way::kSpareEntry, "SpareEntry"},
      {Way::kAppend, "Append"},     {Way::kMovesAll, "MovesAll"}, {Way::kHardLink, "HardLink"},
      {Way::kReadOnly, "ReadOnly"}};
  for (const auto& [way, name] : ways) {
    cases.push_back({name + "64", way, ElfClass::k64, ByteOrder::kLittle});
    cases.push_back({name + "32Big", way, ElfClass::k32, ByteOrder::kBig});
  }
  return cases;
}

class StoppedWriter : public ::testing::TestWithParam<Case> {
 protected:
  StoppedWriter() {
    SyntheticElf elf;
    elf.elf_class = GetParam().elf_class;
    elf.order = GetParam().order;
    elf.runpath = "/build/prefix/lib";
    elf.interpreter = "/lib/ld.so.1";
    edits_.search_path = SearchPath{.tag = PathTag::kRpath, .text = "$ORIGIN"};
    switch (GetParam().way) {
      case Way::kOneWrite:
        edits_.search_path = SearchPath{.tag = PathTag::kRpath, .text = *elf.runpath};
        break;
      case Way::kSpareEntry:
        elf.runpath.reset();
        elf.symbols = {"answer", "a:$ORIGIN"};  // the text is there already, as a tail
        edits_.executable_stack = true;
        break;
      case Way::kMovesAll:
        elf.spare_entries = 0;
        edits_.interpreter = "/some/other/place/for/ld.so.1";
        edits_.replace_needed = {{"libdeep.so.1", "libdeep-with-a-longer-name.so.1"}};
        [[fallthrough]];
      case Way::kAppend:
      case Way::kHardLink:
        edits_.search_path->text += std::string(3000, 'g');
        break;
      case Way::kInPlace:
      case Way::kReadOnly:
        break;
    }
    before_ = elf.Build();
    Stage(reference_);
    const auto plan = EditFile(reference_, kFaulty, edits_);
    EXPECT_OK(plan);
    tier_ = plan->tier;
    writes_ = plan->writes.size();
    after_ = reference_.Content(kFaulty.str());
  }

  void Stage(MemFs& fs) const {
    fs.AddFile(kFaulty.str(), before_, GetParam().way == Way::kReadOnly ? 0444 : 0644);
    if (GetParam().way == Way::kHardLink) {
      EXPECT_OK(fs.CreateHardLink(kFaulty, kOtherLink));
    }
  }
  [[nodiscard]] bool Copies() const {
    return GetParam().way == Way::kHardLink || GetParam().way == Way::kReadOnly;
  }
  // Comparisons are printed as bool on purpose: a kilobyte of binary tells nobody anything.
  [[nodiscard]] bool IsOldOrNew(MemFs& fs) const {
    const std::string now = fs.Content(kFaulty.str());
    return now == before_ || now == after_;
  }
  /// Names in the directory but for leftovers of a copy, which a dead process cannot remove.
  static std::vector<std::string> Names(MemFs& fs) {
    std::vector<std::string> names = fs.List("/tree");
    std::erase_if(names,
                  [](const std::string& name) { return name.find(".ptpkg-edit") != std::string::npos; });
    return names;
  }
  static Result<bool> IsInterrupted(MemFs& fs) {
    PTPKG_TRY(const RecoveredFile seen, OpenRecovered(fs, kFaulty));
    return seen.interrupted;
  }
  struct Outcome {
    bool fired = false;  ///< It got as far as the operation that fails.
    bool ok = false;
  };
  Outcome RunBroken(MemFs& fs, FaultPlan plan) const {
    FaultFs faulty(fs, plan);
    Outcome outcome;
    outcome.ok = EditFile(faulty, kFaulty, edits_).has_value();
    outcome.fired = faulty.fired();
    // The scratch directory of a copy is removed after all is done: that failure is nobody's loss.
    EXPECT_TRUE(outcome.ok != outcome.fired || (Copies() && fs.Content(kFaulty.str()) == after_))
        << "a fault that nobody noticed";
    return outcome;
  }

  Edits edits_;
  std::string before_;
  std::string after_;
  WriteTier tier_ = WriteTier::kNothing;
  std::size_t writes_ = 0;
  MemFs reference_;
};

INSTANTIATE_TEST_SUITE_P(All, StoppedWriter, ::testing::ValuesIn(Cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(StoppedWriter, GoesTheWayThatIsMeant) {
  EXPECT_FALSE(after_ == before_);
  switch (GetParam().way) {
    case Way::kOneWrite:
      EXPECT_EQ(writes_, 1U);
      [[fallthrough]];
    case Way::kInPlace:
    case Way::kReadOnly:
      EXPECT_EQ(tier_, WriteTier::kInPlace);
      break;
    case Way::kSpareEntry:
      EXPECT_EQ(tier_, WriteTier::kSpareEntry);
      break;
    default:
      EXPECT_EQ(tier_, WriteTier::kAppend);
  }
  if (GetParam().way == Way::kHardLink) {
    EXPECT_TRUE(reference_.Content(kOtherLink.str()) == before_);
  }
}

TEST_P(StoppedWriter, KilledAnywhereLeavesOldOrNewOrARecord) {
  for (const FaultTear tear : {FaultTear::kHalf, FaultTear::kAtPages, FaultTear::kNothing, FaultTear::kAll}) {
    // The kernel does not tear one write inside one page, so that case needs no record.
    if (GetParam().way == Way::kOneWrite && tear == FaultTear::kHalf) continue;
    bool fired = true;
    for (std::uint64_t number = 1; fired; ++number) {
      SCOPED_TRACE(fmt::format("tear {}, operation {}", static_cast<int>(tear), number));
      MemFs fs;
      Stage(fs);
      fired =
          RunBroken(
              fs,
              {.number = number, .scope = FaultScope::kMutating, .after = FaultAfter::kDead, .tear = tear})
              .fired;
      ASSERT_OK_AND_ASSIGN(const bool interrupted, IsInterrupted(fs));
      if (!interrupted) {
        EXPECT_TRUE(IsOldOrNew(fs)) << "no record, so one of the two";
      }
      ASSERT_OK(RecoverEdit(fs, kFaulty));
      EXPECT_TRUE(IsOldOrNew(fs));
      ASSERT_OK(EditFile(fs, kFaulty, edits_));
      EXPECT_TRUE(fs.Content(kFaulty.str()) == after_) << "a rerun ends in the same bytes";
      if (GetParam().way == Way::kHardLink) {
        EXPECT_TRUE(fs.Content(kOtherLink.str()) == before_);
        EXPECT_THAT(Names(fs), UnorderedElementsAre("libanswer.so", "other.so"));
      } else {
        EXPECT_THAT(Names(fs), ElementsAre("libanswer.so"));
      }
    }
  }
}

TEST_P(StoppedWriter, BrokenDiskLeavesOldAndNothingBeside) {
  for (const int sys_errno : {EIO, ENOSPC}) {
    for (const FaultTear tear : {FaultTear::kHalf, FaultTear::kNothing}) {
      bool fired = true;
      for (std::uint64_t number = 1; fired; ++number) {
        SCOPED_TRACE(
            fmt::format("errno {}, tear {}, operation {}", sys_errno, static_cast<int>(tear), number));
        MemFs fs;
        Stage(fs);
        const Outcome outcome = RunBroken(
            fs, {.number = number, .sys_errno = sys_errno, .scope = FaultScope::kMutating, .tear = tear});
        fired = outcome.fired;
        if (outcome.ok) continue;
        EXPECT_TRUE(fs.Content(kFaulty.str()) == before_);
        EXPECT_EQ(fs.Lstat(kFaulty)->mode, GetParam().way == Way::kReadOnly ? 0444U : 0644U);
      }
    }
  }
}

TEST_P(StoppedWriter, UnreadableDiskLeavesOld) {
  bool fired = true;
  for (std::uint64_t number = 1; fired; ++number) {
    SCOPED_TRACE(number);
    MemFs fs;
    Stage(fs);
    const Outcome outcome = RunBroken(fs, {.number = number, .scope = FaultScope::kReading});
    fired = outcome.fired;
    if (outcome.ok) continue;
    EXPECT_TRUE(fs.Content(kFaulty.str()) == before_);
  }
}

TEST_P(StoppedWriter, DiskThatFillsUpAtAnyByteLeavesOld) {
  const std::size_t room_needed = (Copies() ? before_.size() : 0) + after_.size() + 16'000;  // record and all
  for (std::size_t room = 0; room < room_needed; room += 701) {
    SCOPED_TRACE(room);
    MemFs fs;
    Stage(fs);
    fs.LimitBytes(before_.size() + room);
    if (EditFile(fs, kFaulty, edits_)) {
      EXPECT_TRUE(fs.Content(kFaulty.str()) == after_);
    } else {
      EXPECT_TRUE(fs.Content(kFaulty.str()) == before_);
    }
  }
}

/// Real libraries, loaded after each stop.
class StoppedLinkedWriter : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Linkers, StoppedLinkedWriter, ::testing::ValuesIn(InstalledLinkers()),
                         [](const auto& tested) { return tested.param; });

TEST_P(StoppedLinkedWriter, KilledWhileGrowingItLoadsAllTheSame) {
  LinkedToys toys(GetParam());
  const AbsPath library = toys.Path("libanswer.so");
  Edits first;
  first.search_path = SearchPath{.tag = PathTag::kRunpath, .text = "$ORIGIN/deps"};
  ASSERT_OK(EditFile(toys.fs(), library, first));
  Edits grow = first;
  grow.search_path->text += ":$ORIGIN/" + std::string(9000, 'x');
  grow.soname = "lib" + std::string(300, 's') + ".so";
  const AbsPath copy = toys.Path("libcopy.so");
  bool fired = true;
  for (const FaultTear tear : {FaultTear::kAtPages, FaultTear::kAll}) {
    for (std::uint64_t number = 1; number == 1 || fired; ++number) {
      SCOPED_TRACE(fmt::format("tear {}, operation {}", static_cast<int>(tear), number));
      ASSERT_OK(toys.fs().CopyFile(library, copy));
      FaultFs faulty(
          toys.fs(),
          {.number = number, .scope = FaultScope::kMutating, .after = FaultAfter::kDead, .tear = tear});
      const bool ok = EditFile(faulty, copy, grow).has_value();
      fired = faulty.fired();
      EXPECT_NE(ok, fired);
      EXPECT_EQ(toys.Load(copy), 42) << "before anybody has undone anything";
      ASSERT_OK(RecoverEdit(toys.fs(), copy));
      EXPECT_EQ(toys.Load(copy), 42);
      ASSERT_OK(EditFile(toys.fs(), copy, grow));
      EXPECT_EQ(toys.Load(copy), 42);
      ASSERT_OK(toys.fs().Remove(copy));
    }
  }
}

}  // namespace
}  // namespace ptpkg::elf::test
