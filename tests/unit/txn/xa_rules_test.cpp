// SPDX-License-Identifier: BSL-1.0
// The rules of branches that are prepared, over a database that is a few tables in memory.
#include "mortise/coro/virtual_time.hpp"
#include "mortise/txn/branch_work.hpp"
#include "mortise/txn/error.hpp"
#include "mortise/txn/xa_participant.hpp"
#include "xa/note_keeper.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::xa_rules_test {
namespace {

using namespace std::chrono_literals;
using txn::branch_note;
using txn::operation;
using txn::prepared_branch;
using txn::reply;

/// Fails on request, before or after it has done something.
class toy_database final : public txn::resource_manager {
public:
    enum class fault { none, before, after };

    asio::awaitable<result<reply>> prepare(db::prepared_name name, txn::call of) override {
        if (fails == fault::before)
            co_return error_code(txn::errc::call_failed);
        if (!vote.payload.empty())
            co_return vote;
        if (notes.contains(key(of)))
            co_return error_code(txn::errc::late_try);
        prepared[name] = key(of);
        ++works;
        co_return fails == fault::after ? result<reply>(error_code(txn::errc::call_failed))
                                        : result<reply>(vote);
    }
    asio::awaitable<result<bool>> finish(db::prepared_name name, db::prepared_end how) override {
        if (fails == fault::before)
            co_return error_code(txn::errc::call_failed);
        const auto found = prepared.find(name);
        const bool there = found != prepared.end();
        if (there && how == db::prepared_end::commit)
            notes[found->second] = branch_note::worked;
        if (there)
            prepared.erase(found);
        if (fails == fault::after)
            co_return error_code(txn::errc::call_failed);
        co_return there;
    }
    asio::awaitable<result<branch_note>> look(txn::call of, bool close) override {
        if (close)
            notes.try_emplace(key(of), branch_note::closed);
        const auto found = notes.find(key(of));
        co_return found == notes.end() ? branch_note::nothing : found->second;
    }
    asio::awaitable<result<std::vector<txn::prepared_transaction>>> list() override {
        std::vector<txn::prepared_transaction> all;
        for (const auto& [name, branch] : prepared)
            all.emplace_back(name, 3s);
        co_return all;
    }
    asio::awaitable<result<bool>>
    forget(std::uint64_t, std::string participant, std::uint64_t below) override {
        forgotten.push_back(participant + " " + std::to_string(below));
        if (fails != fault::none)
            throw std::runtime_error("a failure");
        co_return false;
    }

    static std::string key(const txn::call& of) {
        return of.gid.text() + "." + std::to_string(of.term) + "." + std::to_string(of.branch);
    }

    fault fails = fault::none;
    reply vote = reply::done();
    int works = 0;
    std::map<db::prepared_name, std::string> prepared;
    std::map<std::string, branch_note> notes;
    std::vector<std::string> forgotten;
};

class XaRules : public testing::Test {
protected:
    using fault = toy_database::fault;

    XaRules() {
        request.gid = {0x5f0c3a9be1d27746, 42};
        request.term = 0xc4e1a99d3f5b20;
        request.branch = 1;
        request.participant = "bank";
    }
    /// The error of the call, or nothing.
    error_code carry_out(operation type, std::uint32_t attempt = 1) {
        request.type = type;
        request.attempt = attempt;
        const auto got = run(participant->carry_out(request));
        return got ? error_code() : got.error();
    }
    template <class T>
    T run(asio::awaitable<T> todo) {
        auto future = asio::co_spawn(context, std::move(todo), asio::use_future);
        context.restart();
        context.run();
        return future.get();
    }

