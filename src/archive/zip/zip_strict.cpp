// Two lists of the same members are compared: the central directory, and the local headers from offset 0 on.
// 1. Check each central record by itself, and index the records by name.
// 2. Walk the local headers: each must follow the content, or the data descriptor, of the one before it.
//    Check each header, and compare it with the central record of its name.
// 3. Name the records to which no header led. Check the sum of sizes and the comment.
// Invariants: a walk that cannot know where the next header is ends there, and names no missing headers.
// Content is never read.

#include "archive/zip/zip_strict.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>
#include <set>

#include "archive/zip/zip_directory.h"
#include "archive/zip/zip_format.h"
#include "support/text/name_problem.h"
#include "support/text/unprinted.h"
#include "support/text/utf8.h"

namespace ptpkg::archive {
namespace {

using zip::CentralRecord;
using zip::ExtraField;
using zip::LocalRecord;

constexpr std::size_t kMaxProblems = 100;
constexpr std::uint64_t kBombFromBytes = 64ULL << 20U;  // warehouse: ratio counts above this
constexpr std::uint64_t kBombRatio = 50;
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflate = 8;
constexpr std::uint16_t kBzip2 = 12;
constexpr std::uint16_t kLzma = 14;
constexpr std::uint16_t kZstd = 93;

constexpr Consumers kPypiOnly = {.pypi = true};
constexpr Consumers kUvOnly = {.uv = true};
constexpr Consumers kInstallerOnly = {.installer = true};
constexpr Consumers kPypiAndUv = {.pypi = true, .uv = true};

/// Readers that cannot unpack it. pip and installer read what zipfile does: zstd from Python 3.14 on alone.
Consumers RefuseMethod(std::uint16_t method) {
  if (method == kBzip2 || method == kLzma) return kPypiAndUv;
  if (method == kZstd) return {.pypi = true, .pip = true, .installer = true};
  return kAllConsumers;
}

/// uv takes these bytes, which every zip has, for one.
bool MayHoldArchive(std::string_view comment) {
  return std::any_of(comment.begin(), comment.end(), [](char c) { return c >= 1 && c <= 8; });
}

/// Record after the content of a member whose header lacks its numbers (4.3.9). A streaming reader
/// takes the wide one where the local header has a ZIP64 field.
struct DescriptorForm {
  bool has_signature = false;
  bool is_wide = false;

  [[nodiscard]] std::size_t SizeBytes() const { return (has_signature ? 8U : 4U) + (is_wide ? 16U : 8U); }

  /// REQUIRES: `bytes` has SizeBytes.
  [[nodiscard]] bool Agrees(std::string_view bytes, const CentralRecord& central) const {
    if (has_signature && zip::Get32(bytes, 0) != zip::kDescriptorSignature) return false;
    const std::string_view numbers = bytes.substr(has_signature ? 4 : 0);
    const std::size_t width = is_wide ? 8 : 4;
    return zip::Get32(numbers, 0) == central.crc32 && zip::Get(numbers, 4, width) == central.stored_bytes &&
           zip::Get(numbers, 4 + width, width) == central.size_bytes;
  }
};

/// Collects problems in the order of the file.
class ProblemList {
 public:
  void AddProblem(std::string text, Consumers refused_by) {
    Add({.text = std::move(text), .refused_by = refused_by});
  }
  void AddMember(const std::string& name, std::string_view why, Consumers refused_by) {
    AddProblem(OfMember(name, why), refused_by);
  }
  void AddDescriptor(const std::string& name) {
    Add({.text = OfMember(name, "has a data descriptor"), .refused_by = kPypiOnly, .has_descriptor = true});
  }
  /// Adds a problem for which readers see different members or contents.
  void AddSplit(std::string text) {
    Add({.text = std::move(text), .splits_readers = true, .refused_by = kAllConsumers});
  }
  void AddMemberSplit(const std::string& name, std::string_view why) { AddSplit(OfMember(name, why)); }

