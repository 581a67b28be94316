// arc4random of glibc 2.36 by getrandom, for programs that run with glibc 2.34. Layer: none.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <sys/random.h>

extern "C" {

void arc4random_buf(void* buffer, std::size_t size) noexcept {
  auto* at = static_cast<unsigned char*>(buffer);
  while (size > 0) {
    const ssize_t got = ::getrandom(at, size, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      __builtin_trap();
    }
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  arc4random_buf(&value, sizeof value);
  return value;
}

}  // extern "C"
