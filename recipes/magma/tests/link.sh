# Run by bash -e with the package in PREFIX: programs link against it, say its version, and solve a system where there is
# a GPU. CLOSURE, BACKEND: as for build.sh. Everywhere else: PREFIX=… RECIPE_DIR=recipes/magma CLOSURE=pytorch bash -e link.sh
if [ "${BACKEND:-cuda}" = cuda ]; then
  nvcc=${CUDACXX:-nvcc}
  toolkit=${CUDA_HOME:-$(dirname "$(dirname "$(readlink -f "$(command -v "$nvcc")")")")}
  folder=$toolkit/lib64 libraries="-lcublas -lcusparse -lcudart"
else
  toolkit=$(hipconfig --path)
  folder=$toolkit/lib libraries="-lhipblas -lhipsparse -lamdhip64"
fi
link() {  # link PROGRAM SOURCE OPTION...
  local program=$1 source=$2
  shift 2
  # magma_lapack.h wants to be told how Fortran compilers write names.
  "${CXX:-g++}" -DADD_ "$source" -I"$PREFIX/include" -I"$toolkit/include" "$@" -o "$program" \
    -L"$PREFIX/lib" -lmagma -L"$folder" $libraries -lopenblas -Wl,-rpath,"$folder"
}

link version "$RECIPE_DIR/tests/version.cpp"
./version

# Every function that the closure promises links, all at once.
case "$CLOSURE" in
  all)
    touch everything.cpp
    # -lmagma stands behind -L of the function above; this one is named by its path.
    link everything.so everything.cpp -shared -Wl,--whole-archive "$PREFIX/lib/libmagma.a" -Wl,--no-whole-archive \
      -Wl,--no-undefined ;;
  *)
    { echo '#include <magma_v2.h>'; echo 'void Call() {'
      # A macro takes arguments: only functions have an address.
      # As closure.py reads them
      names=$(sed 's/#.*//; /^ *$/d' "$RECIPE_DIR/closures/$CLOSURE.txt")
      [ "${BACKEND:-cuda}" = cuda ] || names=$(sed 's/cuda/hip/; s/cublas/hipblas/' <<< "$names")
      while read -r name; do
        printf '#ifndef %s\n  { auto* volatile function = &%s; (void)function; }\n#endif\n' "$name" "$name"
      done <<< "$names"
      echo '}'; } > everything.cpp
    link everything.so everything.cpp -shared -fPIC -Wl,--no-undefined ;;
esac
echo "linked: $(nm -D --defined-only everything.so | wc -l) symbols of closure '$CLOSURE'"

lu=
[ "$CLOSURE" = potrf ] || lu=-DWITH_LU
link solve "$RECIPE_DIR/tests/solve.cpp" $lu
./solve || [ $? = 77 ]