  [[nodiscard]] std::vector<ZipProblem> Take() && { return std::move(problems_); }

 private:
  static std::string OfMember(const std::string& name, std::string_view why) {
    return fmt::format("member '{}' {}", ShownName(name), why);
  }
  void Add(ZipProblem problem) {
    // Many harmless ones must not hide the first of a worse kind.
    const bool is_listed = problems_.size() < kMaxProblems ||
                           std::none_of(problems_.begin(), problems_.end(), [&](const ZipProblem& listed) {
                             return listed.splits_readers == problem.splits_readers &&
                                    listed.refused_by == problem.refused_by &&
                                    listed.has_descriptor == problem.has_descriptor;
                           });
    if (is_listed) problems_.push_back(std::move(problem));
  }

  std::vector<ZipProblem> problems_;
};

/// The first record of each name.
using CentralIndex = std::map<std::string, const CentralRecord*>;

void CheckName(const std::string& name, std::string_view where, ProblemList& problems) {
  if (HasControlCharacter(name)) {
    problems.AddMember(name, fmt::format("has a control character in its {} name", where),
                       {.pypi = true, .uv = true, .installer = true});
  } else if (HasUnprintedCharacter(name) && IsUtf8(name)) {
    problems.AddMember(name, fmt::format("has an unprintable character in its {} name", where), kUvOnly);
  }
  if (!IsUtf8(name)) {
    problems.AddMember(name, fmt::format("has a {} name that is not UTF-8", where), kAllConsumers);
  }
  // installer cuts RECORD at each line break of Unicode, and takes '\\' for '/'.
  if (name.find("\u2028") != std::string::npos || name.find("\u2029") != std::string::npos) {
    problems.AddMember(name, fmt::format("has a Unicode line break in its {} name", where), kInstallerOnly);
  }
  if (name.find('\\') != std::string::npos)
    problems.AddMember(name, fmt::format("has a backslash in its {} name", where), kInstallerOnly);
}

/// uv refuses a repeated field of any kind.
void CheckExtra(const std::string& name, std::string_view extra, std::string_view where,
                ProblemList& problems) {
  auto fields = zip::ParseExtra(extra);
  if (!fields) {
    // Python reads those of the central directory alone.
    const bool central = where.starts_with("central");
    problems.AddMember(name, fmt::format("has a damaged extra field in its {}", where),
                       central ? kAllConsumers : kPypiAndUv);
    return;
  }
  std::set<std::uint16_t> seen;
  for (const ExtraField& field : *fields) {
    const bool path = field.id == zip::kUnicodePathExtraId;
    const bool comment = field.id == zip::kUnicodeCommentExtraId;
    if (!seen.insert(field.id).second) {
      problems.AddMember(name, fmt::format("has an extra field twice in its {}", where),
                         path || field.id == zip::kZip64ExtraId ? kPypiAndUv : kUvOnly);
    }
    const bool cut =
        field.data.empty() || (field.data.front() == 1 && field.data.size() < zip::kUnicodeTextAt);
    if ((path || comment) && cut) {
      problems.AddMember(
          name, fmt::format("has a cut Unicode {} field in its {}", path ? "path" : "comment", where),
          kUvOnly);
    }
    if (path && zip::UnicodePath(field) != name)
      problems.AddMemberSplit(name, "has another name in its Unicode path field");
  }
}

void CheckCentral(const CentralRecord& record, ProblemList& problems) {
  if (!record.comment.empty()) {
    problems.AddMember(record.name, "has a comment in the central directory",
                       MayHoldArchive(record.comment) ? kPypiAndUv : kPypiOnly);
  }
  if (record.spare_zip64) {
    problems.AddMember(record.name, "has a ZIP64 field in the central directory that it does not need",
                       kUvOnly);
  }
  const bool is_folder = record.name.ends_with('/');
  if (is_folder && (record.size_bytes != 0 || record.crc32 != 0))
    problems.AddMember(record.name, "is a directory with content", {});
}

/// Checks every record. The result borrows `records`.
CentralIndex IndexCentral(const std::vector<CentralRecord>& records, ProblemList& problems) {
  CentralIndex index;
  for (const CentralRecord& record : records) {
    CheckName(record.name, "central", problems);
    CheckExtra(record.name, record.extra, "central directory", problems);
    if (!index.emplace(record.name, &record).second)
      problems.AddMemberSplit(record.name, "is twice in the central directory");
    CheckCentral(record, problems);
  }
  return index;
}

bool HasZip64(const LocalRecord& local) {
  const auto fields = zip::ParseExtra(local.extra);
  return fields && std::any_of(fields->begin(), fields->end(),
                               [](const ExtraField& field) { return field.id == zip::kZip64ExtraId; });
}

/// PyPI: of certain lengths. uv: a value for each plain size that points to it, no more; or both plain
/// sizes once more, as libzip writes them for sources of unknown size.
void CheckZip64(const LocalRecord& local, std::string_view data, ProblemList& problems) {
  const bool large_size = local.size_bytes32 == zip::kMax32;
  const bool large_stored = local.stored_bytes32 == zip::kMax32;
  switch (data.size()) {
    case 0:
      if (large_size || large_stored)
        problems.AddMemberSplit(local.name, "has an empty ZIP64 field that it needs");
      return;
    case 8:
      if (local.method != kStored) {
        problems.AddMember(local.name, "has one size in its ZIP64 field, but is compressed", kPypiOnly);
      }
      break;
    case 16:
    case 24:
    case 28:
      break;
    default:
      problems.AddMember(local.name, fmt::format("has a ZIP64 field of {} bytes", data.size()), kPypiAndUv);
      return;
  }
  const std::size_t wanted = std::size_t{large_size ? 8U : 0U} + (large_stored ? 8U : 0U);
  if (data.size() == wanted) return;
  const bool other_size = !large_size && zip::Get64(data, 0) != local.size_bytes32;
  const bool other_stored = data.size() >= 16 && !large_stored && zip::Get64(data, 8) != local.stored_bytes32;
  if (other_size || other_stored) {
    problems.AddMemberSplit(local.name, "has a ZIP64 field that contradicts its plain sizes");
  } else if (data.size() != 16 || wanted != 0) {
    problems.AddMember(local.name,
                       fmt::format("has a ZIP64 field of {} bytes, where its plain sizes leave {} to it",
                                   data.size(), wanted),
                       kUvOnly);
  }
}

void CheckLocalZip64(const LocalRecord& local, ProblemList& problems) {
  const auto fields = zip::ParseExtra(local.extra);
  if (!fields) return;
  for (const ExtraField& field : *fields) {
    if (field.id == zip::kZip64ExtraId) CheckZip64(local, field.data, problems);
  }
}

/// Checks a local header by itself.
void CheckLocal(const LocalRecord& local, ProblemList& problems) {
  CheckName(local.name, "local", problems);
  if ((local.flags & zip::kFlagDescriptor) != 0) problems.AddDescriptor(local.name);
  if ((local.flags & zip::kFlagEncrypted) != 0) problems.AddMember(local.name, "is encrypted", kAllConsumers);
  if (local.method != kStored && local.method != kDeflate) {
    problems.AddMember(local.name,
                       fmt::format("uses compression method {}, not stored or deflate", local.method),
                       RefuseMethod(local.method));
  }
  CheckExtra(local.name, local.extra, "local header", problems);
  CheckLocalZip64(local, problems);
}

/// Readers that refuse a member for a fault of its descriptor. uv checks deflated members as they come; for
/// stored ones it turns to the central directory.
Consumers RefuseOfDescriptor(const LocalRecord& local) {
  return local.method == kStored ? kPypiOnly : kPypiAndUv;
}

/// The numbers of a header with a descriptor are 0 (4.4.4). uv holds the content to a CRC that is not, and
/// to both sizes if the compressed one is not.
void CompareBesideDescriptor(const LocalRecord& local, const CentralRecord& central, ProblemList& problems) {
  const bool other_crc = local.crc32 != 0 && local.crc32 != central.crc32;
  const bool other_sizes = local.stored_bytes != 0 && (local.stored_bytes != central.stored_bytes ||
                                                       local.size_bytes != central.size_bytes);
  if (!other_crc && !other_sizes) return;
  problems.AddMember(local.name,
                     "has a CRC or size in its local header that the central directory contradicts",
                     RefuseOfDescriptor(local));
}

/// `offset`: of the local header.
void Compare(const LocalRecord& local, std::uint64_t offset, const CentralRecord& central,
             ProblemList& problems) {
  const auto differs = [&](std::string_view what) {
    problems.AddMemberSplit(
        local.name, fmt::format("has another {} in its local header than in the central directory", what));
  };
  if ((local.flags & zip::kFlagDescriptor) != 0) {
    CompareBesideDescriptor(local, central, problems);
  } else {
    if (local.stored_bytes != central.stored_bytes) differs("compressed size");
    if (local.size_bytes != central.size_bytes) differs("size");
    if (local.crc32 != central.crc32) differs("CRC");
  }
  if (local.method != central.method) differs("compression method");
  if (((local.flags ^ central.flags) & zip::kFlagDescriptor) != 0) {
    problems.AddMember(local.name, "has a data descriptor by one of its two headers only", kUvOnly);
  }
  if (offset != central.offset)
    problems.AddMemberSplit(local.name, "is not where the central directory says");
}

/// The bytes between the end of a member's content and the central directory.
struct BytesAfterContent {
  std::uint64_t room = 0;  ///< How many there are.
  std::string first = {};  ///< Enough for a descriptor and the signature behind it.

