// SPDX-License-Identifier: BSL-1.0
// Transactions whose branches are prepared at a database server: money between two accounts.
#include "mortise/lock_client.hpp"
#include "mortise/store/memory.hpp"
#include "mortise/store_types.hpp"
#include "mortise/txn/coordinator.hpp"
#include "support/scratch_folder.hpp"
#include "support/statement_proxy.hpp"
#include "unit/session/session_world.hpp"

#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <charconv>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace mortise::test::xa_participant_test {
namespace {

using connection = session_kind::connection;
using deed = statement_proxy::deed;
using std::chrono::milliseconds;

int number_in(const std::string& text) {
    int number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

/// Adds the payload to an account. Refuses to leave less than nothing.
class adds_payload {
public:
    explicit adds_payload(int account) : account_(account) {}

    asio::awaitable<txn::reply> operator()(connection& on, const txn::call& request) const {
        const auto text =
            session_kind::marked("UPDATE account SET cents = cents + ? WHERE id = ? AND cents >= ?"
            );
        const auto cents = number_in(request.payload);
        auto adding = on.query(text, cents, account_, -cents);
        const auto added = co_await std::move(adding);
        if (added.affected == 0)
            co_return txn::reply::refused("not enough money");
        co_return txn::reply::done();
    }

private:
    int account_;
};

asio::awaitable<txn::reply> sleeps(connection& on, const txn::call&) {
    auto sleeping = on.query(session_kind::sleep_short);
    co_await std::move(sleeping);
    co_return txn::reply::done();
}

class XaParticipant : public testing::Test {
protected:
    ~XaParticipant() override {
        stop();
        EXPECT_EQ(world.sql(session_kind::prepared_any), "") << "left prepared";
    }

    /// Both participants use this session, the second one by another place if there is one.
    void open(std::optional<session_kind::config> second = std::nullopt) {
        const auto at = world.context.get_executor();
        from = std::make_shared<session_world::session>(at, world.config());
        to = std::make_shared<session_world::session>(at, second ? *second : world.config());
        txn::coordinator_config config;
        config.log = folder.path() / "log.db";
        config.participants.emplace(
            "from", session_kind::xa_participant(from, adds_payload(1), 4u)
        );
        config.participants.emplace("to", session_kind::xa_participant(to, adds_payload(2), 4u));
        config.retry_first = milliseconds(2);
        config.retry_max = milliseconds(20);
        config.call_max = milliseconds(2'000);
        coordinator.emplace(at, std::move(config));
    }
    session_kind::config through_proxy() {
        proxy =
            std::make_unique<statement_proxy>(world.context.get_executor(), world.server().port());
        auto config = world.config();
        session_kind::place(config, proxy->port());
        return config;
    }

    txn::outcome transfer(int cents) {
        txn::transaction transaction;
        transaction.add("from", std::to_string(-cents));
        transaction.add("to", std::to_string(cents));
        return world.run(coordinator->async_run(std::move(transaction), asio::use_awaitable));
    }
    /// Waits until every branch is finished.
    void settle(const txn::outcome& of) {
        bool ended = false;
        coordinator->async_settle(of.gid(), [&](error_code failed, const txn::outcome&) {
            EXPECT_FALSE(failed) << failed.message();
            ended = true;
        });
        EXPECT_TRUE(world.reaches([&] { return ended; }));
    }
    void stop() {
        if (!coordinator)
            return;
        bool stopped = false;
        coordinator->async_stop([&](error_code) { stopped = true; });
        EXPECT_TRUE(world.reaches([&] { return stopped; }));
        coordinator.reset();
    }
    /// A connection ends at a statement with this text, before or after it has arrived.
    void expect_one_transfer_in_spite_of(const char* text) {
        for (const auto how : {deed::cut, deed::cut_answer}) {
            open(through_proxy());
            proxy->at(text, how);
            const auto before = std::stoi(world.cents(2));
            const auto outcome = transfer(10);
            EXPECT_TRUE(outcome.confirmed()) << outcome.text();
            settle(outcome);
            EXPECT_FALSE(proxy->pending());
            EXPECT_EQ(both(), std::to_string(190 - before) + " " + std::to_string(before + 10));
            stop();
        }
    }
    std::string both() const { return world.cents(1) + " " + world.cents(2); }

    session_world world;
    const scratch_folder folder;
    std::unique_ptr<statement_proxy> proxy;
    std::shared_ptr<session_world::session> from;
    std::shared_ptr<session_world::session> to;
    std::optional<txn::coordinator> coordinator;
};

TEST_F(XaParticipant, MovesMoney) {
    open();
    for (int i = 1; i <= 3; ++i) {
        const auto outcome = transfer(10);
        EXPECT_TRUE(outcome.confirmed()) << outcome.text();
        settle(outcome);
        EXPECT_EQ(both(), std::to_string(100 - 10 * i) + " " + std::to_string(100 + 10 * i));
    }
}

TEST_F(XaParticipant, ARefusalUndoesTheOtherBranch) {
    open();
    const auto outcome = transfer(101);
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(outcome.text(), "not enough money");
    settle(outcome);
    EXPECT_EQ(both(), "100 100");
    const auto next = transfer(100);
    EXPECT_TRUE(next.confirmed()) << "nothing holds the rows: " << next.text();
    settle(next);
    EXPECT_EQ(both(), "0 200");
}

TEST_F(XaParticipant, LostAnswersToThePreparationDoTheWorkOnce) {
    expect_one_transfer_in_spite_of(session_kind::prepare_text);
}

TEST_F(XaParticipant, LostAnswersToTheCommitAreAskedForAgain) {
    expect_one_transfer_in_spite_of(session_kind::commit_prepared_text);
}

// As after the end of a coordinator, whose sessions end with it.
TEST_F(XaParticipant, AnotherCoordinatorFinishesWhatIsDecided) {
    open(through_proxy());
    proxy->at(session_kind::commit_prepared_text, deed::stall);
    const auto outcome = transfer(10);
    EXPECT_TRUE(outcome.confirmed()) << outcome.text();
    stop();
    to.reset();
    from.reset();
    proxy.reset();
    open();
    settle(outcome);
    EXPECT_EQ(both(), "90 110");
}

class XaCalls : public XaParticipant {
protected:
    XaCalls() {
        open();
        participant = session_kind::xa_participant(from, adds_payload(1), 4u);
        request.gid = {random_id::draw().low, 1};  // the table outlives the test
        request.branch = 1;
        request.attempt = 1;
        request.term = 9;
        request.payload = "5";
    }

    error_code code_of_call(txn::operation type, std::uint32_t attempt = 1) {
        request.type = type;
        request.attempt = attempt;
        const auto got = world.run(participant->carry_out(request));
        if (!got)
            return got.error();
        EXPECT_EQ(got->type, txn::reply::verdict::done);
        return {};
    }

    std::shared_ptr<txn::participant> participant;
    txn::call request;
};

TEST_F(XaCalls, AServerThatCanPrepareIsAccepted) {
    const auto database = session_kind::xa_participant(from, 4u);
    EXPECT_FALSE(world.failure_of(database->check()));
}

TEST_F(XaCalls, RepeatedCallsDoTheirWorkOnce) {
    EXPECT_FALSE(code_of_call(txn::operation::try_));
    EXPECT_EQ(world.cents(1), "100");
    EXPECT_FALSE(code_of_call(txn::operation::try_, 2));
    EXPECT_FALSE(code_of_call(txn::operation::confirm));
    EXPECT_FALSE(code_of_call(txn::operation::confirm));
    EXPECT_EQ(world.cents(1), "105");
    EXPECT_EQ(code_of_call(txn::operation::cancel), txn::errc::conflict);
    EXPECT_EQ(code_of_call(txn::operation::try_), txn::errc::late_try);
    EXPECT_EQ(world.cents(1), "105");
}

TEST_F(XaCalls, ACancelThatCameFirstRefusesItsTry) {
    EXPECT_FALSE(code_of_call(txn::operation::cancel));
    EXPECT_EQ(code_of_call(txn::operation::try_), txn::errc::late_try);
    EXPECT_EQ(code_of_call(txn::operation::try_, 2), txn::errc::late_try);
    EXPECT_EQ(code_of_call(txn::operation::confirm), txn::errc::conflict);
    EXPECT_FALSE(code_of_call(txn::operation::cancel));
    EXPECT_EQ(world.cents(1), "100");
}

TEST_F(XaCalls, ATryThatWasCancelledIsNotDoneAgain) {
    EXPECT_FALSE(code_of_call(txn::operation::try_));
    EXPECT_FALSE(code_of_call(txn::operation::cancel));
    EXPECT_EQ(code_of_call(txn::operation::try_), txn::errc::late_try);
    EXPECT_EQ(world.cents(1), "100");
}

// Participants of one database see each other's branches, and any of them may end an orphan.
TEST_F(XaCalls, ABranchThatAnotherParticipantHasEndedIsNotTriedLate) {
    request.participant = "to";
    EXPECT_FALSE(code_of_call(txn::operation::try_));
    request.participant = "from";
    EXPECT_FALSE(code_of_call(txn::operation::cancel));
    request.participant = "to";
    EXPECT_EQ(code_of_call(txn::operation::try_), txn::errc::late_try);
    EXPECT_EQ(code_of_call(txn::operation::try_, 2), txn::errc::late_try);
    EXPECT_EQ(world.cents(1), "100");
}

TEST_F(XaCalls, AConfirmOfABranchThatSomebodyRolledBackIsNoSuccess) {
    EXPECT_FALSE(code_of_call(txn::operation::try_));
    const auto name = txn::prepared_name_of(request);
    EXPECT_TRUE(world.run(from->async_finish(name, db::prepared_end::roll_back, asio::use_awaitable)
    ));
    EXPECT_EQ(code_of_call(txn::operation::confirm), txn::errc::unknown_branch);
    EXPECT_EQ(code_of_call(txn::operation::confirm), txn::errc::unknown_branch);
    EXPECT_EQ(world.cents(1), "100");
}

TEST_F(XaCalls, ListsWhatIsPreparedOfItsLog) {
    const auto listed = [&](std::uint64_t log) {
        return world.run(participant->list_prepared(log)).value();
    };
    EXPECT_FALSE(code_of_call(txn::operation::try_));
    const auto found = listed(request.gid.log);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].gid, request.gid);
    EXPECT_EQ(found[0].term, request.term);
    EXPECT_EQ(found[0].branch, request.branch);
    EXPECT_EQ(found[0].age.has_value(), session_kind::tells_ages);
    EXPECT_LT(found[0].age.value_or(milliseconds(0)), std::chrono::hours(1));
    EXPECT_EQ(listed(request.gid.log + 1).size(), 0u);
    EXPECT_FALSE(code_of_call(txn::operation::cancel));
    EXPECT_EQ(listed(request.gid.log).size(), 0u);
}

// The first attempt may have changed something, and may be prepared still.
TEST_F(XaCalls, ARepeatedTryThatHasChangedNothingIsPrepared) {
    participant = session_kind::xa_participant(from, &sleeps, 4u);
    EXPECT_FALSE(code_of_call(txn::operation::try_, 2));
    EXPECT_EQ(world.run(participant->list_prepared(request.gid.log)).value().size(), 1u);
    EXPECT_FALSE(code_of_call(txn::operation::cancel));
    request.branch = 2;
    EXPECT_FALSE(code_of_call(txn::operation::try_));
    const auto left = world.run(participant->list_prepared(request.gid.log)).value().size();
    EXPECT_EQ(left, session_kind::tells_changes ? 0u : 1u);
    EXPECT_FALSE(code_of_call(txn::operation::cancel));
}

TEST_F(XaCalls, ATryWhoseTimeIsUpIsNotPrepared) {
    participant = session_kind::xa_participant(from, &sleeps, 4u);
    request.time_left = milliseconds(1);
    EXPECT_EQ(code_of_call(txn::operation::try_), txn::errc::call_too_late);
    EXPECT_EQ(world.sql(session_kind::prepared_any), "");
}

class XaClosures : public XaParticipant {
protected:
    /// Both participants have no work of their own.
    void open_for_closures(std::optional<session_kind::config> second = std::nullopt) {
        const auto at = world.context.get_executor();
        from = std::make_shared<session_world::session>(at, world.config());
        to = std::make_shared<session_world::session>(at, second ? *second : world.config());
        txn::coordinator_config config;
        config.log = folder.path() / "log.db";
        config.participants.emplace("from", session_kind::xa_participant(from, 4u));
        config.participants.emplace("to", session_kind::xa_participant(to, 4u));
        db::transaction_options reads;
        reads.read_only = true;
        config.participants.emplace("reads", session_kind::xa_participant(from, 4u, reads));
        config.retry_first = milliseconds(2);
        config.retry_max = milliseconds(20);
        config.call_max = milliseconds(2'000);
        coordinator.emplace(at, std::move(config));
    }
    /// Adds that to the account, and gives what is there then.
    static auto adding(int account, int cents) {
        return txn::on_connection<connection>([=](connection& on) -> asio::awaitable<std::string> {
            const auto change = session_kind::marked(
                "UPDATE account SET cents = cents + ? WHERE id = ? AND cents >= ?"
            );
            auto adding = on.query(change, cents, account, -cents);
            const auto added = co_await std::move(adding);
            if (added.affected == 0)
                throw txn::refusal("not enough money");
            const auto look = session_kind::marked("SELECT cents FROM account WHERE id = ?");
            auto looking = on.query(look, account);
            const auto found = co_await std::move(looking);
            co_return std::to_string(found.first().integer(0));
        });
    }
    txn::outcome run(txn::transaction transaction) {
        auto outcome =
            world.run(coordinator->async_run(std::move(transaction), asio::use_awaitable));
        settle(outcome);
        return outcome;
    }
};

TEST_F(XaClosures, WorkOnceAndGiveTheirValues) {
    open_for_closures();
    txn::transaction transaction;
    const auto left = transaction.add("from", adding(1, -10));
    const auto right = transaction.add("to", adding(2, 10), {left.number()});
    EXPECT_FALSE(left.get());
    EXPECT_TRUE(run(std::move(transaction)).confirmed());
    EXPECT_EQ(left.get(), "90");
    EXPECT_EQ(right.get(), "110");
    EXPECT_EQ(both(), "90 110");
}

TEST_F(XaClosures, ARefusalIsToldAndUndoesAll) {
    open_for_closures();
    txn::transaction transaction;
    const auto left = transaction.add("from", adding(1, -101));
    transaction.add("to", adding(2, 101));
    const auto outcome = run(std::move(transaction));
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(outcome.text(), "not enough money");
    EXPECT_FALSE(left.get());
    EXPECT_EQ(both(), "100 100");
}

TEST_F(XaClosures, ALostAnswerLosesNoValue) {
    for (const auto how : {deed::cut, deed::cut_answer}) {
        open_for_closures(through_proxy());
        proxy->at(session_kind::prepare_text, how);
        txn::transaction transaction;
        transaction.add("from", adding(1, -10));
        const auto right = transaction.add("to", adding(2, 10));
        const auto before = std::stoi(world.cents(2));
        const auto outcome = run(std::move(transaction));
        EXPECT_TRUE(outcome.confirmed()) << outcome.text();
        EXPECT_EQ(right.get(), std::to_string(before + 10));
        EXPECT_EQ(world.cents(2), std::to_string(before + 10));
        stop();
    }
}

TEST_F(XaClosures, AnOnlyBranchIsCommittedByItsTry) {
    open_for_closures();
    txn::transaction transaction;
    const auto left = transaction.add("from", adding(1, -10));
    EXPECT_TRUE(run(std::move(transaction)).confirmed());
    EXPECT_EQ(left.get(), "90");
    EXPECT_EQ(world.cents(1), "90");
    EXPECT_EQ(coordinator->stats().calls, 1u);
    txn::transaction refused;
    refused.add("from", adding(1, -91));
    EXPECT_EQ(run(std::move(refused)).text(), "not enough money");
    EXPECT_EQ(world.cents(1), "90");
    EXPECT_EQ(coordinator->stats().calls, 2u);
}

// Else the loss of the lock could not cancel it.
TEST_F(XaClosures, AnOnlyBranchUnderALockIsDecided) {
    open_for_closures();
    const memory_server locks;
    lock_client client(world.context.get_executor(), locks.make_store());
    const auto held = world.run(client.async_acquire("door", {}, asio::use_awaitable));
    txn::transaction transaction;
    transaction.add("from", adding(1, -10));
    transaction.under(held);
    EXPECT_TRUE(run(std::move(transaction)).confirmed());
    EXPECT_EQ(coordinator->stats().calls, 2u);
    EXPECT_EQ(world.cents(1), "90");
}

TEST_F(XaClosures, ALostAnswerOfAnOnlyBranchIsAskedFor) {
    for (const auto how : {deed::cut, deed::cut_answer}) {
        open_for_closures(through_proxy());
        proxy->at(session_kind::commit_alone_text, how);
        const auto before = std::stoi(world.cents(2));
        txn::transaction transaction;
        const auto right = transaction.add("to", adding(2, 10));
        const auto outcome = run(std::move(transaction));
        EXPECT_TRUE(outcome.confirmed()) << outcome.text();
        EXPECT_FALSE(proxy->pending());
        EXPECT_EQ(world.cents(2), std::to_string(before + 10));
        EXPECT_EQ(right.get(), std::to_string(before + 10));
        stop();
    }
}

// The next coordinator finds it undecided, and only the branch knows what became of it.
TEST_F(XaClosures, AnOnlyBranchTellsTheNextCoordinatorWhatBecameOfIt) {
    for (const auto how : {deed::stall, deed::cut_answer}) {
        open_for_closures(through_proxy());
        proxy->at(session_kind::commit_alone_text, how);
        txn::transaction transaction;
        transaction.add("to", adding(2, 10));
        transaction.try_attempts(1);
        std::optional<txn::gid> gid;
        const auto before = std::stoi(world.cents(2));
        coordinator->async_run(
            std::move(transaction),
            [&](error_code failed, txn::outcome outcome) {
                EXPECT_FALSE(failed) << failed.message();
                gid = outcome.gid();
            }
        );
        EXPECT_TRUE(world.reaches([&] { return !proxy->pending(); }));
        coordinator.reset();  // as a process that dies
        to.reset();
        EXPECT_TRUE(world.reaches([&] { return gid.has_value(); }));
        proxy.reset();
        open_for_closures();
        bool confirmed = false;
        bool ended = false;
        coordinator->async_settle(*gid, [&](error_code failed, const txn::outcome& outcome) {
            EXPECT_FALSE(failed) << failed.message();
            confirmed = outcome.confirmed();
            ended = true;
        });
        EXPECT_TRUE(world.reaches([&] { return ended; }));
        EXPECT_EQ(world.cents(2), std::to_string(before + (confirmed ? 10 : 0)));
        stop();
    }
}

TEST_F(XaClosures, ABranchThatOnlyReadsNeedsNoSecondCall) {
    open_for_closures();
    const auto reading =
        txn::on_connection<connection>([](connection& on) -> asio::awaitable<std::int64_t> {
            auto looking = on.query("SELECT cents FROM account WHERE id = 1");
            const auto found = co_await std::move(looking);
            co_return found.first().integer(0);
        });
    txn::transaction declared;
    const auto seen = declared.add("reads", reading);
    declared.add("to", adding(2, 10), {seen.number()});
    EXPECT_TRUE(run(std::move(declared)).confirmed());
    EXPECT_EQ(seen.get(), 100);
    EXPECT_EQ(coordinator->stats().calls, 3u);
    txn::transaction found_out;
    found_out.add("from", reading);
    found_out.add("to", adding(2, 10));
    EXPECT_TRUE(run(std::move(found_out)).confirmed());
    EXPECT_EQ(coordinator->stats().calls, session_kind::tells_changes ? 6u : 7u);
    txn::transaction only;
    only.add("reads", reading);
    EXPECT_TRUE(run(std::move(only)).confirmed());
    txn::transaction refused;
    refused.add("reads", reading);
    refused.add("to", adding(2, -1'000));
    EXPECT_TRUE(run(std::move(refused)).cancelled());
    EXPECT_EQ(both(), "100 120");
}

TEST_F(XaClosures, AParticipantRefusesWorkThatItCannotDo) {
    open_for_closures();
    const auto code = [&](txn::transaction transaction) {
        error_code found;
        coordinator->async_run(std::move(transaction), [&](error_code failed, txn::outcome) {
            found = failed;
        });
        EXPECT_TRUE(world.reaches([&] { return found.failed(); }));
        return found;
    };
    txn::transaction without;
    without.add("from", "5");
    EXPECT_EQ(code(std::move(without)), txn::errc::wrong_work);
    txn::transaction elsewhere;
    elsewhere.add("from", txn::on_connection<int>([](int&) -> asio::awaitable<void> {
                      co_return;
                  }));
    const auto wrong = code(std::move(elsewhere));
    EXPECT_EQ(wrong, txn::errc::wrong_work);
    EXPECT_EQ(wrong, condition::bad_argument);
}

class XaNotes : public XaCalls {
protected:
    XaNotes() {
        participant = session_kind::xa_participant(
            from, adds_payload(1), 4u, db::transaction_options(), milliseconds(1)
        );
        request.participant = "from";
    }
    /// Does both phases of a transaction with this number.
    void run_to_its_end(std::uint64_t number, std::uint64_t ended_below) {
        request.gid.number = number;
        request.ended_below = ended_below;
        EXPECT_FALSE(code_of_call(txn::operation::try_));
        EXPECT_FALSE(code_of_call(txn::operation::confirm));
        const auto later = clock::now() + milliseconds(3);
        EXPECT_TRUE(world.reaches([later] { return clock::now() >= later; }));
    }
    std::string noted() const {
        return world.sql(
            "SELECT count(*) FROM mortise_txn_xa WHERE log = " +
            std::to_string(static_cast<std::int64_t>(request.gid.log))
        );
    }
};

TEST_F(XaNotes, AreForgottenWhenTheirTransactionsHaveEnded) {
    run_to_its_end(1, 0);
    run_to_its_end(2, 0);
    EXPECT_EQ(noted(), "2");
    run_to_its_end(5, 3);
    EXPECT_EQ(noted(), "3") << "it has just heard of the ends";
    run_to_its_end(6, 3);
    EXPECT_EQ(noted(), "2");
    request.participant = "another";
    run_to_its_end(7, 7);
    run_to_its_end(8, 7);
    EXPECT_EQ(noted(), "4") << "those of others are kept";
}

TEST_F(XaNotes, AreForgottenBesideTransactionsThatArePrepared) {
    run_to_its_end(1, 0);
    request.gid.number = 2;
    EXPECT_FALSE(code_of_call(txn::operation::try_));
    participant = session_kind::xa_participant(
        from, adds_payload(2), 4u, db::transaction_options(), milliseconds(1)
    );
    const auto begun = clock::now();
    run_to_its_end(5, 3);
    run_to_its_end(6, 3);
    run_to_its_end(7, 3);
    EXPECT_LT(clock::now() - begun, std::chrono::seconds(20)) << "it waits for nobody";
    request.gid.number = 2;
    EXPECT_FALSE(code_of_call(txn::operation::confirm));
    EXPECT_EQ(world.cents(1), "110");
}

TEST_F(XaCalls, AnotherBranchOrTermIsAnotherTransaction) {
    const auto first = txn::prepared_name_of(request);
    request.term = 10;
    const auto other_term = txn::prepared_name_of(request);
    request.branch = 2;
    const auto other_branch = txn::prepared_name_of(request);
    EXPECT_NE(first, other_term);
    EXPECT_NE(other_term, other_branch);
    EXPECT_EQ(first.global(), other_branch.global());
}

}  // namespace
}  // namespace mortise::test::xa_participant_test
