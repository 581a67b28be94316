#include "pipeline/remote_cache/transfer_guard.h"

#include <algorithm>

namespace ptpkg::pipeline {

namespace {

constexpr std::chrono::milliseconds kLook{100};

}  // namespace

TransferGuard::TransferGuard(const Env& env, std::chrono::milliseconds patience)
    : clock_(env.clock),
      run_(env.cancel),
      patience_(patience),
      thread_([this](const std::stop_token& stop) { Watch(stop); }) {}

TransferGuard::Transfer::Transfer(TransferGuard& guard) : guard_(guard) {
  const auto now = guard.clock_.Now();
  const std::lock_guard lock(guard.mutex_);
  state_ = guard.transfers_.insert(guard.transfers_.end(), {.begin = now, .moved = now});
}

TransferGuard::Transfer::~Transfer() {
  const std::lock_guard lock(guard_.mutex_);
  guard_.transfers_.erase(state_);
}

void TransferGuard::Transfer::Moved(std::uint64_t bytes) {
  const auto now = guard_.clock_.Now();
  const std::lock_guard lock(guard_.mutex_);
  state_->moved = now;
  if (bytes < state_->bytes) state_->begin = now;  // the transfer was cut, and begins again
  state_->bytes = bytes;
}

bool TransferGuard::IsTooSlow(const State& state) const {
  const auto now = clock_.Now();
  if (now - state.moved > patience_) return true;
  const std::chrono::duration<double> passed = now - state.begin;
  return passed > patience_ &&
         static_cast<double>(state.bytes) < passed.count() * static_cast<double>(kLeastBytesPerSecond);
}

void TransferGuard::Watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested() && !token_.cancelled()) {
    if (run_.cancelled() ||
        std::ranges::any_of(transfers_, [&](const State& state) { return IsTooSlow(state); }))
      token_.Cancel();
    changed_.wait_for(lock, stop, kLook, [] { return false; });
  }
}

}  // namespace ptpkg::pipeline