  /// True if another record begins `at` bytes behind the content.
  [[nodiscard]] bool RecordFollows(std::size_t at) const {
    return at == room || (first.size() >= at + 4 && zip::Get32(first, at) == zip::kLocalSignature);
  }
};

/// `offset`: end of the content. `end`: where the central directory begins.
Result<BytesAfterContent> ReadAfterContent(File& file, std::uint64_t offset, std::uint64_t end) {
  constexpr std::size_t kLongest = 24;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kLongest + 4, end - offset));
  BytesAfterContent after{.room = end - offset};
  PTPKG_TRY(after.first, zip::ReadRange(file, offset, count, "the file"));
  return after;
}

/// The size of the descriptor at the beginning of `after`; 0 if there is none.
std::size_t CheckDescriptor(const LocalRecord& local, const CentralRecord& central,
                            const BytesAfterContent& after, ProblemList& problems) {
  const bool wide = HasZip64(local);
  const std::array<DescriptorForm, 4> forms = {{{true, wide}, {false, wide}, {true, !wide}, {false, !wide}}};
  const DescriptorForm* found = nullptr;
  for (const DescriptorForm& form : forms) {
    if (form.SizeBytes() > after.first.size() || !form.Agrees(after.first, central)) continue;
    // Zeros behind an empty member may be of a longer form.
    if (found == nullptr ||
        (!after.RecordFollows(found->SizeBytes()) && after.RecordFollows(form.SizeBytes())))
      found = &form;
  }
  const Consumers refused_by = RefuseOfDescriptor(local);
  if (found != nullptr) {
    if (found->is_wide != wide) {
      problems.AddMember(local.name,
                         "has a data descriptor of the length that its local header does not announce",
                         refused_by);
    }
    return found->SizeBytes();
  }
  if (after.RecordFollows(0)) {
    problems.AddMember(local.name, "has no data descriptor, though its flags say so", refused_by);
    return 0;
  }
  problems.AddMember(local.name, "has a data descriptor that the central directory contradicts", refused_by);
  for (const DescriptorForm& form : forms) {
    if (form.SizeBytes() <= after.first.size() && after.RecordFollows(form.SizeBytes()))
      return form.SizeBytes();
  }
  return 0;
}

