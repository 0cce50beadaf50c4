// SPDX-License-Identifier: BSL-1.0
// `mortise` as a process, with its locks at a ZooKeeper server. Left out where that is missing.

#include "chaos/cli_store.hpp"
#include "support/zookeeper_server.hpp"

namespace mortise::test {
namespace {

std::string zookeeper_url(const std::filesystem::path&) {
    return "zookeeper://" + shared_zookeeper().address() + "/cli?tick_ms=100";
}

INSTANTIATE_TEST_SUITE_P(
    AtServer, CliAtStore, testing::Values(cli_place{"ZooKeeper", &zookeeper_url}), &name_of_place
);

class CliAtZooKeeper : public Cli {
protected:
    CliAtZooKeeper() { environment_.front().second = zookeeper_url(folder_); }
};

TEST_F(CliAtZooKeeper, DoctorSaysThatItsTickIsTooShortAndWhichToSet) {
    cli_process good = start({"doctor"});
    const std::string store = "zookeeper://" + shared_zookeeper().address() + "/cli?tick_ms=50";
    cli_process bad = start({"--store", store, "doctor"});
    EXPECT_EQ(good.wait(), 0) << good.out() << good.err();
    EXPECT_NE(good.out().find("200 ms at least"), std::string::npos) << good.out();
    EXPECT_EQ(bad.wait(), 1) << bad.out() << bad.err();
    EXPECT_NE(bad.out().find("BROKEN  tick"), std::string::npos) << bad.out();
    EXPECT_NE(bad.out().find("set tick_ms=100"), std::string::npos) << bad.out();
}

}  // namespace
}  // namespace mortise::test
