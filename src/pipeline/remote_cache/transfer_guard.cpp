#include "pipeline/remote_cache/transfer_guard.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

constexpr std::chrono::milliseconds kLook{100};

/// Seconds that this number of bytes may take.
double SecondsOf(std::uint64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(kLeastBytesPerSecond);
}

}  // namespace

TransferGuard::TransferGuard(const Env& env, std::chrono::milliseconds patience)
    : clock_(env.clock),
      run_(env.cancel),
      patience_(patience),
      thread_([this](const std::stop_token& stop) { Watch(stop); }) {}

TransferGuard::Transfer::Transfer(TransferGuard& guard, bool is_upload) : guard_(guard) {
  const auto now = guard.clock_.Now();
  const std::lock_guard lock(guard.mutex_);
  state_ = guard.transfers_.insert(guard.transfers_.end(),
                                   {.started = now, .begin = now, .moved = now, .is_upload = is_upload});
}

TransferGuard::Transfer::~Transfer() {
  const std::lock_guard lock(guard_.mutex_);
  guard_.waited_ += guard_.WaitedFor(*state_);
  guard_.transfers_.erase(state_);
}

void TransferGuard::Transfer::Moved(std::uint64_t bytes) {
  const auto now = guard_.clock_.Now();
  const std::lock_guard lock(guard_.mutex_);
  state_->moved = now;
  if (bytes < state_->bytes) {  // the transfer was cut, and begins again
    state_->begin = now;
    state_->bytes_before += state_->bytes;
  }
  state_->bytes = bytes;
}

bool TransferGuard::IsTooSlow(const State& state) const {
  const auto now = clock_.Now();
  if (now - state.moved > patience_) return true;
  const Seconds passed = now - state.begin;
  return passed > patience_ && SecondsOf(state.bytes) < passed.count();
}

TransferGuard::Seconds TransferGuard::WaitedFor(const State& state) const {
  if (state.is_upload) return Seconds(0);
  const Seconds passed = clock_.Now() - state.started;
  return std::max(Seconds(0), passed - kUsualAnswer - Seconds(SecondsOf(state.bytes_before + state.bytes)));
}

bool TransferGuard::HasWaitedTooLong() const {
  Seconds waited = waited_;
  for (const State& state : transfers_) waited += WaitedFor(state);
  return waited > 2 * patience_;
}

std::string TransferGuard::Reason() const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience_).count();
  if (too_long_) return fmt::format("its answers kept this run waiting for more than {} s", 2 * seconds);
  return fmt::format("a transfer stood still for {} s, or was slower than {} a second", seconds,
                     HumanBytes(kLeastBytesPerSecond));
}

void TransferGuard::Watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested() && !token_.cancelled()) {
    const bool too_slow =
        std::ranges::any_of(transfers_, [&](const State& state) { return IsTooSlow(state); });
    too_long_ = !too_slow && HasWaitedTooLong();
    if (run_.cancelled() || too_slow || too_long_) token_.Cancel();
    changed_.wait_for(lock, stop, kLook, [] { return false; });
  }
}

}  // namespace ptpkg::pipeline
