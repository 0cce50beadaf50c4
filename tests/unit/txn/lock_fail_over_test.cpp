// SPDX-License-Identifier: BSL-1.0
// Two coordinators on one log, whose lock store forgets who holds what.
#include "chaos/looked_at_file.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/store/memory.hpp"
#include "mortise/store/redis.hpp"
#include "mortise/txn/barrier.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/scratch_folder.hpp"
#include "unit/txn/coordinator_site.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::lock_fail_over_test {
namespace {

using namespace std::chrono_literals;
using txn::outcome;

/// What a call does at a participant: it leaves a row, behind a barrier.
class booking {
public:
    explicit booking(txn::call call) : call_(std::move(call)) {}
    result<txn::reply> operator()(db::connection& on) const {
        return txn::barrier::pass(on, call_, [&] {
            on.run(
                "INSERT INTO effect(number, what, epoch) VALUES(?1, ?2, ?3)",
                static_cast<std::int64_t>(call_.gid.number),
                std::string(to_string(call_.type)),
                static_cast<std::int64_t>(call_.epoch)
            );
            return txn::reply::done();
        });
    }

private:
    txn::call call_;
};

/// A participant with a database of its own.
class bookkeeper final : public txn::participant {
public:
    explicit bookkeeper(const std::filesystem::path& path)
        : books_(context_.get_executor(), config(path)) {}

    asio::awaitable<result<txn::reply>> carry_out(txn::call call) override {
        booking work(std::move(call));
        auto done = co_await books_.async_run(
            std::move(work), db::durability::lazy, asio::as_tuple(asio::deferred)
        );
        auto& [failed, answer] = done;
        if (failed)
            co_return failed;
        co_return std::move(answer);
    }

private:
    static db::sqlite_config config(const std::filesystem::path& path) {
        const looked_at_file file(path);
        file.connect().run("CREATE TABLE effect(id INTEGER PRIMARY KEY, number INTEGER NOT NULL,"
                           " what TEXT NOT NULL, epoch INTEGER NOT NULL)");
        db::sqlite_config config;
        config.path = path;
        return config;
    }

    asio::io_context context_;  // nothing runs on it: who asks brings an executor
    db::sqlite books_;
};

class TxnLockFailOver : public testing::Test {
protected:
    static constexpr std::uint32_t partitions = 2;

    txn::coordinator_config config() const {
        txn::coordinator_config config;
        config.log = log();
        config.partitions = partitions;
        config.participants.emplace("stock", stock_);
        config.participants.emplace("wallet", wallet_);
        config.retry_first = 2ms;
        config.retry_max = 50ms;
        config.jitter_seed = 1;
        return config;
    }
    std::filesystem::path log() const { return folder_.path() / "log.db"; }

    void make_sites(const std::function<std::unique_ptr<store>()>& make_store) {
        for (auto& each : sites_)
            each = std::make_unique<coordinator_site>(make_store(), config());
        ASSERT_TRUE(they_share());
    }
    bool they_share() const {
        return eventually(
            [&] { return sites_[0]->partitions() == 1 && sites_[1]->partitions() == 1; }, 20s
        );
    }

    void begin(coordinator_site& at, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            txn::transaction transaction;
            transaction.add("stock", "");
            transaction.add("wallet", "");
            running_.push_back(at->async_run(std::move(transaction), asio::use_future));
        }
    }
    /// What callers are told, which must never be told otherwise.
    void hear() {
        for (auto& each : std::exchange(running_, {})) {
            ASSERT_EQ(each.wait_for(20s), std::future_status::ready);
            try {
                const auto outcome = each.get();
                if (!outcome.unknown())
                    outcomes_.emplace(outcome.gid().number, outcome.confirmed());
            } catch (const boost::system::system_error& failed) {
                codes_.push_back(failed.code());
            }
        }
    }

    std::uint64_t highest_epoch() const {
        const looked_at_file file(log());
        auto on = file.connect();
        auto row = on.query("SELECT max(epoch) FROM mortise_txn_partition");
        return row.step() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
    }

    std::string name_of_the_locks() const {
        const looked_at_file file(log());
        auto on = file.connect();
        auto row = on.query("SELECT epochs FROM mortise_txn_log");
        return row.step() ? row.text(0) : std::string();
    }

    void expect_all_ended() {
        EXPECT_TRUE(eventually(
            [&] {
                auto looking =
                    (*sites_[0])->async_list(txn::list_filter::unfinished, 0, 1, asio::use_future);
                return looking.get().empty();
            },
            20s
        ));
    }
    /// One decision for each transaction, and the same for callers, log and participants, made and
    /// carried out by no lower epoch than the one before.
    void judge() {
        const looked_at_file file(log());
        auto on = file.connect();
        for (const auto& [number, confirmed] : outcomes_) {
            auto row = on.query(
                "SELECT state FROM mortise_txn WHERE number = ?1", static_cast<std::int64_t>(number)
            );
            ASSERT_TRUE(row.step());
            EXPECT_EQ(row.integer(0) == 2, confirmed) << number << " was told otherwise";
        }
        for (const std::string who : {"stock", "wallet"}) {
            on.run("ATTACH ?1 AS books", (folder_.path() / (who + ".db")).string());
            EXPECT_EQ(count(on, twice), 0) << who;
            EXPECT_EQ(count(on, against_the_decision), 0) << who;
            EXPECT_EQ(count(on, by_a_lower_epoch), 0) << who;
            EXPECT_EQ(count(on, not_carried_out), 0) << who;
            on.run("DETACH books");
        }
        EXPECT_FALSE(outcomes_.empty());
    }

