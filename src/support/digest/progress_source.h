#pragma once
// Reports how much of a source has been read. Layer: support.

#include "support/digest/stream.h"
#include "support/reporter.h"

namespace ptpkg {

/// Passes through what `below` gives. Borrows both.
class ProgressSource final : public ByteSource {
 public:
  ProgressSource(ByteSource& below, Task& task) : below_(below), task_(task) {}
  Result<std::size_t> Read(MutableBytes buffer) override {
    PTPKG_TRY(const std::size_t got, below_.Read(buffer));
    task_.Advance(got);
    return got;
  }

 private:
  ByteSource& below_;
  Task& task_;
};

}  // namespace ptpkg
