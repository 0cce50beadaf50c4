// SPDX-License-Identifier: BSL-1.0
#include "support/built_program.hpp"
#include "support/child_program.hpp"
#include "support/postgres_server.hpp"
#include "support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace mortise::test::postgres_example_test {
namespace {

TEST(PostgresExample, PrintsWhatItSays) {
    auto& server = shared_postgres();
    const std::string database = server.create_database("example");
    const scratch_folder folder;
    const auto output = folder.path() / "output";
    child_program example(
        {built_program("examples/17_postgres_session"), server.url(database)}, output
    );
    EXPECT_EQ(example.wait(std::chrono::seconds(60)), 0);
    std::ostringstream text;
    text << std::ifstream(output).rdbuf();
    EXPECT_EQ(text.str(), "30 and 70 are left\n");
}

}  // namespace
}  // namespace mortise::test::postgres_example_test
