// Unpacks zips, members in parallel.

#include <algorithm>
#include <array>

#include "archive/extract_tree.h"
#include "archive/zip/zip_content.h"
#include "support/process/parallel.h"

namespace ptpkg::archive {
namespace {

/// A source whose first bytes are known before it is read.
class HeadedSource final : public ByteSource {
 public:
  static Result<HeadedSource> Begin(ByteSource& source) {
    HeadedSource headed(source);
    while (headed.size_ < headed.head_.size()) {
      PTPKG_TRY(const std::size_t got, source.Read(MutableBytes(headed.head_).subspan(headed.size_)));
      if (got == 0) break;
      headed.size_ += got;
    }
    return headed;
  }
  [[nodiscard]] Bytes head() const { return Bytes(head_).first(size_); }

  Result<std::size_t> Read(MutableBytes buffer) override {
    const Bytes left = head().subspan(given_);
    if (left.empty()) return source_->Read(buffer);
    const std::size_t count = std::min(left.size(), buffer.size());
    std::copy_n(left.begin(), count, buffer.begin());
    given_ += count;
    return count;
  }

 private:
  explicit HeadedSource(ByteSource& source) : source_(&source) {}

  ByteSource* source_;
  std::array<std::byte, ExtractOptions::kHeadBytes> head_{};
  std::size_t size_ = 0;
  std::size_t given_ = 0;
};

struct PlannedFile {
  std::size_t index = 0;  // in the central directory
  RelPath name;
};

class ZipExtractor final : public MemberVisitor {
 public:
  ZipExtractor(Env& env, ZipContent& zip, ExtractTree& tree) : env_(env), zip_(zip), tree_(tree) {}

  /// See ExtractOptions::wanted.
  void Want(std::function<bool(std::string_view, Bytes)> wanted) { wanted_ = std::move(wanted); }

  Result<void> Run() {
    PTPKG_CHECK(zip_.List(*this));
    PTPKG_CHECK(ParallelFor(env_.jobs, files_.size(), [this](std::size_t i) { return Unpack(files_[i]); }));
    return tree_.Finish();
  }

  Result<void> VisitDirectory(const std::string& raw_name) override { return tree_.AddFolder(raw_name); }
  Result<void> VisitFile(const std::string& raw_name, std::size_t index) override {
    PTPKG_TRY(std::optional<RelPath> name, tree_.AddFile(raw_name));
    if (name.has_value()) files_.push_back({.index = index, .name = *std::move(name)});
    return Ok();
  }
  Result<void> VisitSymlink(const std::string& raw_name, std::string target, std::size_t) override {
    return tree_.AddSymlink(raw_name, target);
  }
  Result<void> CountBytes(std::uint64_t bytes) override { return tree_.CountBytes(bytes); }
  [[nodiscard]] Error Refuse(std::string_view raw_name, std::string_view why) const override {
    return tree_.Refuse(raw_name, why);
  }

 private:
  Result<void> Unpack(const PlannedFile& planned) {
    const zip::CentralRecord& record = zip_.directory().records[planned.index];
    return zip_.Stream(planned.index, [&](ByteSource& content) -> Result<void> {
      PTPKG_TRY(HeadedSource headed, HeadedSource::Begin(content));
      if (wanted_ && !wanted_(record.name, headed.head())) return Ok();
      return tree_.WriteContent(planned.name, record.UnixMode(), headed);
    });
  }

  Env& env_;
  ZipContent& zip_;
  ExtractTree& tree_;
  std::function<bool(std::string_view, Bytes)> wanted_;
  std::vector<PlannedFile> files_;
};

}  // namespace

Result<void> ExtractZip(Env& env, const AbsPath& archive, const AbsPath& destination,
                        const ExtractOptions& options) {
  PTPKG_TRY(const std::unique_ptr<ZipContent> zip, ZipContent::Open(env.fs, archive, options.limits));
  Task task(env.reporter,
            {.stage = "unpack", .subject = std::string(archive.Name()), .total_bytes = zip->total_bytes()});
  ExtractTree tree(env, destination, options, archive.str(), zip->directory().file_bytes);
  tree.Tell(task);
  ZipExtractor extractor(env, *zip, tree);
  extractor.Want(options.wanted);
  PTPKG_CHECK(extractor.Run());
  task.Done();
  return Ok();
}

}  // namespace ptpkg::archive
