#pragma once
// The thread that tells a reporter that time passes. Layer: cli.

#include <memory>

#include "cli/output/reporters.h"

namespace ptpkg::cli {

/// Calls Tick() five times a second until its end. Without a thread to be had there are no ticks: progress is
/// then told when something happens.
class Ticker {
 public:
  explicit Ticker(ProgressReporter& reporter);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ptpkg::cli
