// Visits every member of an archive once, in parallel, with a bound on the memory that contents take.
//
// Zips: the largest member that fits into the free memory starts first, so that one long member does not
// run alone at the end. A member that passes through a file costs no memory. A member above the bound never
// counts as held, so a worker that finds no fitting member can wait: some running member holds memory and
// frees it later.
//
// Errors: after a failure at index i only members before i still start, and the error of the lowest index
// is returned. So the outcome does not depend on the number of threads.
//
// Tars have no random access. The caller's thread reads one content after the other, and the workers hash
// and visit them. Before a content that does not fit, all submitted work is drained.

#include "archive/archive_member_pass.h"

#include <algorithm>
#include <condition_variable>
#include <fmt/core.h>
#include <set>
#include <variant>

#include "archive/codec/ordered_workers.h"
#include "archive/member_content.h"
#include "archive/member_names.h"
#include "archive/zip/zip_format.h"
#include "support/files/read_only_file.h"
#include "support/process/parallel.h"
#include "support/text/name_problem.h"

namespace ptpkg::archive {
namespace {

std::uint32_t NormalMode(std::uint32_t mode) { return (mode & 0100U) != 0 ? 0755U : 0644U; }

/// True if `source` and `content` have the same bytes up to the end of both. `hasher`, if any, gets these
/// bytes.
Result<bool> SourceEqualsFile(Env& env, ByteSource& source, File& content, ByteSink* hasher = nullptr) {
  constexpr std::size_t kStep = 256U << 10U;
  ScratchBuffer given(kStep);
  ScratchBuffer wanted(kStep);
  for (std::uint64_t offset = 0;;) {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(const std::size_t got, source.Read(given.bytes()));
    // At the end one byte more: nothing may follow.
    const std::size_t ask = std::max<std::size_t>(got, 1);
    PTPKG_TRY(const std::size_t held, content.ReadAt(offset, wanted.bytes().first(ask)));
    // An early end on one side shows as a shorter read here, so the sizes need no comparison beforehand.
    if (held != got || AsText(given.First(got)) != AsText(wanted.First(got))) return false;
    if (got == 0) return true;
    if (hasher != nullptr) PTPKG_CHECK(hasher->Write(given.First(got)));
    offset += got;
  }
}

/// Notes the members that MemberNames admits.
class MemberList final : public MemberVisitor {
 public:
  MemberList(const zip::Directory& directory, MemberNames& names) : directory_(directory), names_(names) {}

  Result<void> VisitDirectory(const std::string& raw_name) override {
    PTPKG_TRY(const auto name, names_.AddFolder(raw_name));
    return Ok();
  }
  Result<void> VisitFile(const std::string& raw_name, std::size_t index) override {
    PTPKG_TRY(const std::optional<RelPath> name, names_.AddFile(raw_name));
    Note(*name, index);
    return Ok();
  }
  Result<void> VisitSymlink(const std::string& raw_name, std::string target, std::size_t index) override {
    PTPKG_TRY(const std::optional<RelPath> name, names_.AddSymlink(raw_name, target));
    Note(*name, index);
    members.back().kind = FileKind::kSymlink;
    members.back().size_bytes = 0;
    members.back().link_target = std::move(target);
    return Ok();
  }
  Result<void> CountBytes(std::uint64_t bytes) override { return names_.CountBytes(bytes); }
  [[nodiscard]] Error Refuse(std::string_view raw_name, std::string_view why) const override {
    return names_.Refuse(raw_name, why);
  }

  std::vector<ArchiveMember> members;
  std::vector<std::size_t> records;  ///< Index of each member in the central directory.

 private:
  void Note(RelPath path, std::size_t index) {
    const zip::CentralRecord& record = directory_.records[index];
    members.push_back({.path = std::move(path),
                       .mode = NormalMode(record.UnixMode()),
                       .size_bytes = record.size_bytes,
                       .stored_bytes = record.stored_bytes,
                       .crc32 = record.crc32});
    records.push_back(index);
  }

  const zip::Directory& directory_;
  MemberNames& names_;
};

/// Which member is next, so that those under way together fit into the memory. Any thread.
class MemorySchedule {
 public:
  struct Item {
    std::uint64_t size_bytes = 0;
    std::uint64_t cost = 0;  ///< Bytes of memory, 0 for one that passes through a file.
  };

