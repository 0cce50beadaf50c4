// SPDX-License-Identifier: BSL-1.0
// Coordinators killed at each of their named points while branches are prepared at PostgreSQL, at
// MariaDB, at both, and at one of them beside an SQLite bank that is tried and confirmed. Some
// transactions have one branch, or a third one that only reads. The judge reads the ledgers.
#include "chaos/transfer_bank.hpp"
#include "chaos/xa_bank.hpp"
#include "support/built_program.hpp"
#include "support/child_program.hpp"
#include "support/mariadb_server.hpp"
#include "support/postgres_server.hpp"
#include "support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::xa_crash_test {
namespace {

using namespace std::chrono_literals;

constexpr int killed = 128 + SIGKILL;

/// A bank of the test: at a server, or in a file of the actor.
class bank_place {
public:
    explicit bank_place(const std::string& kind) : kind_(kind) {
        if (kind == "postgres")
            database_ = shared_postgres().create_database("xa");
        else if (kind == "mariadb")
            database_ = shared_mariadb().create_database("xa");
        if (database_.empty())
            return;
        for (const char* const each : xa_bank_tables)
            run(each);
    }

    bool in_file() const { return database_.empty(); }
    std::string url() const {
        return kind_ == "postgres" ? shared_postgres().url(database_)
                                   : shared_mariadb().url(database_);
    }
    std::string run(const std::string& statement) const {
        return kind_ == "postgres" ? shared_postgres().run(statement, database_)
                                   : shared_mariadb().run(statement, database_);
    }
    /// What is prepared; empty if nothing is.
    std::string prepared() const {
        return kind_ == "postgres" ? run("SELECT string_agg(gid, ' ') FROM pg_prepared_xacts"
                                         " WHERE database = current_database()")
                                   : run("XA RECOVER");
    }
    /// Kills the server, and starts it again.
    void restart() const {
        if (kind_ == "postgres") {
            shared_postgres().stop_immediately();
            shared_postgres().start();
        } else if (kind_ == "mariadb") {
            shared_mariadb().restart();
        }
    }
    /// Ends the connections of the actor at once.
    void end_connections() const {
        if (kind_ == "postgres") {
            run("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()");
            return;
        }
        std::istringstream all(
            run("SELECT GROUP_CONCAT(id SEPARATOR ' ') FROM information_schema.processlist"
                " WHERE db = DATABASE() AND id <> CONNECTION_ID()")
        );
        for (std::string id; all >> id;) {
            try {
                run("KILL " + id);
            } catch (const std::runtime_error&) {
                continue;  // it has ended by itself
            }
        }
    }
    std::int64_t cents() const { return std::stoll(run("SELECT SUM(cents) FROM account")); }
    /// The cents that each transaction has moved.
    std::map<std::uint64_t, std::int64_t> moved() const {
        const std::string pairs =
            kind_ == "postgres"
                ? run("SELECT string_agg(number || ' ' || cents, ' ') FROM ledger")
                : run("SELECT GROUP_CONCAT(CONCAT(number, ' ', cents) SEPARATOR ' ') FROM ledger");
        std::map<std::uint64_t, std::int64_t> all;
        std::istringstream from(pairs);
        std::uint64_t number = 0;
        for (std::int64_t cents = 0; from >> number >> cents;)
            all[number] += cents;
        return all;
    }

private:
    const std::string kind_;
    std::string database_;
};

struct pair_of_banks {
    const char* here;
    const char* there;
};

void PrintTo(const pair_of_banks& banks, std::ostream* to) {
    *to << banks.here << " and " << banks.there;
}

class XaCrash : public testing::TestWithParam<pair_of_banks> {
protected:
    int
    run(const std::vector<std::string>& words,
        const std::string& crash = {},
        std::chrono::milliseconds limit = 120s) {
        std::vector<std::string> command{"env", planted_};
        if (!crash.empty())
            command.push_back("MORTISE_CRASH_AT=" + crash);
        command.emplace_back(built_program("tests/txn_actor"));
        command.push_back(folder_.path());
        command.insert(command.end(), words.begin(), words.end());
        command.emplace_back("xa=yes");
        for (const auto& [name, place] : {std::pair("here", &here_), std::pair("there", &there_)}) {
            if (!place->in_file())
                command.push_back(std::string(name) + "=" + place->url());
        }
        child_program actor(command, output());
        const auto peace = clock::now() + 2s;
        while (disturb_ && clock::now() < peace) {
            if (const auto code = actor.wait(30ms))
                return *code;
            disturb_();
        }
        return actor.wait(limit).value_or(-1);
    }
    std::filesystem::path output() const { return folder_.path() / "output"; }
    std::string printed() const {
        std::ifstream file(output());
        return {std::istreambuf_iterator<char>(file), {}};
    }