/// Checks a local header and compares it with the central record of its name, which is returned; null if
/// there is none. Adds the name to `seen`.
const CentralRecord* CheckAgainstIndex(const LocalRecord& local, std::uint64_t offset,
                                       const CentralIndex& index, std::set<std::string>& seen,
                                       ProblemList& problems) {
  CheckLocal(local, problems);
  if (!seen.insert(local.name).second) problems.AddMemberSplit(local.name, "has two local headers");
  const auto found = index.find(local.name);
  if (found == index.end()) {
    problems.AddMemberSplit(local.name, "is not in the central directory");
    return nullptr;
  }
  Compare(local, offset, *found->second, problems);
  return found->second;
}

/// Result of a walk over the local headers.
struct LocalWalk {
  bool reached_directory = false;  ///< False if the walk ended before the central directory.
  std::set<std::string> names = {};
};

Result<LocalWalk> WalkLocal(File& file, const zip::Directory& directory, const CentralIndex& index,
                            ProblemList& problems) {
  LocalWalk walk;
  std::uint64_t offset = 0;
  while (offset != directory.offset) {
    if (offset > directory.offset) {
      problems.AddSplit("the last member reaches into the central directory");
      return walk;
    }
    auto local = zip::ReadLocal(file, offset, "the file");
    if (!local) {
      if (local.error().code() != ErrorCode::kCorrupt) return std::move(local).error();
      problems.AddSplit(fmt::format(
          "at offset {} there is no valid local header: bytes before, between or after members", offset));
      return walk;
    }
    const CentralRecord* const central = CheckAgainstIndex(*local, offset, index, walk.names, problems);
    const bool has_descriptor = (local->flags & zip::kFlagDescriptor) != 0;
    if (has_descriptor && central == nullptr) return walk;  // nothing tells where it ends
    const std::uint64_t stored_bytes = has_descriptor ? central->stored_bytes : local->stored_bytes;
    if (stored_bytes > directory.file_bytes) {
      problems.AddMemberSplit(local->name, "is larger than the file");
      return walk;
    }
    offset = local->data_offset + stored_bytes;
    if (has_descriptor && offset <= directory.offset) {
      PTPKG_TRY(const BytesAfterContent after, ReadAfterContent(file, offset, directory.offset));
      offset += CheckDescriptor(*local, *central, after, problems);
    }
  }
  walk.reached_directory = true;
  return walk;
}

