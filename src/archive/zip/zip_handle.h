#pragma once
// Reads zip members through libzip. Layer: archive, internal to it.

#include <memory>

#include "support/files/fs.h"

namespace ptpkg::archive::zip {

/// One libzip archive over an open file. Not thread-safe; several handles may share one File.
class Handle {
 public:
  /// `file` must outlive the handle. `archive`: display name for errors. Errors: kCorrupt, kIo.
  static Result<Handle> Open(File& file, std::string archive);
  Handle(Handle&&) noexcept;
  Handle& operator=(Handle&&) noexcept;
  ~Handle();

  /// Content of the member with this index in the central directory; its CRC and size are checked when
  /// the end is reached (kCorrupt). The source must not outlive the handle.
  /// Errors: kUnsupported for encryption and for methods that libzip lacks.
  Result<std::unique_ptr<ByteSource>> OpenMember(std::uint64_t index);

 private:
  struct State;
  explicit Handle(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ptpkg::archive::zip