  /// REQUIRES: no cost is above `memory_bytes`.
  MemorySchedule(const std::vector<Item>& items, std::uint64_t memory_bytes)
      : items_(items), free_(memory_bytes) {
    for (std::size_t i = 0; i < items.size(); ++i) waiting_.emplace(items[i].size_bytes, SIZE_MAX - i);
  }

  /// The largest member that fits now, of several the first; waits while none does, for one that is under way
  /// holds memory then. nullopt: nothing is left.
  std::optional<std::size_t> Next() {
    std::unique_lock lock(mutex_);
    while (!waiting_.empty()) {
      const auto place = std::find_if(waiting_.rbegin(), waiting_.rend(), [&](const auto& member) {
        return items_[IndexOf(member)].cost <= free_;
      });
      if (place != waiting_.rend()) {
        const std::size_t index = IndexOf(*place);
        waiting_.erase(*place);
        free_ -= items_[index].cost;
        return index;
      }
      wake_.wait(lock);
    }
    return std::nullopt;
  }
  void Free(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    free_ += bytes;
    wake_.notify_all();
  }
  /// No member from `index` on begins any more; the error of the lowest one counts.
  void Fail(std::size_t index, Error error) {
    const std::lock_guard lock(mutex_);
    // A later failure must not hide an earlier one: the reported error would depend on timing.
    if (index >= failed_at_) return;
    failed_at_ = index;
    failure_ = std::move(error);
    std::erase_if(waiting_, [&](const auto& member) { return IndexOf(member) >= failed_at_; });
    wake_.notify_all();
  }
  Result<void> Outcome() {
    if (failure_.has_value()) return *std::move(failure_);
    return Ok();
  }

 private:
  using Waiting =
      std::pair<std::uint64_t, std::size_t>;  // size, and the index from behind: the first is last
  static std::size_t IndexOf(const Waiting& member) { return SIZE_MAX - member.second; }

  const std::vector<Item>& items_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::set<Waiting> waiting_;
  std::uint64_t free_;
  std::size_t failed_at_ = SIZE_MAX;
  std::optional<Error> failure_;
};

}  // namespace

struct ZipMembers::State {
  Env& env;
  std::string title;
  std::unique_ptr<ZipContent> zip;
  std::vector<ArchiveMember> members;
  std::vector<std::size_t> records;

  Result<void> VisitOne(std::size_t index, const ContentOptions& options,
                        const std::function<Result<bool>(std::size_t)>& is_known,
                        const VisitMember& visit) const {
    PTPKG_CHECK(env.cancel.Check());
    const ArchiveMember& member = members[index];
    if (member.kind == FileKind::kSymlink) {
      MemoryFile empty{Bytes()};
      return visit({.index = index, .member = member, .content = empty});
    }
    if (is_known) {
      PTPKG_TRY(const bool known, is_known(index));
      if (known) return options.count(member.size_bytes);
    }
    PTPKG_TRY(const MemberContent content, ReadZipMember(env, *zip, records[index], options));
    return visit({.index = index, .member = member, .content = *content.file, .sha256 = content.sha256});
  }

