# Makes a Python distribution of the programs, so that pip and uv put them on PATH. Run by bash -e.
info=$SP_DIR/ptpkg-$PKG_VERSION.dist-info
mkdir -p "$info/sboms"
cp "$PREFIX/share/sbom/ptpkg/debian.cdx.json" "$info/sboms/"
cat >"$info/METADATA" <<TEXT
Metadata-Version: 2.1
Name: ptpkg
Version: $PKG_VERSION
Summary: Conda packages and wheels for native libraries, from one recipe and one build
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: System :: Software Distribution
TEXT
printf 'Wheel-Version: 1.0\nGenerator: ptpkg\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n' >"$info/WHEEL"
printf '%s,,\n' "${info##*/}/METADATA" "${info##*/}/WHEEL" "${info##*/}/RECORD" ../../../bin/ptpkg ../../../bin/patchelf >"$info/RECORD"