    const scratch_folder folder_;
    std::shared_ptr<bookkeeper> stock_ = std::make_shared<bookkeeper>(folder_.path() / "stock.db");
    std::shared_ptr<bookkeeper> wallet_ =
        std::make_shared<bookkeeper>(folder_.path() / "wallet.db");
    std::array<std::unique_ptr<coordinator_site>, 2> sites_;
    std::vector<error_code> codes_;

private:
    static constexpr const char* twice =
        "SELECT count(*) FROM (SELECT 1 FROM books.effect GROUP BY number, what"
        " HAVING count(*) > 1)";
    static constexpr const char* against_the_decision =
        "SELECT count(*) FROM books.effect JOIN mortise_txn USING(number)"
        " WHERE (what = 'confirm' AND state <> 2) OR (what = 'cancel' AND state <> 3)";
    static constexpr const char* by_a_lower_epoch =
        "SELECT count(*) FROM books.effect AS late JOIN books.effect AS early"
        " ON early.number = late.number AND early.id < late.id AND early.epoch > late.epoch";
    static constexpr const char* not_carried_out =
        "SELECT count(*) FROM mortise_txn AS t WHERE state = 2 AND NOT EXISTS("
        "SELECT 1 FROM books.effect AS e WHERE e.number = t.number AND what = 'confirm'"
        " AND e.epoch >= t.decided_epoch)";

    static std::int64_t count(db::connection& on, const char* wrong) {
        auto row = on.query(wrong);
        return row.step() ? row.integer(0) : -1;
    }

    std::vector<std::future<outcome>> running_;
    std::map<std::uint64_t, bool> outcomes_;
};

// One is stopped in its tracks, the store forgets that it ever had the lock, the other one takes
// over, and then the first goes on where it was.
TEST_F(TxnLockFailOver, AStoreThatForgetsItsLocksMakesNoTwoDecisions) {
    memory_server locks;
    make_sites([&] { return locks.make_store(); });
    constexpr std::size_t many = 100;
    for (std::size_t turn = 0; turn < 2; ++turn) {
        auto& zombie = *sites_[turn % 2];
        auto& other = *sites_[1 - turn % 2];
        const auto before = highest_epoch();
        begin(other, many);
        begin(zombie, many);
        zombie.pause();
        locks.restart(false);
        ASSERT_TRUE(eventually([&] { return other.partitions() == partitions; }, 20s));
        EXPECT_GT(highest_epoch(), before);
        begin(other, many);
        zombie.resume();
        begin(zombie, many);
        hear();
        ASSERT_TRUE(they_share());
    }
    expect_all_ended();
    judge();
}

class TxnRedisFailOver : public TxnLockFailOver {
protected:
    std::unique_ptr<store> make_store(const std::string& domain) const {
        redis_store_config config;
        config.server = redis_address("127.0.0.1", server_.port());
        config.domain = domain;
        config.longest_ttl = coordinator_site::ttl;
        return make_redis_store(std::move(config));
    }
    void lose_all() {
        server_.kill();
        server_.start(redis_server::data::lost);
    }

    redis_server server_;
};

TEST_F(TxnRedisFailOver, AServerThatForgetsItsLocksMakesNoTwoDecisions) {
    make_sites([&] { return make_store("shop"); });
    constexpr std::size_t many = 100;
    const auto before = highest_epoch();
    for (auto& each : sites_)
        begin(*each, many);
    lose_all();
    hear();
    ASSERT_TRUE(eventually([&] { return highest_epoch() > before; }, 20s)) << "both lose theirs";
    ASSERT_TRUE(they_share());
    for (auto& each : sites_)
        begin(*each, many);
    hear();
    expect_all_ended();
    judge();
}

// A store of which nobody said what it is called is another one when it has forgotten that. It can
// be told: the log knows.
TEST_F(TxnRedisFailOver, TheTokensOfANewStoreDecideNothing) {
    make_sites([&] { return make_store(""); });
    begin(*sites_[0], 1);
    hear();
    lose_all();
    const auto refused = [&] {
        codes_.clear();
        begin(*sites_[0], 1);
        hear();
        return !codes_.empty() && codes_[0] == txn::errc::foreign_epochs;
    };
    ASSERT_TRUE(eventually(refused, 20s));
    EXPECT_EQ(sites_[0]->partitions(), 0u);
    for (auto& each : sites_)
        each.reset();
    lose_all();
    const auto name = name_of_the_locks();
    make_sites([&] { return make_store(name); });
    begin(*sites_[1], 1);
    hear();
    expect_all_ended();
    judge();
}

}  // namespace
}  // namespace mortise::test::lock_fail_over_test
