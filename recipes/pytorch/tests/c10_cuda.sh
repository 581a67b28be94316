# Run by bash -e with both packages in PREFIX.
toolkit=${CUDA_HOME:-$(dirname "$(dirname "$(readlink -f "$(command -v "${CUDACXX:-nvcc}")")")")}
"${CXX:-g++}" -std=c++17 "$RECIPE_DIR/tests/c10_cuda.cpp" -I"$PREFIX/include" -I"$toolkit/include" -o c10_cuda \
  -L"$PREFIX/lib" -lc10_cuda -lc10 -L"$toolkit/lib64" -lcudart -Wl,-rpath,"$PREFIX/lib" -Wl,-rpath-link,"$toolkit/lib64"
LD_LIBRARY_PATH=$toolkit/lib64 ./c10_cuda || [ $? = 77 ]
