#include "unit/elf/kept_elements.h"

#include <algorithm>
#include <cstring>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <set>

namespace ptpkg::elf::test {
namespace {

constexpr std::uint32_t kMagic = 0xba55ed50;
constexpr std::uint16_t kPtx = 1;
constexpr std::uint16_t kSass = 2;
constexpr std::uint64_t kThisChip = 0x100000;  // suffix 'a'
constexpr std::uint64_t kFamily = 0x200000;    // suffix 'f'

template <class T>
T At(std::string_view bytes, std::uint64_t at) {
  T value{};
  if (at + sizeof(value) <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

bool RunsHere(const FoundElement& element, std::uint32_t gpu) {
  static const std::set<std::uint32_t> kTegra = {32, 53, 62, 72, 87, 101, 110};
  const bool is_same_major = element.number / 10 == gpu / 10;
  if ((element.flags & kThisChip) != 0) return element.number == gpu;
  if (element.kind == kPtx && (element.flags & kFamily) == 0) return element.number <= gpu;
  if (element.kind != kPtx && element.kind != kSass) return false;
  if (kTegra.contains(gpu) || kTegra.contains(element.number)) return element.number == gpu;
  return is_same_major && element.number <= gpu;
}

/// The elements of `kind` that run on the GPU (0: those without suffix) and have the highest number.
std::set<std::size_t> Highest(const std::vector<FoundElement>& elements, std::uint16_t kind,
                              std::uint32_t gpu) {
  const auto has_suffix = [](const FoundElement& one) { return (one.flags & (kThisChip | kFamily)) != 0; };
  std::set<std::size_t> found;
  std::uint32_t highest = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].kind != kind || !(gpu == 0 ? !has_suffix(elements[i]) : RunsHere(elements[i], gpu)))
      continue;
    if (elements[i].number > highest) found.clear();
    highest = std::max(highest, elements[i].number);
    if (elements[i].number == highest) found.insert(i);
  }
  return found;
}

struct Named {
  std::uint64_t address = 0;
  std::string bytes;
};

/// The sections of that name, in the order of their headers.
std::vector<Named> SectionsNamed(const std::string& file, std::string_view name) {
  std::vector<Named> found;
  const auto table = At<std::uint64_t>(file, 40);
  const auto count = At<std::uint16_t>(file, 60);
  const std::uint64_t names = table + 64ULL * At<std::uint16_t>(file, 62);
  for (std::uint64_t at = table; at < table + 64ULL * count; at += 64) {
    const std::uint64_t text = At<std::uint64_t>(file, names + 24) + At<std::uint32_t>(file, at);
    if (text >= file.size() || name != file.c_str() + text) continue;
    found.push_back(
        {.address = At<std::uint64_t>(file, at + 16),
         .bytes = file.substr(At<std::uint64_t>(file, at + 24), At<std::uint64_t>(file, at + 32))});
  }
  return found;
}

void AddContainers(const Named& in, std::vector<FoundContainer>& found) {
  const std::string& section = in.bytes;
  std::size_t at = 0;
  while ((at = section.find_first_not_of('\0', at)) != std::string::npos) {
    if (At<std::uint32_t>(section, at) != kMagic) {
      ADD_FAILURE() << "byte " << at << " belongs to no container";
      break;
    }
    FoundContainer container{.address = in.address + at, .elements = {}};
    const std::uint64_t size_bytes = At<std::uint64_t>(section, at + 8);
    at += At<std::uint16_t>(section, at + 6);
    const std::uint64_t end = at + size_bytes;
    while (at < end) {
      const std::uint64_t size = At<std::uint32_t>(section, at + 4) + At<std::uint64_t>(section, at + 8);
      container.elements.push_back({.kind = At<std::uint16_t>(section, at),
                                    .number = At<std::uint32_t>(section, at + 28),
                                    .flags = At<std::uint64_t>(section, at + 40),
                                    .bytes = section.substr(at, size)});
      at += size;
    }
    EXPECT_EQ(at, end) << "an element passes the end of its container";
    found.push_back(std::move(container));
  }
}

}  // namespace

std::string SectionBytes(const std::string& file, std::string_view name) {
  const std::vector<Named> sections = SectionsNamed(file, name);
  return sections.empty() ? "" : sections.front().bytes;
}

std::vector<FoundContainer> FindContainers(const std::string& file) {
  std::vector<FoundContainer> found;
  for (const std::string_view name : {".nv_fatbin", "__nv_relfatbin"}) {
    for (const Named& section : SectionsNamed(file, name)) AddContainers(section, found);
  }
  return found;
}

std::optional<std::vector<FoundElement>> WantedOf(const FoundContainer& container,
                                                  const std::vector<std::uint32_t>& gpus, bool keep_ptx) {
  std::set<std::size_t> kept;
  for (const std::uint32_t gpu : gpus) {
    std::set<std::size_t> chosen = Highest(container.elements, kSass, gpu);
    if (chosen.empty()) chosen = Highest(container.elements, kPtx, gpu);
    if (chosen.empty()) return std::nullopt;
    kept.merge(chosen);
  }
  if (keep_ptx) kept.merge(Highest(container.elements, kPtx, 0));
  for (std::size_t i = 0; i < container.elements.size(); ++i) {
    if (container.elements[i].kind > kSass) kept.insert(i);  // for the device linker: stays with everything
  }
  std::vector<FoundElement> elements;
  for (const std::size_t index : kept) elements.push_back(container.elements[index]);
  return elements;
}

std::size_t ExpectKept(const std::string& original, const std::string& slice,
                       const std::vector<std::uint32_t>& gpus, bool keep_ptx) {
  std::size_t compared = 0;
  const std::vector<FoundContainer> before = FindContainers(original);
  const std::vector<FoundContainer> after = FindContainers(slice);
  EXPECT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    const std::vector<FoundElement> wanted = WantedOf(before[i], gpus, keep_ptx).value_or(before[i].elements);
    EXPECT_TRUE(after[i].elements == wanted) << fmt::format("container {}", i);
    compared += wanted.size();
  }
  return compared;
}

}  // namespace ptpkg::elf::test
