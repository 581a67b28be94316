// Writes tars in one canonical form (docs/formats/tar.md): plain ustar headers, and a PAX header only for a
// member that ustar cannot hold.
//
// libarchive's PAX writer converts names by the process's locale, which must not change bytes. The option
// hdrcharset=BINARY prevents that, but gives every member a PAX header. So two writers share one sink:
// FitsUstar picks the writer for each member, and only the ustar writer closes the archive.
//
// Invariant: the decision follows from name, link target and size alone. TarSize runs the same headers into
// a counter and must agree with the real archive to the byte, because the zstd frame states the size.

#include "archive/tar/tar_writer.h"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <cerrno>
#include <fmt/core.h>

namespace ptpkg::archive {
namespace {

constexpr std::size_t kTarReadBytes = 1U << 20U;
constexpr std::int64_t kMaxTime = 077777777777;  // eleven octal digits

struct EntryDeleter {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};
using EntryHandle = std::unique_ptr<archive_entry, EntryDeleter>;

constexpr std::uint64_t kMaxUstarSize = 077777777777;
constexpr std::size_t kNameBytes = 100;
constexpr std::size_t kPrefixBytes = 155;

/// POSIX 1003.1: prefix, '/' and name make the path.
bool FitsUstarName(std::string_view path) {
  if (path.size() <= kNameBytes) return true;
  const std::size_t slash = path.find('/', path.size() - kNameBytes - 1);
  return slash != std::string_view::npos && slash > 0 && slash <= kPrefixBytes && slash + 1 < path.size();
}

bool FitsUstar(const TarMember& member) {
  return IsAscii(member.name) && FitsUstarName(member.name) && IsAscii(member.link_target) &&
         member.link_target.size() <= kNameBytes && member.size_bytes <= kMaxUstarSize;
}

TarMember MemberOf(const Entry& entry, std::int64_t mtime) {
  return {.name = entry.name.str(),
          .kind = entry.is_symlink ? TarKind::kSymlink : TarKind::kRegular,
          .mode = entry.mode,
          .size_bytes = entry.size_bytes,
          .link_target = entry.link_target,
          .mtime = mtime};
}

/// One of libarchive's tar formats over a sink. The destructor writes nothing.
class Format {
 public:
  enum class Kind : std::uint8_t { kUstar, kPax };

  Format(ByteSink& out, Kind kind) : out_(out), kind_(kind) {}
  ~Format() {
    muted_ = true;  // free would write the end of the archive
    archive_write_free(handle_);
  }
  Format(const Format&) = delete;
  Format& operator=(const Format&) = delete;

  Result<void> Open() {
    const int format = kind_ == Kind::kUstar ? archive_write_set_format_ustar(handle_)
                                             : archive_write_set_format_pax_restricted(handle_);
    // PAX names are bytes: no conversion by the process's locale can touch them. The price is a PAX header on
    // every member, which is why ustar has a writer of its own.
    const bool is_set =
        kind_ == Kind::kUstar || archive_write_set_options(handle_, "hdrcharset=BINARY") == ARCHIVE_OK;
    if (format != ARCHIVE_OK || !is_set || archive_write_set_bytes_per_block(handle_, 0) != ARCHIVE_OK ||
        archive_write_open(handle_, this, nullptr, &Format::OnWrite, nullptr) != ARCHIVE_OK) {
      return Failure("tar");
    }
    return Ok();
  }

  Result<void> Header(const TarMember& member) {
    const bool is_symlink = member.kind == TarKind::kSymlink;
    const EntryHandle header(archive_entry_new2(handle_));
    archive_entry_set_pathname(header.get(), member.name.c_str());
    archive_entry_set_filetype(header.get(), is_symlink ? AE_IFLNK : AE_IFREG);
    archive_entry_set_perm(header.get(), is_symlink ? 0777 : member.mode & 0777U);
    archive_entry_set_mtime(header.get(), member.mtime, 0);
    archive_entry_set_uid(header.get(), 0);
    archive_entry_set_gid(header.get(), 0);
    if (is_symlink) archive_entry_set_symlink(header.get(), member.link_target.c_str());
    if (member.kind == TarKind::kHardLink) {
      archive_entry_set_hardlink(header.get(), member.link_target.c_str());
    }
    const bool has_content = member.kind == TarKind::kRegular;
    archive_entry_set_size(header.get(), has_content ? static_cast<la_int64_t>(member.size_bytes) : 0);
    // A warning would mean a field that was written otherwise than asked for.
    if (archive_write_header(handle_, header.get()) != ARCHIVE_OK) return Failure(member.name);
    return Ok();
  }

  Result<void> Content(Bytes bytes) {
    if (bytes.empty()) return Ok();
    const auto written = archive_write_data(handle_, bytes.data(), bytes.size());
    if (written < 0 || static_cast<std::size_t>(written) != bytes.size()) return Failure("content");
    return Ok();
  }

  /// Fills up what is missing of the member's content with zeros.
  Result<void> EndMember() {
    if (archive_write_finish_entry(handle_) != ARCHIVE_OK) return Failure("padding");
    return Ok();
  }

  /// Writes the end of the archive.
  Result<void> Close() {
    if (archive_write_close(handle_) != ARCHIVE_OK) return Failure("end of archive");
    return Ok();
  }

