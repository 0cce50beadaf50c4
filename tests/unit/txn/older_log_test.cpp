// SPDX-License-Identifier: BSL-1.0
// Logs as earlier versions have written them.
#include "mortise/txn/log_reader.hpp"
#include "support/fault_vfs.hpp"
#include "unit/txn/coordinator_fixture.hpp"

#include <sqlite3.h>

#include <filesystem>
#include <string>

namespace mortise::test::older_log_test {
namespace {

using namespace std::chrono_literals;
using txn::list_filter;

constexpr std::uint64_t log_id = 77;

// What 0.1 left that died: 1 has ended; 2 is confirmed, and its wallet refuses; 3 is not decided.
// The plans are those of `coordinator_fixture::of_both`, in the records of that version.
constexpr const char* format_1 = R"sql(
PRAGMA journal_mode = wal;
CREATE TABLE mortise_txn_log(one INTEGER PRIMARY KEY CHECK(one = 1), format INTEGER NOT NULL,
 id INTEGER NOT NULL, partitions INTEGER NOT NULL, epochs TEXT NOT NULL);
CREATE TABLE mortise_txn_partition(id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL,
 term INTEGER NOT NULL);
CREATE TABLE mortise_txn(number INTEGER PRIMARY KEY AUTOINCREMENT, part INTEGER NOT NULL,
 state INTEGER NOT NULL, term INTEGER NOT NULL, begun_epoch INTEGER NOT NULL,
 decided_epoch INTEGER NOT NULL DEFAULT 0, begun INTEGER NOT NULL, decided INTEGER, ended INTEGER,
 why INTEGER NOT NULL DEFAULT 0, text TEXT, key TEXT, plan BLOB NOT NULL, progress BLOB);
CREATE INDEX mortise_txn_open ON mortise_txn(number) WHERE ended IS NULL;
CREATE UNIQUE INDEX mortise_txn_keys ON mortise_txn(key) WHERE key IS NOT NULL;
CREATE TABLE mortise_txn_action(id INTEGER PRIMARY KEY, number INTEGER NOT NULL,
 branch INTEGER NOT NULL, what TEXT NOT NULL, who TEXT NOT NULL, why TEXT NOT NULL,
 at INTEGER NOT NULL);
CREATE INDEX mortise_txn_actions_of ON mortise_txn_action(number);
INSERT INTO mortise_txn_log VALUES(1, 1, 77, 2, '');
INSERT INTO mortise_txn_partition VALUES(0, 5, 111), (1, 6, 222);
INSERT INTO mortise_txn(number, part, state, term, begun_epoch, decided_epoch, begun, decided,
 ended, key, plan, progress) VALUES
 (1, 0, 2, 111, 5, 5, 1700000000000, 1700000000001, 9700000000002, 'order 1',
  x'010000020573746f636b0a74776f206170706c6573000677616c6c65740a66697665206575726f7300',
  x'0102010200010200'),
 (2, 1, 2, 222, 6, 6, 1700000000000, 1700000000001, NULL, NULL,
  x'010000020573746f636b0a74776f206170706c6573000677616c6c65740a66697665206575726f7300',
  x'0102010200040200'),
 (3, 0, 1, 111, 5, 0, 1700000000000, NULL, NULL, 'order 3',
  x'010000020573746f636b0a74776f206170706c6573000677616c6c65740a66697665206575726f7300', NULL);
)sql";

class TxnOlderLog : public coordinator_fixture {
protected:
    std::filesystem::path log() const { return folder_.path() / "log.db"; }

