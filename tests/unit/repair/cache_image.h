#pragma once
// A loader cache put together byte by byte, little endian.

#include <cstdint>
#include <string>
#include <vector>

namespace ptpkg::repair::test {

class CacheImage {
 public:
  void Add(std::string name, std::string path, std::uint64_t hwcap = 0) {
    entries_.push_back({std::move(name), std::move(path), hwcap});
  }

  [[nodiscard]] std::string Build() const {
    std::string image = "glibc-ld.so.cache1.1";
    Put(image, entries_.size(), 4);
    Put(image, 0, 4);  // bytes of the texts: nobody needs it
    image += std::string("\2\0\0\0", 4);
    image.resize(48, '\0');
    std::string texts;
    const std::size_t begin = 48 + 24 * entries_.size();
    for (const Entry& entry : entries_) {
      Put(image, 0x303, 4);  // x86-64, glibc
      Put(image, begin + texts.size(), 4);
      texts += entry.name + '\0';
      Put(image, begin + texts.size(), 4);
      texts += entry.path + '\0';
      Put(image, 0, 4);
      Put(image, entry.hwcap, 8);
    }
    return image + texts;
  }

  /// Behind `count` empty entries of the format before.
  [[nodiscard]] std::string BuildBehindOld(std::size_t count) const {
    std::string image("ld.so-1.7.0\0", 12);
    Put(image, count, 4);
    image.resize((16 + 12 * count + 7) / 8 * 8, '\0');
    return image + Build();
  }

 private:
  struct Entry {
    std::string name;
    std::string path;
    std::uint64_t hwcap = 0;
  };

  static void Put(std::string& image, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      image += static_cast<char>(value >> (8U * static_cast<unsigned>(i)) & 0xffU);
  }

  std::vector<Entry> entries_;
};

}  // namespace ptpkg::repair::test