    /// Nothing is prepared, no money is lost, and callers were told the truth.
    void expect_settled() {
        ASSERT_EQ(run({"settle"}), 0) << printed();
        std::map<std::uint64_t, std::int64_t> sums;
        std::map<std::uint64_t, int> sides;
        std::set<std::uint64_t> inside;  // one bank alone
        for (const auto* const place : {&here_, &there_}) {
            if (place->in_file())
                continue;
            EXPECT_EQ(place->prepared(), "");
            std::int64_t total = 0;
            for (const auto& [number, cents] : place->moved()) {
                if (cents == 0)
                    inside.insert(number);
                sums[number] += cents;
                ++sides[number];
                total += cents;
            }
            EXPECT_EQ(place->cents(), 160'000 + total);
        }
        const bool both = !here_.in_file() && !there_.in_file();
        for (const auto& [number, sum] : sums) {
            if (both) {
                EXPECT_EQ(sum, 0) << number;
                EXPECT_EQ(sides[number], inside.contains(number) ? 1 : 2) << number;
            }
        }
        std::ifstream outcomes(folder_.path() / "told");
        std::uint64_t number = 0;
        for (std::string outcome; outcomes >> number >> outcome;)
            EXPECT_EQ(sides.count(number) != 0, outcome == "confirmed") << number << ' ' << outcome;
        expect_conserved(sums);
    }
    /// With a bank in a file, what the server has lost or won is what the file has not.
    void expect_conserved(const std::map<std::uint64_t, std::int64_t>& sums) {
        if (!here_.in_file() && !there_.in_file())
            return;
        std::int64_t total = 0;
        for (const auto& [number, sum] : sums)
            total += sum;
        const auto books =
            transfer_bank::read_books(folder_.path() / (here_.in_file() ? "here.db" : "there.db"));
        EXPECT_EQ(books.reserved, 0);
        EXPECT_EQ(books.cents + total, transfer_ledger::accounts * transfer_ledger::initial_cents);
        EXPECT_EQ(books.branches_open, 0);
        std::set<std::int64_t> numbers;
        for (const auto& [number, sum] : sums) {
            if (sum != 0)  // else the bank at the server was alone
                numbers.insert(static_cast<std::int64_t>(number));
        }
        EXPECT_EQ(books.confirmed, numbers);
    }

    const scratch_folder folder_;
    std::string planted_ = "MORTISE_PLANT=";
    std::function<void()> disturb_;  ///< Done again and again while an actor begins its work.
    const bank_place here_{GetParam().here};
    const bank_place there_{GetParam().there};
};

INSTANTIATE_TEST_SUITE_P(
    Banks,
    XaCrash,
    testing::Values(
        pair_of_banks{"postgres", "postgres"},
        pair_of_banks{"mariadb", "mariadb"},
        pair_of_banks{"postgres", "mariadb"},
        pair_of_banks{"postgres", "file"},
        pair_of_banks{"file", "mariadb"}
    ),
    [](const auto& each) { return std::string(each.param.here) + "_and_" + each.param.there; }
);

TEST_P(XaCrash, AtEachPointNothingIsLostDoubledOrLeftPrepared) {
    for (const char* const point :
         {"txn.begun:3",
          "xa.try:3",
          "xa.prepared:1",
          "xa.prepared:6",
          "txn.called:7",
          "txn.decide:2",
          "log.decide:3",
          "txn.decided:1",
          "txn.decided:4",
          "txn.answered:3",
          "xa.finish:2",
          "xa.finished:1",
          "xa.finished:5",
          "txn.end:2",
          "log.progress:2",
          "txn.ended:3"}) {
        SCOPED_TRACE(point);
        ASSERT_EQ(run({"transfers", "40"}, point), killed) << printed();
    }
    expect_settled();
    EXPECT_EQ(run({"transfers", "20"}), 0) << printed();
    expect_settled();
}

TEST_P(XaCrash, RecoveryIsKilledAtEachPoint) {
    ASSERT_EQ(run({"transfers", "40"}, "txn.decided:6"), killed) << printed();
    for (const char* const point :
         {"txn.take_up:1", "xa.finish:1", "xa.finished:1", "xa.closed:1", "txn.end:1"})
        static_cast<void>(run({"settle"}, point));
    expect_settled();
}

// Decided and undecided branches are prepared when the servers are killed.
TEST_P(XaCrash, DatabasesAreKilledWhileBranchesArePrepared) {
    for (const char* const point : {"txn.decided:6", "xa.prepared:5", "xa.finished:3"}) {
        ASSERT_EQ(run({"transfers", "40"}, point), killed) << printed();
        here_.restart();
        there_.restart();
    }
    expect_settled();
}

TEST_P(XaCrash, ConnectionsAreKilledAtAnyMoment) {
    unsigned times = 0;
    disturb_ = [&] {
        for (const auto* const place : {&here_, &there_}) {
            if (!place->in_file())
                place->end_connections();
        }
        ++times;
    };
    EXPECT_EQ(run({"transfers", "100"}), 0) << printed();
    EXPECT_GT(times, 0u);
    disturb_ = nullptr;
    expect_settled();
}

class XaCrashBug : public XaCrash {};

INSTANTIATE_TEST_SUITE_P(Banks, XaCrashBug, testing::Values(pair_of_banks{"postgres", "mariadb"}));

// Shows what the points are good for.
TEST_P(XaCrashBug, ACommitBeforeItsDecisionIsDurableIsFound) {
    planted_ = "MORTISE_PLANT=confirm_before_commit";
    ASSERT_EQ(run({"transfers", "40"}, "xa.finished:1"), killed) << printed();
    planted_ = "MORTISE_PLANT=";
    EXPECT_EQ(run({"settle"}, {}, 3s), -1) << "a branch that is committed cannot be rolled back";
    EXPECT_NE(here_.moved().size() + there_.moved().size(), 0u) << "committed without a decision";
}

}  // namespace
}  // namespace mortise::test::xa_crash_test
