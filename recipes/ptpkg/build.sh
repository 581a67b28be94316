# Compiles ptpkg and patchelf with their libraries linked in, except glibc and libgcc_s. Run by bash -e in the source directory.
libraries=$SRC_DIR/third_party/libraries

export XDG_CACHE_HOME=$SRC_DIR/third_party/cache
python3 scripts/build_lief --source third_party/lief

# The sources have no .git. A directory given by --source has no commit.
cmake --preset release -B out -DPTPKG_COMMIT="${GIT_FULL_HASH-}" -DBUILD_TESTING=OFF -DPTPKG_SELF_CONTAINED=ON -DCMAKE_PREFIX_PATH="$libraries" \
  -DCMAKE_INSTALL_PREFIX="$PREFIX"
cmake --build out --target ptpkg patchelf
cmake --install out

# The notices of what is linked in, and a bill of materials of Debian's part: ptpkg adds one of the recipe's sources.
notices=$PREFIX/share/licenses/ptpkg
packages=(libarchive-dev libbz2-dev libcli11-dev libdeflate-dev liblzma-dev libpugixml-dev libssl-dev libstdc++6
  libtomlplusplus-dev libutf8proc-dev libyaml-cpp-dev nlohmann-json3-dev zlib1g-dev)
mkdir -p "$notices" "$PREFIX/share/sbom/ptpkg"
cp third_party/curl/COPYING "$notices/curl"
cp third_party/fmt/LICENSE.rst "$notices/fmt"
cp third_party/libzip/LICENSE "$notices/libzip"
cp third_party/lief/LICENSE "$notices/lief"
cp third_party/zstd/LICENSE "$notices/zstd"
for name in "${packages[@]}"; do
  cp -L "/usr/share/doc/$name/copyright" "$notices/$name"
done
row='{"type": "library", "name": "${source:Package}", "version": "${Version}", "purl": "pkg:deb/debian/${Package}@${Version}"}'
{
  echo '{"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": ['
  dpkg-query -W -f="$row,\n" "${packages[@]}" | sed -E '$s/,$//; :plus; s/(pkg:deb[^"]*)\+/\1%2B/; t plus'
  echo ']}'
} >"$PREFIX/share/sbom/ptpkg/debian.cdx.json"