  /// Bytes of memory that a member takes.
  [[nodiscard]] std::uint64_t CostOf(std::size_t index, std::uint64_t memory_bytes) const {
    if (members[index].kind == FileKind::kSymlink) return 0;
    return IsHeldInMemory(zip->directory().records[records[index]], memory_bytes) ? members[index].size_bytes
                                                                                  : 0;
  }
};

ZipMembers::ZipMembers(std::unique_ptr<State> state) : state_(std::move(state)) {}
ZipMembers::ZipMembers(ZipMembers&&) noexcept = default;
ZipMembers::~ZipMembers() = default;

Result<ZipMembers> ZipMembers::Open(Env& env, const AbsPath& zip, const ExtractLimits& limits) {
  PTPKG_TRY(std::unique_ptr<ZipContent> content, ZipContent::Open(env.fs, zip, limits));
  MemberNames names(env.cancel, {.limits = limits}, zip.str(), content->directory().file_bytes);
  MemberList list(content->directory(), names);
  PTPKG_CHECK(content->List(list));
  PTPKG_CHECK(names.CheckLinks());
  return ZipMembers(std::unique_ptr<State>(new State{.env = env,
                                                     .title = std::string(zip.Name()),
                                                     .zip = std::move(content),
                                                     .members = std::move(list.members),
                                                     .records = std::move(list.records)}));
}

const std::vector<ArchiveMember>& ZipMembers::members() const { return state_->members; }

Result<void> ZipMembers::Visit(const PassOptions& options, const VisitMember& visit) const {
  const State& state = *state_;
  Task task(state.env.reporter,
            {.stage = "read", .subject = state.title, .total_bytes = state.zip->total_bytes()});
  MemberNames counter(state.env.cancel, {.limits = options.limits}, state.zip->name(),
                      state.zip->directory().file_bytes);
  counter.Tell(task);
  std::vector<MemorySchedule::Item> items(state.members.size());
  for (std::size_t i = 0; i < items.size(); ++i)
    items[i] = {.size_bytes = state.members[i].size_bytes, .cost = state.CostOf(i, options.memory_bytes)};
  MemorySchedule schedule(items, options.memory_bytes);
  const auto work = [&](std::size_t index) -> Result<void> {
    const auto leave = [&](MemorySchedule* place) { place->Free(items[index].cost); };
    const std::unique_ptr<MemorySchedule, decltype(leave)> guard(&schedule, leave);
    return state.VisitOne(index,
                          {.memory_bytes = options.memory_bytes,
                           .hash = options.hash,
                           .count = [&](std::uint64_t bytes) { return counter.CountBytes(bytes); }},
                          options.is_known, visit);
  };
  const auto serve = [&](std::size_t) -> Result<void> {
    while (const std::optional<std::size_t> index = schedule.Next()) {
      if (Result<void> done = work(*index); !done) schedule.Fail(*index, std::move(done).error());
    }
    return Ok();
  };
  PTPKG_CHECK(ParallelFor(state.env.jobs, static_cast<std::size_t>(std::max(1, state.env.jobs)), serve));
  PTPKG_CHECK(schedule.Outcome());
  task.Done();
  return Ok();
}

Result<bool> ZipMembers::HasSameStoredBytes(std::size_t index, const ZipMembers& other,
                                            std::size_t other_index) const {
  const ZipContent& mine = *state_->zip;
  const ZipContent& theirs = *other.state_->zip;
  const zip::CentralRecord& record = mine.directory().records[state_->records[index]];
  const zip::CentralRecord& model = theirs.directory().records[other.state_->records[other_index]];
  // Cheap comparison first: the directories tell most pairs apart without a read.
  const bool may_be = record.method == model.method && record.size_bytes == model.size_bytes &&
                      record.stored_bytes == model.stored_bytes && record.crc32 == model.crc32 &&
                      ((record.flags | model.flags) & zip::kFlagEncrypted) == 0;
  if (!may_be) return false;
  PTPKG_TRY(const zip::LocalRecord here, zip::ReadLocal(mine.file(), record.offset, mine.name()));
  PTPKG_TRY(const zip::LocalRecord there, zip::ReadLocal(theirs.file(), model.offset, theirs.name()));
  RangeFile stored(theirs.file(), FileStat{.size_bytes = model.stored_bytes}, there.data_offset);
  RangeFile range(mine.file(), FileStat{.size_bytes = record.stored_bytes}, here.data_offset);
  FileSource source(range);
  return SourceEqualsFile(state_->env, source, stored);
}

Result<std::optional<Sha256>> ZipMembers::DigestIfSame(std::size_t index, File& content) const {
  std::optional<Sha256> digest;
  PTPKG_CHECK(state_->zip->Stream(state_->records[index], [&](ByteSource& source) -> Result<void> {
    HashingSink hasher(nullptr);
    PTPKG_TRY(const bool is_same, SourceEqualsFile(state_->env, source, content, &hasher));
    if (is_same) digest = hasher.Finish().sha256;
    return Ok();
  }));
  return digest;
}

Result<std::unique_ptr<File>> ZipMembers::OpenMember(std::size_t index, std::uint64_t memory_bytes) const {
  const ArchiveMember& member = state_->members[index];
  if (member.kind == FileKind::kSymlink) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is a symlink", ShownName(member.path.str())));
  }
  PTPKG_TRY(MemberContent content,
            ReadZipMember(
                state_->env, *state_->zip, state_->records[index],
                {.memory_bytes = memory_bytes, .hash = false, .count = [](std::uint64_t) { return Ok(); }}));
  return std::move(content.file);
}

