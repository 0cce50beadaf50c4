// SPDX-License-Identifier: BSL-1.0
// The example that newcomers see first, as a process.

#include "chaos/cli_process.hpp"
#include "support/built_program.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"
#include "support/redlock_servers.hpp"
#include "support/sql_store_server.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// A temporary folder, and the results of a sale that keeps its files there.
class FlashSale : public testing::Test {
public:
    FlashSale() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "mortise-sale-XXXXXX").native();
        EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    ~FlashSale() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

protected:
    cli_process start(const std::vector<std::string>& more) const {
        std::vector<std::string> all{
            built_program("examples/flash_sale"),
            "--processes",
            "3",
            "--buyers",
            "8",
            "--stock",
            "20",
            "--json"};
        all.insert(all.end(), more.begin(), more.end());
        // The sale starts the Redis server of the tests.
        const auto servers = redis_server::program().parent_path();
        return cli_process(
            folder_,
            all,
            {{"TMPDIR", folder_.native()}, {"PATH", servers.native() + ":/usr/bin:/bin"}}
        );
    }

    /// Checks that the rounds went as they should, and that the sale left nothing.
    void expect_exact(cli_process& sale) const {
        EXPECT_EQ(sale.wait(50s), 0) << sale.err();
        const boost::json::value result = boost::json::parse(sale.out());
        EXPECT_TRUE(result.at("exact").as_bool());
        const boost::json::value& without = result.at("rounds").at(0);
        const boost::json::value& with = result.at("rounds").at(1);
        EXPECT_GT(without.at("sold").as_int64(), 20);
        EXPECT_EQ(without.at("oversold").as_int64(), without.at("sold").as_int64() - 20);
        EXPECT_EQ(with.at("sold").as_int64(), 20);
        EXPECT_EQ(with.at("stock_left").as_int64(), 0);
        const boost::json::value& attacked = result.at("rounds").at(2);
        EXPECT_EQ(attacked.at("sold").as_int64(), 20);
        EXPECT_EQ(attacked.at("stock_left").as_int64(), 0);
        EXPECT_GT(attacked.at("killed").as_int64(), 0);
        EXPECT_GT(attacked.at("stopped").as_int64(), 0);
        EXPECT_GT(attacked.at("refused").as_int64(), 0) << "no writer was late";
        const boost::json::value& paid = result.at("rounds").at(3);
        EXPECT_EQ(paid.at("sold").as_int64(), 20);
        EXPECT_EQ(paid.at("stock_left").as_int64(), 0);
        EXPECT_TRUE(paid.at("balanced").as_bool());
        EXPECT_GT(paid.at("killed").as_int64(), 0);
        EXPECT_GT(paid.at("poor").as_int64(), 0) << "nobody was without money";
        expect_delivered(result.at("delivery"));
        expect_nothing_left();
    }

    /// Checks that each order reached the shippers, and that every seventh came back.
    static void expect_delivered(const boost::json::value& delivery) {
        EXPECT_EQ(delivery.at("ordered").as_int64(), 20);
        EXPECT_EQ(delivery.at("shipped").as_int64(), 18);
        EXPECT_EQ(delivery.at("refused").as_int64(), 2);
        EXPECT_EQ(delivery.at("taken_back").as_int64(), 2);
        EXPECT_EQ(delivery.at("twice").as_int64(), 0);
        EXPECT_TRUE(delivery.at("balanced").as_bool());
        EXPECT_GT(delivery.at("killed").as_int64(), 0) << "nobody was killed while delivering";
    }

    /// The log of the server that a sale started; empty before it writes one.
    std::string server_log() const {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
            if (entry.path().filename() == "redis.log")
                return text_of(entry.path());
        return {};
    }

    void expect_nothing_left() const {
        int left = 0;
        for (const auto& entry : std::filesystem::directory_iterator(folder_))
            left += entry.is_directory();
        EXPECT_EQ(left, 0) << "its temporary folder was not removed";
    }

    std::filesystem::path folder_;
};

TEST_F(FlashSale, SellsExactlyTheStockWithALockAlsoWhenItsHoldersAreKilledAndStopped) {
    cli_process sale = start({});
    expect_exact(sale);
}

TEST_F(FlashSale, StartsARedisServerForItsLocksAndStopsItAgain) {
    cli_process sale = start({"--store", "redis"});
    // The first line contains the process id: "1234:C 21 Nov 2026 ... Redis is starting"
    ASSERT_TRUE(eventually([&] { return server_log().find(':') != std::string::npos; }))
        << sale.err();
    const pid_t server = static_cast<pid_t>(std::stol(server_log()));
    EXPECT_TRUE(runs(server));
    expect_exact(sale);
    EXPECT_FALSE(runs(server));
}

TEST_F(FlashSale, SellsAtAGivenRedisServer) {
    redis_server server;
    cli_process sale = start({"--store", "redis://" + server.address() + "/?assume_new=1"});
    expect_exact(sale);
    EXPECT_TRUE(server.runs());
}

// One is stopped and lets time pass, the other one dies and forgets everything.
TEST_F(FlashSale, SellsAtFiveRedisServersOfWhichTwoAlwaysFail) {
    redlock_servers servers(5);
    std::string url = "redlock://";
    for (std::size_t index = 0; index < servers.size(); ++index)
        url += (index == 0 ? "" : ",") + servers.at(index).address();
    {
        // Makes the store: all nodes must be there once.
        auto config = servers.config();
        config.longest_ttl = 5s;
        redis_user first(make_redlock_store(config), client_config());
        ASSERT_FALSE(first.acquire("door").code);
    }
    cli_process sale = start({"--store", url + "?longest_ttl_ms=5000"});
    std::promise<void> over;
    auto ended = over.get_future();
    auto shaking = std::async(std::launch::async, [&servers, &ended] {
        while (ended.wait_for(400ms) == std::future_status::timeout) {
            servers.at(3).suspend();
            servers.at(4).kill();
            ended.wait_for(400ms);
            servers.at(4).start(redis_server::data::lost);
            servers.at(3).resume();
        }
    });
    const std::shared_ptr<void> end(nullptr, [&over](void*) { over.set_value(); });
    expect_exact(sale);
}

#ifdef MORTISE_STORE_AT_POSTGRES
TEST_F(FlashSale, SellsAtAGivenPostgresServer) {
    const auto server = make_postgres_store_server();
    cli_process sale = start({"--store", server->url()});
    expect_exact(sale);
    EXPECT_EQ(server->residue(), "");
}
#endif

TEST_F(FlashSale, AnInterruptedSaleStopsItsServer) {
    cli_process sale = start({"--store", "redis", "--think", "1000"});
    ASSERT_TRUE(eventually([&] { return server_log().find(':') != std::string::npos; }))
        << sale.err();
    const pid_t server = static_cast<pid_t>(std::stol(server_log()));
    sale.send(SIGTERM);
    EXPECT_EQ(sale.wait(10s), 2) << sale.err();
    EXPECT_FALSE(runs(server));
    expect_nothing_left();
}

}  // namespace
}  // namespace mortise::test
