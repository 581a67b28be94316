// libarchive's tar reader over a ByteSource. Layer: archive.
//
// Names must arrive byte for byte, so every call into libarchive runs in the "C" locale of its thread
// (PlainLocale). The process's locale stays unchanged, since other threads use it.

#include "archive/tar/tar_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <clocale>
#include <fmt/core.h>
#include <vector>

namespace ptpkg::archive {
namespace {

constexpr std::size_t kBlockBytes = 256U << 10U;

/// libarchive converts the names of PAX headers to the charset of the thread's locale, and brings them into
/// composed form on the way: "e" and an accent become one character, another name on Linux. In the "C"
/// locale it can convert ASCII only. All other names come byte for byte, with a warning.
class PlainLocale {
 public:
  PlainLocale() : locale_(newlocale(LC_CTYPE_MASK, "C", nullptr)) {
    if (locale_ != nullptr) previous_ = uselocale(locale_);
  }
  ~PlainLocale() {
    if (locale_ == nullptr) return;
    uselocale(previous_);
    freelocale(locale_);
  }
  PlainLocale(const PlainLocale&) = delete;
  PlainLocale& operator=(const PlainLocale&) = delete;

 private:
  locale_t locale_;
  locale_t previous_ = nullptr;
};

TarKind KindOf(::archive_entry* entry) {
  if (archive_entry_hardlink(entry) != nullptr) return TarKind::kHardLink;
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
      return TarKind::kRegular;
    case AE_IFDIR:
      return TarKind::kDirectory;
    case AE_IFLNK:
      return TarKind::kSymlink;
    default:
      return TarKind::kOther;
  }
}

std::string TextOrEmpty(const char* text) { return text == nullptr ? std::string() : std::string(text); }

}  // namespace

struct TarReader::State final : public ByteSource {
  explicit State(ByteSource& below) : source(below), block(kBlockBytes) {}

  static la_ssize_t OnRead(::archive* handle, void* client, const void** buffer) {
    auto* self = static_cast<State*>(client);
    Result<std::size_t> count = self->source.Read(self->block);
    if (!count) {
      self->source_error = std::move(count).error();
      archive_set_error(handle, -1, "source failed");
      return -1;
    }
    *buffer = self->block.data();
    return static_cast<la_ssize_t>(*count);
  }

  /// The source's error if it stopped libarchive, else libarchive's own text.
  Error Failure(std::string_view doing) {
    if (source_error) return *source_error;
    return {ErrorCode::kCorrupt,
            fmt::format("tar is damaged: {} ({})", doing, TextOrEmpty(archive_error_string(handle.get())))};
  }

  Result<std::size_t> Read(MutableBytes buffer) override {
    const PlainLocale locale;
    const la_ssize_t count = archive_read_data(handle.get(), buffer.data(), buffer.size());
    if (count < 0) return Failure("content of a member");
    return static_cast<std::size_t>(count);
  }

  ByteSource& source;
  std::vector<std::byte> block;
  std::optional<Error> source_error;
  std::unique_ptr<::archive, int (*)(::archive*)> handle{nullptr, archive_read_free};
};

TarReader::TarReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
TarReader::TarReader(TarReader&&) noexcept = default;
TarReader::~TarReader() = default;

Result<TarReader> TarReader::Open(ByteSource& source) {
  auto state = std::make_unique<State>(source);
  state->handle.reset(archive_read_new());
  const PlainLocale locale;
  if (state->handle == nullptr || archive_read_support_format_tar(state->handle.get()) != ARCHIVE_OK) {
    return Error(ErrorCode::kInternal, "libarchive could not start a tar reader");
  }
  // A tar that holds only end blocks is the payload of a package without files.
  archive_read_support_format_empty(state->handle.get());
  if (archive_read_open(state->handle.get(), state.get(), nullptr, &State::OnRead, nullptr) != ARCHIVE_OK) {
    return state->Failure("its beginning");
  }
  return TarReader(std::move(state));
}

Result<std::optional<TarMember>> TarReader::Next() {
  const PlainLocale locale;
  ::archive_entry* entry = nullptr;
  const int status = archive_read_next_header(state_->handle.get(), &entry);
  if (status == ARCHIVE_EOF) {
    if (state_->source_error) return *state_->source_error;
    return std::optional<TarMember>();
  }
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return state_->Failure("header of a member");
  TarMember member;
  member.name = TextOrEmpty(archive_entry_pathname(entry));
  if (member.name.empty()) return state_->Failure("a member without a readable name");
  member.kind = KindOf(entry);
  member.mode = archive_entry_perm(entry);
  member.mtime = archive_entry_mtime(entry);
  if (archive_entry_sparse_count(entry) > 0) return state_->Failure("'" + member.name + "' is sparse");
  if (member.kind == TarKind::kRegular) {
    const la_int64_t size = archive_entry_size(entry);
    if (size < 0) return state_->Failure("negative size of '" + member.name + "'");
    member.size_bytes = static_cast<std::uint64_t>(size);
  } else if (member.kind == TarKind::kSymlink) {
    member.link_target = TextOrEmpty(archive_entry_symlink(entry));
  } else if (member.kind == TarKind::kHardLink) {
    member.link_target = TextOrEmpty(archive_entry_hardlink(entry));
  }
  return std::optional<TarMember>(std::move(member));
}

ByteSource& TarReader::content() { return *state_; }

}  // namespace ptpkg::archive