/// State of a tar member that is being read.
struct StreamPass::State {
  State(Env& env_in, const std::string& archive, std::uint64_t packed_bytes, const PassOptions& options_in,
        VisitMember visit_in)
      : env(env_in),
        options(options_in),
        visit(std::move(visit_in)),
        counter(env.cancel, {.limits = options.limits}, archive, packed_bytes),
        workers(env.jobs, [this](std::uint64_t cost) -> Result<void> {
          held -= cost;
          return Ok();
        }) {}

  /// A content of the size that `member` says.
  Result<std::unique_ptr<File>> Take(const ArchiveMember& member, ByteSource& content) {
    const auto count = [this](std::uint64_t bytes) { return counter.CountBytes(bytes); };
    const auto wrong_size = [&] {
      return counter.Refuse(member.path.str(),
                            fmt::format("does not have the {} bytes that it declares", member.size_bytes));
    };
    if (member.size_bytes > options.memory_bytes) {
      PTPKG_TRY(std::unique_ptr<File> file, SpillToFile(env, content, count));
      PTPKG_TRY(const FileStat stat, file->Stat());
      if (stat.size_bytes != member.size_bytes) return wrong_size();
      return file;
    }
    ScratchBuffer buffer(member.size_bytes);
    std::size_t filled = 0;
    while (filled < member.size_bytes) {
      PTPKG_CHECK(env.cancel.Check());
      PTPKG_TRY(const std::size_t got, content.Read(buffer.bytes().subspan(filled)));
      if (got == 0) return wrong_size();
      PTPKG_CHECK(count(got));
      filled += got;
    }
    // One byte beyond the declared size shows a content that is too long.
    std::byte more{};
    PTPKG_TRY(const std::size_t got, content.Read(MutableBytes(&more, 1)));
    if (got != 0) return wrong_size();
    return MakeBufferFile(std::move(buffer), filled);
  }

  Env& env;
  PassOptions options;
  VisitMember visit;
  MemberNames counter;
  std::size_t next = 0;
  std::uint64_t held = 0;  // on the caller's thread only
  OrderedWorkers<std::uint64_t> workers;
};

StreamPass::StreamPass(Env& env, const std::string& archive, std::uint64_t packed_bytes,
                       const PassOptions& options, VisitMember visit)
    : state_(std::make_unique<State>(env, archive, packed_bytes, options, std::move(visit))) {}
StreamPass::~StreamPass() = default;

Result<void> StreamPass::Add(const ArchiveMember& member, ByteSource& content) {
  State& state = *state_;
  const bool has_content = member.kind == FileKind::kRegular && member.link_target.empty();
  const std::uint64_t size_bytes = has_content ? member.size_bytes : 0;
  const std::uint64_t cost = size_bytes > state.options.memory_bytes ? 0 : size_bytes;
  // `held` falls only when results come out, in order and on this thread. So all of them come out first.
  if (cost > state.options.memory_bytes - state.held) PTPKG_CHECK(state.workers.Drain());
  std::shared_ptr<File> file;  // shared with the copies of the task
  if (has_content) {
    PTPKG_TRY(file, state.Take(member, content));
  } else {
    file = std::make_shared<MemoryFile>(Bytes());  // shared likewise
  }
  state.held += cost;
  return state.workers.Submit(
      [&state, member, cost, has_content, index = state.next++, file]() -> Result<std::uint64_t> {
        Sha256 sha256;
        if (has_content && state.options.hash) {
          PTPKG_TRY(sha256, DigestContent(state.env, *file));
        }
        PTPKG_CHECK(state.visit({.index = index, .member = member, .content = *file, .sha256 = sha256}));
        return cost;
      });
}

Result<void> StreamPass::Finish() { return state_->workers.Drain(); }

}  // namespace ptpkg::archive
