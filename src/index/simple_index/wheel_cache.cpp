// Caches digests of wheels between runs. A digest is valid while size, time and the digest of the zip's
// central directory are the same. The directory holds the CRC of each member, so it shows another file of
// the same size and time. A damaged cache, or one of another version, counts as empty.

#include "index/simple_index/wheel_cache.h"

#include <optional>

#include "index/index_files.h"
#include "support/text/json.h"

namespace ptpkg::index {
namespace {

// Raised whenever the meaning of a stored field changes; older caches are then not used.
constexpr int kWheelCacheVersion = 1;

AbsPath CachePath(const AbsPath& root) { return root / ".cache" / "ptpkg-wheels.json"; }

Result<HashedWheel> ParseOne(const Json& item) {
  HashedWheel wheel;
  PTPKG_TRY(const std::int64_t size, JsonInteger(item, "size", "cache"));
  wheel.size_bytes = static_cast<std::uint64_t>(size);
  PTPKG_TRY(wheel.mtime_ns, JsonInteger(item, "mtime_ns", "cache"));
  PTPKG_TRY(const std::string directory, JsonString(item, "directory", "cache"));
  PTPKG_TRY(wheel.directory, Sha256::FromHex(directory));
  PTPKG_TRY(const std::string sha256, JsonString(item, "sha256", "cache"));
  PTPKG_TRY(wheel.sha256, Sha256::FromHex(sha256));
  return wheel;
}

HashedWheels Parse(std::string_view text) {
  HashedWheels wheels;
  const Result<Json> document = ParseJson(text, "cache");
  if (!document || !document->is_object()) return wheels;
  const Result<std::int64_t> version = JsonInteger(*document, "version", "cache");
  const auto items = document->find("wheels");
  if (!version || *version != kWheelCacheVersion || items == document->end() || !items->is_object())
    return wheels;
  for (const auto& [path, item] : items->items()) {
    if (const Result<HashedWheel> wheel = ParseOne(item)) wheels.emplace(path, *wheel);
  }
  return wheels;
}

std::string Format(const HashedWheels& wheels) {
  Json items = Json::object();
  for (const auto& [path, wheel] : wheels) {
    items[path] = {{"size", wheel.size_bytes},
                   {"mtime_ns", wheel.mtime_ns},
                   {"directory", wheel.directory.Hex()},
                   {"sha256", wheel.sha256.Hex()}};
  }
  return DumpJson(Json{{"version", kWheelCacheVersion}, {"wheels", std::move(items)}});
}

}  // namespace

Result<HashedWheels> ReadWheelCache(Env& env, const AbsPath& root) {
  PTPKG_TRY(const bool there, Exists(env.fs, CachePath(root)));
  if (!there) return HashedWheels();
  PTPKG_TRY(const std::string text, ReadFile(env.fs, CachePath(root)));
  return Parse(text);
}

Result<void> WriteWheelCache(Env& env, const AbsPath& root, const HashedWheels& wheels) {
  if (wheels.empty()) {
    PTPKG_TRY(const bool there, Exists(env.fs, CachePath(root)));
    if (!there) return Ok();
  }
  return IndexFiles(env).Write(CachePath(root), Format(wheels));
}

}  // namespace ptpkg::index
