#include "repair/loader_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/must.h"
#include "unit/repair/cache_image.h"

namespace ptpkg::repair {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::Must;
using test::CacheImage;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(LoaderCache, NamesLeadToPathsInOrder) {
  CacheImage image;
  image.Add("liba.so.1", "/opt/a/liba.so.1");
  image.Add("liba.so.1", "/lib/liba.so.1");
  image.Add("libb.so", "/lib/libb.so");
  const LoaderCache cache = Must(ParseLoaderCache(image.Build()));
  EXPECT_THAT(cache.at("liba.so.1"), ElementsAre("/opt/a/liba.so.1", "/lib/liba.so.1"));
  EXPECT_THAT(cache.at("libb.so"), ElementsAre("/lib/libb.so"));
}

TEST(LoaderCache, WhatBetterProcessorsGetIsLeftOut) {
  CacheImage image;
  image.Add("liba.so", "/lib/glibc-hwcaps/x86-64-v3/liba.so", /*hwcap=*/1ULL << 62U);
  image.Add("liba.so", "/lib/liba.so");
  EXPECT_THAT(Must(ParseLoaderCache(image.Build())).at("liba.so"), ElementsAre("/lib/liba.so"));
}

TEST(LoaderCache, StandsBehindTheOldFormatToo) {
  CacheImage image;
  image.Add("liba.so", "/lib/liba.so");
  EXPECT_THAT(Must(ParseLoaderCache(image.BuildBehindOld(3))).at("liba.so"), ElementsAre("/lib/liba.so"));
}

TEST(LoaderCache, NoByteOfADamagedOneIsTrusted) {
  CacheImage image;
  image.Add("liba.so", "/lib/liba.so");
  const std::string whole = image.Build();
  // Without its last byte the last text has no end.
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(ParseLoaderCache(whole.substr(0, size)).has_value()) << size;
  EXPECT_THAT(ParseLoaderCache(whole.substr(0, whole.size() - 1)),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("a name that leaves it")));
  EXPECT_THAT(ParseLoaderCache(whole.substr(0, 60)), FailsWith(ErrorCode::kCorrupt, HasSubstr("is cut off")));
  EXPECT_THAT(ParseLoaderCache(image.BuildBehindOld(3).substr(0, 40)),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("is cut off")));
  EXPECT_THAT(ParseLoaderCache("hello, this is no cache at all"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("unknown format")));
  std::string foreign = whole;
  foreign[28] = 3;  // big endian
  EXPECT_THAT(ParseLoaderCache(foreign), FailsWith(ErrorCode::kUnsupported, HasSubstr("another byte order")));
}

}  // namespace
}  // namespace ptpkg::repair
