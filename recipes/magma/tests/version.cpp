// Links against the package and says its version; no GPU is needed.
#include <cstdio>
#include <magma_v2.h>

int main() {
  magma_int_t major = 0, minor = 0, micro = 0;
  magma_version(&major, &minor, &micro);
  std::printf("magma %d.%d.%d\n", static_cast<int>(major), static_cast<int>(minor), static_cast<int>(micro));
  return major == MAGMA_VERSION_MAJOR && minor == MAGMA_VERSION_MINOR && micro == MAGMA_VERSION_MICRO ? 0 : 1;
}
