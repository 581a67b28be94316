// Gives libzip a File to read from, and turns its errors into ours.
//
// libzip asks for bytes through one callback with a command number. An error of File cannot pass through
// it, so it is kept in io_error and takes precedence over libzip's text. The state is on the heap, because
// libzip keeps its address while Handle may move. A handle belongs to one thread at a time.

#include "archive/zip/zip_handle.h"

#include <cstdlib>
#include <fmt/core.h>
#include <functional>
#include <optional>
#include <zip.h>

#include "archive/entry_set.h"

namespace ptpkg::archive::zip {

struct Handle::State {
  State(File& file_in, std::string archive_in) : file(file_in), archive(std::move(archive_in)) {
    zip_error_init(&source_error);
  }
  ~State() {
    if (handle != nullptr) zip_discard(handle);  // frees the source too
    zip_error_fini(&source_error);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// The error that a libzip code stands for; what File said comes first.
  Error Failure(const zip_error_t* error, std::string_view member) {
    if (io_error.has_value()) return *io_error;
    const int code = zip_error_code_zip(error);
    const bool is_unsupported =
        code == ZIP_ER_NOPASSWD || code == ZIP_ER_ENCRNOTSUPP || code == ZIP_ER_COMPNOTSUPP;
    zip_error_t copy = *error;
    const char* text = zip_error_strerror(&copy);
    std::string why = text != nullptr ? text : "unknown reason";
    if (copy.str != error->str)
      std::free(copy.str);  // NOLINT(cppcoreguidelines-no-malloc): libzip allocates it
    const std::string subject = member.empty() ? fmt::format("'{}'", archive)
                                               : fmt::format("'{}': member '{}'", archive, Printable(member));
    return Error(is_unsupported ? ErrorCode::kUnsupported : ErrorCode::kCorrupt,
                 fmt::format("{} cannot be read: {}", subject, why));
  }

  zip_int64_t OnRead(void* data, zip_uint64_t length) {
    auto got = file.ReadAt(offset, MutableBytes(static_cast<std::byte*>(data), length));
    if (!got) {
      io_error = std::move(got).error();
      zip_error_set(&source_error, ZIP_ER_READ, 0);
      return -1;
    }
    offset += *got;
    return static_cast<zip_int64_t>(*got);
  }

  zip_int64_t OnSeek(void* data, zip_uint64_t length) {
    const zip_int64_t target =
        zip_source_seek_compute_offset(offset, file_bytes, data, length, &source_error);
    if (target < 0) return -1;
    offset = static_cast<std::uint64_t>(target);
    return 0;
  }

  zip_int64_t OnStat(void* data) {
    auto* const stat = static_cast<zip_stat_t*>(data);
    zip_stat_init(stat);
    stat->size = file_bytes;
    stat->valid |= ZIP_STAT_SIZE;
    return sizeof(zip_stat_t);
  }

  static zip_int64_t OnCommand(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command) {
    auto& state = *static_cast<State*>(self);
    switch (command) {
      case ZIP_SOURCE_OPEN:
        state.offset = 0;
        return 0;
      case ZIP_SOURCE_READ:
        return state.OnRead(data, length);
      case ZIP_SOURCE_SEEK:
        return state.OnSeek(data, length);
      case ZIP_SOURCE_TELL:
        return static_cast<zip_int64_t>(state.offset);
      case ZIP_SOURCE_STAT:
        return state.OnStat(data);
      case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&state.source_error, data, length);
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_FREE:
        return 0;
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                              ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
                                              ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS, -1);
      default:
        zip_error_set(&state.source_error, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
  }

  File& file;
  std::string archive;
  std::uint64_t file_bytes = 0;
  std::uint64_t offset = 0;
  zip_error_t source_error{};
  std::optional<Error> io_error;
  zip_t* handle = nullptr;
};

namespace {

struct MemberCloser {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};

class MemberSource final : public ByteSource {
 public:
  using FailureFunction = std::function<Error(const zip_error_t*)>;
  MemberSource(zip_file_t* member, FailureFunction failure) : member_(member), failure_(std::move(failure)) {}

  Result<std::size_t> Read(MutableBytes buffer) override {
    const zip_int64_t got = zip_fread(member_.get(), buffer.data(), buffer.size());
    if (got < 0) return failure_(zip_file_get_error(member_.get()));
    return static_cast<std::size_t>(got);
  }

 private:
  std::unique_ptr<zip_file_t, MemberCloser> member_;
  FailureFunction failure_;
};

}  // namespace

Handle::Handle(std::unique_ptr<State> state) : state_(std::move(state)) {}
Handle::Handle(Handle&&) noexcept = default;
Handle& Handle::operator=(Handle&&) noexcept = default;
Handle::~Handle() = default;

Result<Handle> Handle::Open(File& file, std::string archive) {
  auto state = std::make_unique<State>(file, std::move(archive));
  PTPKG_TRY(const FileStat stat, file.Stat());
  state->file_bytes = stat.size_bytes;
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_function_create(&State::OnCommand, state.get(), &error);
  if (source != nullptr) {
    state->handle = zip_open_from_source(source, ZIP_RDONLY, &error);
    if (state->handle == nullptr) zip_source_free(source);
  }
  if (state->handle == nullptr) {
    Error failure = state->Failure(&error, "");
    zip_error_fini(&error);
    return failure;
  }
  zip_error_fini(&error);
  return Handle(std::move(state));
}

Result<std::unique_ptr<ByteSource>> Handle::OpenMember(std::uint64_t index) {
  const char* raw_name = zip_get_name(state_->handle, index, ZIP_FL_ENC_RAW);
  const std::string name = raw_name != nullptr ? raw_name : "";
  zip_file_t* member = zip_fopen_index(state_->handle, index, 0);
  if (member == nullptr) return state_->Failure(zip_get_error(state_->handle), name);
  return std::unique_ptr<ByteSource>(std::make_unique<MemberSource>(
      member,
      [state = state_.get(), name](const zip_error_t* error) { return state->Failure(error, name); }));
}

}  // namespace ptpkg::archive::zip
