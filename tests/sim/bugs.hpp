// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_BUGS_HPP
#define MORTISE_TESTS_SIM_BUGS_HPP

#include <string>
#include <string_view>
#include <vector>

namespace mortise::test {

/// The bugs that can be planted. Empty in a build without MORTISE_PLANT_BUGS.
std::vector<std::string> bug_names();

/// Plants this bug from now on. An empty name plants none.
void plant_bug(std::string_view name);

}  // namespace mortise::test

#endif
