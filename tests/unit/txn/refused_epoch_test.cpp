// SPDX-License-Identifier: BSL-1.0
// Locks whose tokens the log does not take, as its epochs are higher: in simulated time.
#include "mortise/coro/sleep.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/sim/lock_server.hpp"
#include "mortise/sim/world.hpp"
#include "mortise/store.hpp"
#include "mortise/txn/coordinator.hpp"
#include "support/scratch_folder.hpp"
#include "unit/txn/scripted_participant.hpp"

#include <boost/asio/as_tuple.hpp>
#include <gtest/gtest.h>

#include <sqlite3.h>

#include <chrono>
#include <memory>
#include <string>

namespace mortise::test::refused_epoch_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t partitions = 4;

/// A process with a coordinator, before and after its log has got epochs that are far higher.
class site {
public:
    site(sim::world& in, const scratch_folder& folder) : locks_(in, "locks"), folder_(folder) {}

    asio::awaitable<void> operator()(sim::process& self) {
        {
            txn::coordinator tcc(self.get_executor(), config(self));
            co_await until_it_decides(self, tcc);
            co_await tcc.async_stop();
        }
        sql("UPDATE mortise_txn_partition SET epoch = epoch + 1000000000000");
        txn::coordinator tcc(self.get_executor(), config(self));
        co_await coro::sleep_for(*self.time(), 10s);  // past what the opening costs
        const auto before = co_await tcc.async_log_stats();
        co_await coro::sleep_for(*self.time(), 60s);
        const auto after = co_await tcc.async_log_stats();
        forced_in_a_minute = after.batches_forced - before.batches_forced;
        owned_meanwhile = tcc.stats().partitions;
        txn::transaction transaction;
        transaction.add("stock", "");
        auto running = tcc.async_run(std::move(transaction), asio::as_tuple(asio::deferred));
        auto result = co_await std::move(running);
        refusal = std::get<0>(result);
        sql("UPDATE mortise_txn_partition SET epoch = epoch - 1000000000000");
        co_await until_it_decides(self, tcc);
        co_await tcc.async_stop();
        ended_well = true;
    }

    std::uint64_t forced_in_a_minute = 0;
    std::uint64_t owned_meanwhile = 0;
    error_code refusal;
    bool ended_well = false;

private:
    txn::coordinator_config config(sim::process& self) {
        client_config patience;
        patience.ttl = 2s;
        patience.time = self.time();
        txn::coordinator_config config;
        config.log = folder_.path() / "log.db";
        config.partitions = partitions;
        config.locks = std::make_shared<lock_client>(
            self.get_executor(), locks_.make_store(self), std::move(patience)
        );
        config.participants.emplace("stock", std::make_shared<scripted_participant>());
        config.time = self.time();
        config.jitter_seed = 1;
        return config;
    }
    static asio::awaitable<void> until_it_decides(sim::process& self, txn::coordinator& tcc) {
        while (tcc.stats().partitions != partitions)
            co_await coro::sleep_for(*self.time(), 10ms);
    }
    void sql(const char* statement) const {
        sqlite3* db = nullptr;
        EXPECT_EQ(::sqlite3_open((folder_.path() / "log.db").c_str(), &db), SQLITE_OK);
        EXPECT_EQ(::sqlite3_exec(db, statement, nullptr, nullptr, nullptr), SQLITE_OK);
        ::sqlite3_close(db);
    }

    sim::lock_server locks_;
    const scratch_folder& folder_;
};

TEST(TxnRefusedEpoch, IsOfferedAgainOnlyAfterAPause) {
    const scratch_folder folder(scratch_folder::place::memory);
    sim::world world(1);
    site shop(world, folder);
    sim::process& process = world.add_process("shop");
    process.run([&shop](sim::process& self) { return shop(self); });
    ASSERT_TRUE(world.run_until([&] { return shop.ended_well; }, 1h));
    EXPECT_LE(shop.forced_in_a_minute, 2u * 60 * partitions) << "one a second for each partition";
    EXPECT_GE(shop.forced_in_a_minute, 30u) << "and not given up";
    EXPECT_EQ(shop.owned_meanwhile, 0u);
    EXPECT_EQ(shop.refusal, txn::errc::standby);
    world.end();
}

}  // namespace
}  // namespace mortise::test::refused_epoch_test
