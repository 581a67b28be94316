#include "convert/layouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf/load/search_path.h"
#include "support/matchers.h"

namespace ptpkg::convert {
namespace {

using test::FailsWith;
using test::HasHint;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Layouts, KnowTheirNames) {
  EXPECT_THAT(BuiltInLayoutNames(), AllOf(Contains("pytorch-conda"), Contains("pytorch-wheel-cpu"),
                                          Contains("pytorch-wheel-cuda12"), Contains("pytorch-wheel-cuda13"),
                                          Contains("pytorch-wheel-rocm")));
  for (const std::string& name : BuiltInLayoutNames()) EXPECT_OK(BuiltInLayout(name)) << name;
  EXPECT_THAT(BuiltInLayout("pytorch-wheel-cuda14"),
              AllOf(FailsWith(ErrorCode::kNotFound, HasSubstr("unknown layout 'pytorch-wheel-cuda14'")),
                    HasHint(HasSubstr("did you mean 'pytorch-wheel-cuda1"))));
  EXPECT_THAT(BuiltInLayout("x"), HasHint(HasSubstr("known layouts: pytorch-conda, ")));
}

TEST(Layouts, HoldTheListsOfPyTorch) {
  ASSERT_OK_AND_ASSIGN(const auto conda, BuiltInLayout("pytorch-conda"));
  EXPECT_THAT(
      conda,
      ElementsAre(
          elf::PathRule{"torch/*.so*", {"$ORIGIN", "$ORIGIN/lib", "$ORIGIN/../../.."}, elf::PathTag::kRpath},
          elf::PathRule{"torch/lib/*.so*", {"$ORIGIN", "$ORIGIN/../../../.."}, elf::PathTag::kRpath}));
  ASSERT_OK_AND_ASSIGN(const auto cuda, BuiltInLayout("pytorch-wheel-cuda13"));
  EXPECT_EQ(elf::JoinSearchPath(cuda[1].search_path),
            "$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN/../../nvidia/nvshmem/lib:$ORIGIN/../../nvidia/nccl/lib:"
            "$ORIGIN/../../nvidia/cusparselt/lib:$ORIGIN/../../nvidia/cu13/lib:$ORIGIN");
  ASSERT_OK_AND_ASSIGN(const auto cuda12, BuiltInLayout("pytorch-wheel-cuda12"));
  EXPECT_THAT(cuda12[0].search_path, SizeIs(17));
  ASSERT_OK_AND_ASSIGN(const auto cpu, BuiltInLayout("pytorch-wheel-cpu"));
  EXPECT_THAT(cpu[0], Field(&elf::PathRule::tag, elf::PathTag::kRunpath));
}

}  // namespace
}  // namespace ptpkg::convert
