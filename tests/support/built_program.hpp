// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_BUILT_PROGRAM_HPP
#define MORTISE_TESTS_SUPPORT_BUILT_PROGRAM_HPP

#include <filesystem>
#include <string>

namespace mortise::test {

/// The path of a program of this build: "tools/mortise", "tests/lock_actor".
///
/// It is found from the place of the test's own binary, `tests` in the same folder. A macro with an
/// absolute path would make the object files of each clone differ, and ccache could not share them.
inline std::string built_program(const char* place) {
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
    return (self.parent_path().parent_path() / place).string();
}

}  // namespace mortise::test

#endif
