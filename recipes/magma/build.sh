# Run by bash -e in the source folder. BACKEND: cuda or hip. ARCHS: GPU architectures. CLOSURE: all, or a list of closures/.

found=$(sed -nE 's/^#define MAGMA_VERSION_(MAJOR|MINOR|MICRO) +([0-9]+).*/\2/p' include/magma_types.h | paste -sd.)
if [ "$found" != "$PKG_VERSION" ]; then
  echo "the sources are MAGMA $found, and the variant is $PKG_VERSION: name that release with --source $PKG_NAME=PATH" >&2
  exit 1
fi

# What is there already is left alone: a build that was interrupted would compile again what depends on it.
if ! cmp -s "$RECIPE_DIR/CMakeLists.txt" CMakeLists.txt; then
  cp "$RECIPE_DIR/CMakeLists.txt" CMakeLists.txt
fi
"$PYTHON" "$RECIPE_DIR/generate.py" "$BACKEND"

sources=
if [ "$CLOSURE" != all ]; then
  "$PYTHON" "$RECIPE_DIR/closure.py" "CMake.src.$BACKEND" "$RECIPE_DIR/closures/$CLOSURE.txt" > sources.new
  cmp -s sources.new sources.txt || cp sources.new sources.txt
  sources=$PWD/sources.txt
  echo "closure '$CLOSURE': $(wc -l < sources.txt) files"
fi

if [ "$BACKEND" = hip ]; then
  # CMake runs the clang behind hipcc. It does not look for Debian's name, clang++-17, and clang does not read hipcc's variable.
  if [ -z "${HIPCXX:-}" ]; then
    version=$(hipcc --version | sed -nE 's/.*clang version ([0-9]+).*/\1/p')
    for name in "clang++-$version" clang++; do
      clang=$(hipconfig --hipclangpath)/$name
      if [ -x "$clang" ]; then export HIPCXX=$clang; fi
    done
  fi
  export HIPFLAGS="${HIPFLAGS:-} ${HIPCC_COMPILE_FLAGS_APPEND:-}"
fi
cmake -G Ninja -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" \
  -DMAGMA_BACKEND="$BACKEND" -DMAGMA_ARCHS="$ARCHS" -DMAGMA_SOURCE_LIST="$sources"
cmake --build build --parallel "$CPU_COUNT"
cmake --install build

bash -e "$RECIPE_DIR/missing_symbols.sh" "$PREFIX/lib/libmagma.a"