    asio::io_context context{1};
    std::shared_ptr<toy_database> database = std::make_shared<toy_database>();
    std::shared_ptr<txn::xa_participant> participant =
        std::make_shared<txn::xa_participant>(database, 4u);
    txn::call request;
};

TEST_F(XaRules, ARepeatedTryThatWasPreparedIsNotWorkedAgain) {
    database->fails = fault::after;
    EXPECT_EQ(carry_out(operation::try_), txn::errc::call_failed);
    database->fails = fault::none;
    EXPECT_FALSE(carry_out(operation::try_, 2));
    EXPECT_EQ(database->works, 1);
    database->prepared.clear();
    EXPECT_FALSE(carry_out(operation::try_, 3)) << "the earlier one was not prepared";
    EXPECT_EQ(database->works, 2);
}

/// Some closure, whose attempts the toy database does not run.
class toy_work final : public txn::detail::valued_work<int> {
public:
    void come_to_its_end(std::uint32_t attempt, int value) { store(attempt, value); }
};

TEST_F(XaRules, AValueIsThatOfTheAttemptThatWasPrepared) {
    const auto work = std::make_shared<toy_work>();
    request.work = work;
    work->come_to_its_end(1, 11);
    database->fails = fault::after;
    EXPECT_EQ(carry_out(operation::try_), txn::errc::call_failed);
    database->fails = fault::none;
    EXPECT_FALSE(work->value());
    EXPECT_FALSE(carry_out(operation::try_, 2));
    EXPECT_EQ(work->value(), 11) << "it was prepared by the first attempt";
    work->come_to_its_end(2, 12);
    EXPECT_EQ(work->value(), 11);
}

TEST_F(XaRules, AValueThatNobodyKnowsIsNoVote) {
    const auto work = std::make_shared<toy_work>();
    request.work = work;
    database->fails = fault::after;
    EXPECT_EQ(carry_out(operation::try_), txn::errc::call_failed);
    database->fails = fault::none;
    work->come_to_its_end(1, 11);
    work->come_to_its_end(2, 12);
    EXPECT_EQ(carry_out(operation::try_, 3), txn::errc::call_failed);
    EXPECT_FALSE(work->value());
    EXPECT_FALSE(carry_out(operation::cancel));
    EXPECT_TRUE(database->prepared.empty());
}

TEST_F(XaRules, ARefusalLeavesNothing) {
    database->vote = reply::refused("too little");
    EXPECT_FALSE(carry_out(operation::try_));
    EXPECT_TRUE(database->prepared.empty());
}

TEST_F(XaRules, AConfirmIsDoneOnlyIfItWasCommitted) {
    EXPECT_FALSE(carry_out(operation::try_));
    database->fails = fault::after;
    EXPECT_EQ(carry_out(operation::confirm), txn::errc::call_failed);
    database->fails = fault::none;
    EXPECT_FALSE(carry_out(operation::confirm)) << "the note says that it was committed";
    database->notes.clear();
    EXPECT_EQ(carry_out(operation::confirm), txn::errc::unknown_branch);
    database->notes[toy_database::key(request)] = branch_note::closed;
    EXPECT_EQ(carry_out(operation::confirm), txn::errc::conflict);
}

TEST_F(XaRules, ACancelClosesTheBranch) {
    EXPECT_FALSE(carry_out(operation::cancel)) << "nothing was tried";
    EXPECT_EQ(carry_out(operation::try_), txn::errc::late_try);
    request.branch = 2;
    EXPECT_FALSE(carry_out(operation::try_));
    EXPECT_FALSE(carry_out(operation::cancel));
    EXPECT_TRUE(database->prepared.empty());
    EXPECT_EQ(carry_out(operation::try_), txn::errc::late_try);
    request.branch = 3;
    EXPECT_FALSE(carry_out(operation::try_));
    EXPECT_FALSE(carry_out(operation::confirm));
    EXPECT_EQ(carry_out(operation::cancel), txn::errc::conflict);
}

TEST_F(XaRules, ListsTheBranchesOfOneLog) {
    EXPECT_FALSE(carry_out(operation::try_));
    database->prepared[{"mortise:0000000000000001-42", "00c4e1a99d3f5b20.1"}] = "of another log";
    database->prepared[{"orders", "1"}] = "of another program";
    const auto listed = run(participant->list_prepared(request.gid.log)).value();
    ASSERT_EQ(listed.size(), 1u);
    prepared_branch expected;
    expected.gid = request.gid;
    expected.term = request.term;
    expected.branch = request.branch;
    expected.age = 3s;
    EXPECT_EQ(listed[0], expected);
}

TEST_F(XaRules, OnlyTheNameOfABranchIsReadAsOne) {
    const auto name = txn::prepared_name_of(request);
    EXPECT_EQ(name.global(), "mortise:5f0c3a9be1d27746-42");
    EXPECT_EQ(name.branch(), "00c4e1a99d3f5b20.1");
    ASSERT_TRUE(txn::branch_named(name));
    const auto& global = name.global();
    for (const auto& other :
         {db::prepared_name("mortis:5f0c3a9be1d27746-42", name.branch()),
          db::prepared_name("mortise:5f0c3a9be1d27746-042", name.branch()),
          db::prepared_name("mortise:5f0c3a9be1d27746", name.branch()),
          db::prepared_name("mortise:", name.branch()),
          db::prepared_name(global, "00c4e1a99d3f5b20"),
          db::prepared_name(global, "00c4e1a99d3f5b20."),
          db::prepared_name(global, "00c4e1a99d3f5b20.01"),
          db::prepared_name(global, "00c4e1a99d3f5b20.1x"),
          db::prepared_name(global, "c4e1a99d3f5b20.1"),
          db::prepared_name(global, ".1")})
        EXPECT_FALSE(txn::branch_named(other)) << other.global() << "/" << other.branch();
}

TEST_F(XaRules, NotesAreForgottenAfterTheirTime) {
    const auto time = std::make_shared<coro::virtual_time>(context.get_executor());
    participant = std::make_shared<txn::xa_participant>(database, 4u, 1h, time);
    request.ended_below = 100;  // no more than its own number is true
    EXPECT_FALSE(carry_out(operation::cancel));
    time->advance(59min);
    EXPECT_FALSE(carry_out(operation::cancel));
    EXPECT_TRUE(database->forgotten.empty());
    time->advance(1min);
    database->fails = fault::before;
    static_cast<void>(carry_out(operation::cancel));
    EXPECT_EQ(database->forgotten, std::vector<std::string>{"bank 42"});
    database->fails = fault::none;
    EXPECT_FALSE(carry_out(operation::cancel)) << "a failure is no matter of the call";
    EXPECT_EQ(database->forgotten.size(), 1u) << "not at once again";
    time->advance(1min);
    EXPECT_FALSE(carry_out(operation::cancel));
    EXPECT_EQ(database->forgotten.size(), 2u);
    time->advance(10h);
    EXPECT_FALSE(carry_out(operation::cancel));
    EXPECT_EQ(database->forgotten.size(), 2u) << "nothing is left";
}

TEST(XaNoteAges, SayWhatIsOldEnough) {
    const auto at = [](std::chrono::seconds passed) { return clock::time_point() + passed; };
    txn::detail::note_ages ages(64s);
    ages.learn(10, at(0s));
    EXPECT_EQ(ages.due(at(63s)), 0u);
    ages.learn(20, at(30s));
    ages.learn(19, at(40s));
    ages.learn(25, at(40s));
    EXPECT_EQ(ages.due(at(64s)), 10u);
    EXPECT_EQ(ages.due(at(65s)), 10u) << "until it was done";
    ages.forgot(10);
    EXPECT_EQ(ages.due(at(66s)), 0u);
    EXPECT_EQ(ages.due(at(94s)), 20u);
    ages.failed(at(94s));
    EXPECT_EQ(ages.due(at(94s)), 0u) << "not at once again";
    EXPECT_EQ(ages.due(at(110s)), 25u);
}

}  // namespace
}  // namespace mortise::test::xa_rules_test
