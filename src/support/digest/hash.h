#pragma once
// Hashes data while it is streamed. Layer: support. OpenSSL EVP behind it, no OpenSSL type here.

#include <array>
#include <compare>
#include <memory>
#include <string>

#include "support/digest/stream.h"
#include "support/files/fs.h"

namespace ptpkg {

template <std::size_t kBytes>
struct Digest {
  std::array<std::uint8_t, kBytes> bytes{};

  /// Lower-case hexadecimal, 2 * kBytes characters.
  [[nodiscard]] std::string Hex() const;
  /// Errors: kInvalidInput unless exactly 2 * kBytes hexadecimal digits (either case).
  static Result<Digest> FromHex(std::string_view text);

  auto operator<=>(const Digest&) const = default;
};

using Sha256 = Digest<32>;
using Sha1 = Digest<20>;
using Md5 = Digest<16>;

/// URL-safe base64 without padding, as wheel's RECORD writes digests.
std::string Base64UrlUnpadded(Bytes bytes);

/// Which digests a HashingSink computes besides sha256, which it always does.
struct HashChoice {
  bool md5 = false;
};

struct Digests {
  Sha256 sha256;
  Md5 md5;  ///< All zero unless chosen.
  std::uint64_t size_bytes = 0;

  bool operator==(const Digests&) const = default;
};

/// Passes bytes on to `next` (may be null) and hashes them on the way.
class HashingSink final : public ByteSink {
 public:
  explicit HashingSink(ByteSink* next, HashChoice choice = {});
  ~HashingSink() override;
  Result<void> Write(Bytes bytes) override;
  /// The digests of all bytes so far. Call once, last.
  Digests Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Sha256 HashText(std::string_view text);
Sha1 Sha1OfText(std::string_view text);
Result<Digests> HashFile(Fs& fs, const AbsPath& path, HashChoice choice = {});

/// Digest of a sequence of named fields, unambiguous whatever bytes they hold: each field enters as
/// "<name length>:<name><value length>:<value>". The base of every content key of the pipeline.
class KeyHasher {
 public:
  KeyHasher();
  ~KeyHasher();
  KeyHasher& Add(std::string_view name, std::string_view value);
  Sha256 Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ptpkg
