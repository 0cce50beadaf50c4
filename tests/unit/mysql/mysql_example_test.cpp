// SPDX-License-Identifier: BSL-1.0
#include "support/built_program.hpp"
#include "support/child_program.hpp"
#include "support/mariadb_server.hpp"
#include "support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace mortise::test::mysql_example_test {
namespace {

TEST(MysqlExample, PrintsTheNumbersInItsFirstLines) {
    auto& server = shared_mariadb();
    const std::string database = server.create_database("example");
    const scratch_folder folder;
    const auto output = folder.path() / "output";
    child_program example(
        {built_program("examples/18_mysql_session"), server.url(database)}, output
    );
    EXPECT_EQ(example.wait(std::chrono::seconds(60)), 0);
    std::ostringstream text;
    text << std::ifstream(output).rdbuf();
    EXPECT_EQ(text.str(), "49 and 51 are left\n");
}

}  // namespace
}  // namespace mortise::test::mysql_example_test
