// SPDX-License-Identifier: BSL-1.0
// `mortise` as a process, where a PgBouncer answers in the place of a PostgreSQL server. Left out
// where PgBouncer is missing.

#include "chaos/cli_fixture.hpp"
#include "support/pgbouncer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::test::cli_pooler_test {
namespace {

using CliAtPooler = Cli;

// The second one meets what the first one has left on the pooler's connection to the server.
TEST_F(CliAtPooler, DoctorSaysToNameTheServerItself) {
    const postgres_server server;
    const pgbouncer pooler(server);
    for (int visit = 0; visit < 2; ++visit) {
        cli_process doctor = start({"--store", pooler.url(), "doctor", "--create"});
        EXPECT_EQ(doctor.wait(), 1) << doctor.err();
        const std::string text = doctor.out() + doctor.err();
        EXPECT_NE(text.find("BROKEN"), std::string::npos) << text;
        EXPECT_NE(text.find("a pooler answers in the server's place"), std::string::npos) << text;
        EXPECT_NE(text.find("name the server itself"), std::string::npos) << text;
        EXPECT_EQ(text.find(postgres_server::password), std::string::npos) << text;
    }
}

}  // namespace
}  // namespace mortise::test::cli_pooler_test
