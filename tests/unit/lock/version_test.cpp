// SPDX-License-Identifier: BSL-1.0
#include "mortise/version.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::version_test {
namespace {

TEST(Version, OfTheLibraryIsThatOfTheHeaderAndOfTheBuild) {
    const std::string of_header = std::to_string(MORTISE_VERSION_MAJOR) + "." +
                                  std::to_string(MORTISE_VERSION_MINOR) + "." +
                                  std::to_string(MORTISE_VERSION_PATCH);
    EXPECT_EQ(version(), of_header);
    EXPECT_STREQ(version(), MORTISE_VERSION_STRING);
}

}  // namespace
}  // namespace mortise::version_test