    void sql(const char* statements) const {
        sqlite3* db = nullptr;
        EXPECT_EQ(::sqlite3_open(log().c_str(), &db), SQLITE_OK);
        EXPECT_EQ(::sqlite3_exec(db, statements, nullptr, nullptr, nullptr), SQLITE_OK)
            << ::sqlite3_errmsg(db);
        ::sqlite3_close(db);
    }
    void write_format_1() const {
        for (const char* end : {"", "-wal", "-shm", "-mark"})
            std::filesystem::remove(log().string() + end);
        sql(format_1);
    }
    std::int64_t format() const {
        sqlite3* db = nullptr;
        sqlite3_stmt* row = nullptr;
        EXPECT_EQ(::sqlite3_open(log().c_str(), &db), SQLITE_OK);
        constexpr const char* question = "SELECT format FROM mortise_txn_log";
        EXPECT_EQ(::sqlite3_prepare_v2(db, question, -1, &row, nullptr), SQLITE_OK);
        EXPECT_EQ(::sqlite3_step(row), SQLITE_ROW);
        const auto found = ::sqlite3_column_int64(row, 0);
        ::sqlite3_finalize(row);
        ::sqlite3_close(db);
        return found;
    }
    static txn::gid number(std::uint64_t value) { return {log_id, value}; }
};

TEST_F(TxnOlderLog, IsReadAsItIs) {
    write_format_1();
    const txn::log_reader reader(log());
    EXPECT_EQ(reader.id(), log_id);
    const auto all = reader.list(list_filter::all, 0, 10);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].key, "order 1");
    EXPECT_TRUE(all[0].ended);
    EXPECT_EQ(all[1].branches.at(1).participant, "wallet");
    EXPECT_TRUE(all[1].branches.at(1).stuck);
    EXPECT_EQ(all[2].at, txn::standing::open);
    EXPECT_EQ(format(), 1) << "who only looks changes nothing";
}

TEST_F(TxnOlderLog, IsBroughtUpToDateAndGoneOnWith) {
    write_format_1();
    open();
    EXPECT_TRUE(settled(number(2)).confirmed());
    const auto third = settled(number(3));
    EXPECT_TRUE(third.cancelled());
    EXPECT_EQ(third.why(), txn::errc::interrupted);
    EXPECT_TRUE(asked(number(1)).confirmed());
    EXPECT_EQ(stock_->operations(), "cancel") << "it had confirmed 2";
    for (const auto& each : wallet_->calls())
        EXPECT_GT(each.epoch, each.gid.number == 2 ? 6u : 5u) << "its epochs go on";
    auto again = of_both();
    again.key("order 1");
    const auto first = run(again);
    EXPECT_EQ(first.gid(), number(1)) << "it is over, and its key still known";
    const auto next = run(of_both());
    EXPECT_TRUE(next.confirmed());
    EXPECT_EQ(next.gid(), number(4));
    tcc_->async_stop(asio::use_future).get();
    EXPECT_EQ(format(), 3);
    open();
    EXPECT_TRUE(run(of_both()).confirmed());
    EXPECT_TRUE(asked(next.gid()).confirmed());
}

// Format 2 knew no reserved numbers.
TEST_F(TxnOlderLog, OfTheFormatBeforeIsBroughtUpToDateToo) {
    write_format_1();
    sql("ALTER TABLE mortise_txn_partition ADD COLUMN changes INTEGER NOT NULL DEFAULT 0;"
        "UPDATE mortise_txn_log SET format = 2");
    stock_->prepare_nothing();
    wallet_->prepare_nothing();
    open();
    EXPECT_TRUE(settled(number(2)).confirmed());
    EXPECT_TRUE(settled(number(3)).cancelled());
    const auto next = run(of_both());
    EXPECT_TRUE(next.confirmed());
    EXPECT_EQ(next.gid(), number(4));
    tcc_->async_stop(asio::use_future).get();
    EXPECT_EQ(format(), 3);
}

TEST_F(TxnOlderLog, IsBroughtUpToDateAsAWholeOrNotAtAll) {
    fault_vfs disk;
    for (int at = 1; at <= 6; ++at) {
        SCOPED_TRACE(at);
        write_format_1();
        auto how = config();
        how.vfs = disk.name();
        disk.result = SQLITE_IOERR_WRITE;
        disk.operations = 0;
        disk.fail_at = at;
        try {
            open(how);
        } catch (const boost::system::system_error&) {
            open(how);  // it was not even opened
        }
        EXPECT_TRUE(eventually([&] { return !refusal(of_both()); }));
        EXPECT_TRUE(settled(number(2)).confirmed());
        EXPECT_TRUE(settled(number(3)).cancelled());
        tcc_->async_stop(asio::use_future).get();
        tcc_.reset();
        EXPECT_EQ(format(), 3);
    }
}

}  // namespace
}  // namespace mortise::test::older_log_test
