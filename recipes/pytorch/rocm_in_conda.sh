# Read by the build script for ROCm if the compiler is conda's.
#
# hipcc has ROCm's headers in a system directory, behind those of conda, and drops a -I for the same directory. A copy comes first.
# Its files keep their times, and it has its name once it is whole, so that a resumed build compiles nothing again.
if [ ! -e rocm-include ]; then
  rm -rf rocm-include.part
  cp -rLp "$ROCM_PATH/include" rocm-include.part
  mv rocm-include.part rocm-include
fi
export HIPCC_COMPILE_FLAGS_APPEND="-I$SRC_DIR/rocm-include $HIPCC_COMPILE_FLAGS_APPEND" CXXFLAGS="-I$SRC_DIR/rocm-include $CXXFLAGS"
# clang looks for GCC in /usr, so conda's is named. clang knows the option since 16.
if hipcc --help | grep -q -e --gcc-install-dir; then
  gcc_of_conda=--gcc-install-dir=$(dirname "$("$CXX" -print-libgcc-file-name)")
  export HIPCC_COMPILE_FLAGS_APPEND="$HIPCC_COMPILE_FLAGS_APPEND $gcc_of_conda" HIPCC_LINK_FLAGS_APPEND=$gcc_of_conda
fi