void CheckBomb(const zip::Directory& directory, ProblemList& problems) {
  std::uint64_t total = 0;
  for (const CentralRecord& record : directory.records) {
    total = record.size_bytes > UINT64_MAX - total ? UINT64_MAX : total + record.size_bytes;
  }
  if (total > kBombFromBytes && total / kBombRatio > directory.file_bytes) {
    problems.AddProblem(fmt::format("it unpacks to {} bytes, more than {} times its size", total, kBombRatio),
                        kPypiOnly);
  }
}

}  // namespace

Result<std::vector<ZipProblem>> StrictZipProblems(File& file) {
  ProblemList problems;
  auto directory = zip::ReadDirectory(file, "the file");
  if (!directory) {
    const ErrorCode code = directory.error().code();
    if (code != ErrorCode::kCorrupt && code != ErrorCode::kUnsupported) return std::move(directory).error();
    problems.AddSplit(directory.error().message());
    return std::move(problems).Take();
  }
  const CentralIndex index = IndexCentral(directory->records, problems);
  PTPKG_TRY(const LocalWalk walk, WalkLocal(file, *directory, index, problems));
  if (walk.reached_directory) {
    for (const CentralRecord& record : directory->records) {
      if (!walk.names.contains(record.name)) problems.AddMemberSplit(record.name, "has no local header");
    }
  }
  CheckBomb(*directory, problems);
  if (MayHoldArchive(directory->comment))
    problems.AddProblem("its comment could contain another archive", kUvOnly);
  return std::move(problems).Take();
}

}  // namespace ptpkg::archive
