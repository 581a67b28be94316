// Reads arbitrary bytes as an ELF file and edits it. The first bytes of an input choose the edits and where
// the writer dies; the rest is the file.

#include <algorithm>
#include <cstdlib>
#include <fmt/core.h>

#include "elf/edit/edit.h"
#include "fuzz/fuzz.h"
#include "support/fault_fs.h"
#include "support/mem_fs.h"
#include "unit/elf/fixtures/synthetic_elf.h"

namespace ptpkg::fuzz {
namespace {

using elf::EditPlan;
using elf::Edits;
using elf::Image;
using elf::LinkFacts;
using test::MemFs;

const AbsPath kFile = AbsPath::Literal("/a.so");
constexpr std::size_t kControlBytes = 6;

void Require(bool holds, std::string_view what) {
  if (holds) return;
  fmt::print(stderr, "broken: {}\n", what);
  std::abort();
}

/// The control bytes, read as choices.
class Control {
 public:
  explicit Control(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool Bit(std::size_t index) const { return ((At(index / 8) >> (index % 8)) & 1U) != 0; }
  [[nodiscard]] unsigned At(std::size_t index) const { return static_cast<unsigned char>(bytes_[index]); }
  /// 0 to 4080 bytes, so that strings fit, take the spare room, or make the file grow.
  [[nodiscard]] std::string Text(char letter) const { return std::string(std::size_t{At(2)} * 16, letter); }

 private:
  std::string_view bytes_;
};

Edits ChooseEdits(const Control& control, const LinkFacts& facts) {
  Edits edits;
  if (control.Bit(0)) {
    edits.search_path = elf::SearchPath{.tag = control.Bit(1) ? elf::PathTag::kRpath : elf::PathTag::kRunpath,
                                        .text = "$ORIGIN" + control.Text('p')};
  } else {
    edits.remove_search_path = control.Bit(1);
  }
  if (control.Bit(2)) edits.soname = "lib" + control.Text('s') + ".so";
  // No name in two of the three: such edits are not satisfied by their own result.
  const std::string added = "libadded.so.1";
  const std::string other = "libother" + control.Text('n') + ".so";
  if (control.Bit(3)) edits.add_needed = {added};
  if (!facts.needed.empty()) {
    const std::string& name = facts.needed[control.At(3) % facts.needed.size()];
    if (control.Bit(4) && name != other && name != added) edits.replace_needed = {{name, other}};
    if (control.Bit(5) && name != other && name != added) edits.remove_needed = {name};
  }
  if (control.Bit(6) && facts.interpreter) edits.interpreter = "/ld" + control.Text('i');
  if (control.Bit(7)) edits.executable_stack = control.Bit(8);
  edits.no_default_libraries = control.Bit(9);
  edits.add_debug_entry = control.Bit(10);
  if (control.Bit(11)) edits.blank = 'X';
  return edits;
}

struct Opened {
  std::unique_ptr<File> file;
  Image image;
  LinkFacts facts;
};

/// nullopt: not an ELF file, or one error of the kind that a hostile file may cause.
std::optional<Opened> Read(Fs& fs) {
  auto file = fs.Open(kFile, OpenMode::kRead);
  Require(file.has_value(), "the file cannot be opened");
  auto image = elf::ReadImage(**file);
  if (!image || !*image) {
    const bool fair = image || image.error().code() == ErrorCode::kCorrupt ||
                      image.error().code() == ErrorCode::kUnsupported;
    Require(fair, "a damaged file is reported as something else");
    return std::nullopt;
  }
  auto facts = elf::ReadLinkFacts(**file, **image);
  if (!facts) {
    Require(facts.error().code() == ErrorCode::kCorrupt, "damaged names are reported as something else");
    return std::nullopt;
  }
  return Opened{.file = *std::move(file), .image = **std::move(image), .facts = *std::move(facts)};
}

/// What the file must hold once `plan` was carried out on `content`.
std::string Expected(std::string content, const EditPlan& plan) {
  content.resize(plan.new_size);
  for (const elf::PlannedWrite& write : plan.writes) {
    Require(write.offset + write.size_bytes() <= plan.new_size, "a write beyond the planned size");
    if (write.copy_bytes != 0)
      content.replace(write.offset, write.copy_bytes, content.substr(write.copy_from, write.copy_bytes));
    if (!write.bytes.empty()) content.replace(write.offset, write.bytes.size(), AsText(write.bytes));
  }
  return content;
}

/// Kills the writer at an operation: the next call finds the old or the new file.
void DieAndRecover(const std::string& before, const std::string& after, const Edits& edits,
                   std::uint64_t number, test::FaultTear tear) {
  MemFs fs;
  fs.AddFile(kFile.str(), before);
  test::FaultFs faulty(fs, {.number = number,
                            .sys_errno = 5,
                            .scope = test::FaultScope::kMutating,
                            .after = test::FaultAfter::kDead,
                            .tear = tear});
  static_cast<void>(elf::EditFile(faulty, kFile, edits));  // dead: what it returns is lost with it
  const auto recovered = elf::RecoverEdit(fs, kFile);
  Require(recovered.has_value(), "the edit of a dead writer cannot be undone");
  const std::string now = fs.Content(kFile.str());
  Require(now == before || now == after, "a dead writer left a mix");
}

void EditAndCheck(const std::string& before, const Control& control) {
  MemFs fs;
  fs.AddFile(kFile.str(), before, control.Bit(12) ? 0444 : 0644);
  std::optional<Opened> opened = Read(fs);
  if (!opened) return;
  const Edits edits = ChooseEdits(control, opened->facts);
  const auto plan = elf::PlanEdit(*opened->file, opened->image, edits);
  if (!plan) {
    Require(plan.error().code() != ErrorCode::kInternal, "a plan fails by our own fault");
    return;
  }
  Require(plan->before == opened->facts, "the plan begins at other facts");
  constexpr std::uint64_t kHole = 16U << 20U;  // for a program's moved headers
  Require(plan->BytesGrown() <= opened->image.strings.size_bytes + kHole + (1U << 20U), "unbounded growth");
  opened->file.reset();
  const auto applied = elf::ApplyEdit(fs, kFile, *plan);
  const std::string after = fs.Content(kFile.str());
  Require(fs.List("/") == std::vector<std::string>{"a.so"}, "something is left beside the file");
  if (!applied) {
    Require(after == before, "an error left another file");
    return;
  }
  Require(after == Expected(before, *plan), "other bytes changed than planned");
  opened = Read(fs);
  Require(opened && opened->facts == plan->after, "a re-read differs from the plan");
  const auto again = elf::PlanEdit(*opened->file, opened->image, edits);
  Require(again && again->tier == elf::WriteTier::kNothing, "a second run is not satisfied");
  if (control.At(4) == 0 || control.Bit(12)) return;
  // An edit that is one write keeps no record: the kernel does not tear what lies in one page.
  const auto tear = plan->writes.size() == 1 ? test::FaultTear::kAtPages : test::FaultTear::kHalf;
  DieAndRecover(before, after, edits, control.At(4) % 16, tear);
}

std::string Seed(std::string_view control, elf::test::SyntheticElf file) {
  return std::string(control) + file.Build();
}

}  // namespace

std::vector<std::string> Seeds() {
  using namespace std::string_view_literals;
  std::vector<std::string> seeds;
  for (const elf::ElfClass elf_class : {elf::ElfClass::k32, elf::ElfClass::k64}) {
    for (const elf::ByteOrder order : {elf::ByteOrder::kLittle, elf::ByteOrder::kBig}) {
      elf::test::SyntheticElf file;
      file.elf_class = elf_class;
      file.order = order;
      file.align = 0x100;  // small, for the sake of the mutations
      file.runpath = "/opt/build/lib";
      seeds.push_back(Seed("\x01\x00\x00\x00\x03\x00"sv, file));  // in place, dies at the third operation
      seeds.push_back(Seed("\x3f\x00\x20\x00\x05\x00"sv, file));  // grows, with all names
      file.interpreter = "/lib/ld.so.1";
      file.sections = false;
      file.spare_entries = 0;
      seeds.push_back(Seed("\xcd\x07\x05\x01\x00\x00"sv, file));  // moves the tables of a program
      file.type = elf::kTypeExec;
      file.stack = false;
      seeds.push_back(Seed("\xf2\x1f\x01\x00\x00\x00"sv, file));  // removes, blanks visibly, read-only
    }
  }
  return seeds;
}

}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptpkg;  // NOLINT(google-build-using-namespace): one function is all there is
  if (size < fuzz::kControlBytes) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  fuzz::EditAndCheck(std::string(input.substr(fuzz::kControlBytes)),
                     fuzz::Control(input.substr(0, fuzz::kControlBytes)));
  return 0;
}
