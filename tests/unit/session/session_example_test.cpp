// SPDX-License-Identifier: BSL-1.0
#include "support/built_program.hpp"
#include "support/child_program.hpp"
#include "support/scratch_folder.hpp"
#include "unit/session/session_kind.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace mortise::test::session_example_test {
namespace {

std::string output_of(const std::string& example) {
    auto& server = session_kind::shared();
    const std::string database = server.create_database("example");
    const scratch_folder folder;
    const auto output = folder.path() / "output";
    child_program program(
        {built_program(("examples/" + example).c_str()), server.url(database)}, output
    );
    EXPECT_EQ(program.wait(std::chrono::seconds(60)), 0);
    std::ostringstream text;
    text << std::ifstream(output).rdbuf();
    return text.str();
}

TEST(SessionExample, PrintsTheNumbersInItsFirstLines) {
    EXPECT_EQ(output_of(session_kind::example), session_kind::example_output);
}

TEST(SessionExample, OversellsWithoutAHelperAndNotWithOne) {
    const std::string naive = "naive: 5 of 2 sold\n";
    EXPECT_EQ(output_of("19_optimistic_update"), naive + "with a version: 2 of 2 sold\n");
    EXPECT_EQ(output_of("20_row_locks"), naive + "with a row lock: 2 of 2 sold\n");
    EXPECT_EQ(output_of("21_unique_row"), naive + "with a unique row: 2 of 2 sold\n");
}

}  // namespace
}  // namespace mortise::test::session_example_test