 private:
  static la_ssize_t OnWrite(::archive* handle, void* self, const void* data, std::size_t size) {
    auto& format = *static_cast<Format*>(self);
    if (!format.muted_) {
      auto result = format.out_.Write(Bytes(static_cast<const std::byte*>(data), size));
      if (result.has_value()) return static_cast<la_ssize_t>(size);
      format.sink_error_ = std::move(result).error();
      format.muted_ = true;
    }
    archive_set_error(handle, EIO, "the sink failed");
    return -1;
  }

  Error Failure(std::string_view where) {
    if (sink_error_.has_value()) return *sink_error_;
    const char* text = archive_error_string(handle_);
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("tar member '{}' cannot be written: {}", Printable(where),
                             text != nullptr ? text : "unknown reason"));
  }

  ByteSink& out_;
  Kind kind_;
  ::archive* handle_ = archive_write_new();
  std::optional<Error> sink_error_;
  bool muted_ = false;
};

/// Formats tar into a sink. Knows headers and padding, not where content comes from.
class TarFormat {
 public:
  explicit TarFormat(ByteSink& out) : ustar_(out, Format::Kind::kUstar), pax_(out, Format::Kind::kPax) {}

  Result<void> Open() {
    PTPKG_CHECK(ustar_.Open());
    return pax_.Open();
  }
  Result<void> Header(const TarMember& member) {
    current_ = FitsUstar(member) ? &ustar_ : &pax_;
    return current_->Header(member);
  }
  Result<void> Content(Bytes bytes) { return current_->Content(bytes); }
  Result<void> EndMember() { return current_->EndMember(); }
  Result<void> Close() { return ustar_.Close(); }

 private:
  Format ustar_;
  Format pax_;
  Format* current_ = &ustar_;  // of the open member
};

/// Content of the open member.
class TarContentSink final : public ByteSink {
 public:
  explicit TarContentSink(TarFormat& format) : format_(format) {}
  Result<void> Write(Bytes bytes) override { return format_.Content(bytes); }

 private:
  TarFormat& format_;
};

class CountingSink final : public ByteSink {
 public:
  Result<void> Write(Bytes bytes) override {
    count_ += bytes.size();
    return Ok();
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_ = 0;
};

}  // namespace

struct TarWriter::State {
  State(Env& env_in, ByteSink& out, std::int64_t mtime_in) : env(env_in), format(out), mtime(mtime_in) {}

  Result<void> CopyFile(const Entry& entry) {
    PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(*entry.file, OpenMode::kRead));
    FileSource source(*file);
    std::uint64_t left = entry.size_bytes;
    while (left > 0) {
      PTPKG_CHECK(env.cancel.Check());
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer.size()));
      PTPKG_TRY(const std::size_t got, source.Read(MutableBytes(buffer).first(wanted)));
      if (got == 0) return ChangedWhilePacked(entry);
      PTPKG_CHECK(format.Content(Bytes(buffer).first(got)));
      left -= got;
    }
    PTPKG_TRY(const std::size_t extra, source.Read(MutableBytes(buffer).first(1)));
    if (extra != 0) return ChangedWhilePacked(entry);
    return Ok();
  }

  Env& env;
  TarFormat format;
  TarContentSink content{format};
  std::int64_t mtime;
  std::vector<std::byte> buffer = std::vector<std::byte>(kTarReadBytes);
};

TarWriter::TarWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
TarWriter::TarWriter(TarWriter&&) noexcept = default;
TarWriter::~TarWriter() = default;

Result<TarWriter> TarWriter::Create(Env& env, ByteSink& out, std::int64_t mtime) {
  if (mtime < 0 || mtime > kMaxTime) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("time {} does not fit a tar, which holds 1970 to 2242", mtime));
  }
  auto state = std::make_unique<State>(env, out, mtime);
  PTPKG_CHECK(state->format.Open());
  return TarWriter(std::move(state));
}

Result<void> TarWriter::Append(const Entry& entry) {
  PTPKG_CHECK(state_->format.Header(MemberOf(entry, state_->mtime)));
  if (!entry.is_symlink) {
    if (entry.file.has_value()) {
      PTPKG_CHECK(state_->CopyFile(entry));
    } else {
      PTPKG_CHECK(state_->format.Content(AsBytes(entry.text)));
    }
  }
  return state_->format.EndMember();
}

Result<ByteSink*> TarWriter::Begin(const TarMember& member) {
  if (member.kind == TarKind::kDirectory || member.kind == TarKind::kOther) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("tar member '{}' is neither a file nor a link", Printable(member.name)));
  }
  TarMember header = member;
  header.mtime = std::clamp(member.mtime, std::int64_t{0}, kMaxTime);
  PTPKG_CHECK(state_->format.Header(header));
  return &state_->content;
}

Result<void> TarWriter::End() { return state_->format.EndMember(); }

Result<void> TarWriter::Finish() { return state_->format.Close(); }

Result<std::uint64_t> TarSize(const EntrySet& entries) {
  CountingSink counter;
  TarFormat format(counter);
  PTPKG_CHECK(format.Open());
  for (const Entry* entry : entries.Sorted()) {
    // The value of the time does not change a header's size: Create keeps it to what ustar holds.
    PTPKG_CHECK(format.Header(MemberOf(*entry, 0)));
    PTPKG_CHECK(format.EndMember());
  }
  PTPKG_CHECK(format.Close());
  return counter.count();
}

}  // namespace ptpkg::archive
