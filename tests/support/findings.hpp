// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_FINDINGS_HPP
#define MORTISE_TESTS_SUPPORT_FINDINGS_HPP

#include "mortise/store_types.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mortise::test {

/// What an examination has found of a subject. It fails the test if there is nothing.
inline store_finding finding_of(const std::vector<store_finding>& all, const std::string& subject) {
    const auto one = std::find_if(all.begin(), all.end(), [&](const store_finding& each) {
        return each.subject == subject;
    });
    if (one == all.end()) {
        ADD_FAILURE() << "nothing of " << subject;
        return {};
    }
    EXPECT_EQ(one->found.back(), '.') << one->found;
    return *one;
}

}  // namespace mortise::test

#endif
