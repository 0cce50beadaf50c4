// SPDX-License-Identifier: BSL-1.0
// How many messages the ways of the shell cost, and that nobody is held up by a client that stops
// between two of them.
#include "mortise/sim/world.hpp"
#include "sql_model/sim_sql.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::sql_model {
namespace {

using namespace std::chrono_literals;

/// A process with a store, whose calls are begun one by one.
class user final : private store_events {
public:
    user(sim::world& in, sim_sql& server, std::string name)
        : self(in.add_process(std::move(name))) {
        self.run([](sim::process&) -> asio::awaitable<void> { co_return; });
        port = server.make_store(self);
        port->attach(self.get_executor(), *this, self.time());
        start_.id = random_id::draw();
        start_.ttl = 2s;
    }
    ~user() { port->detach(); }

    void open() {
        ++start_.generation;
        self.spawn(opens());
    }
    void begin_another_session() {
        start_.id = random_id::draw();
        start_.generation = 0;
        opened = false;
        open();
    }
    void ask(std::string name, request_id id, lock_mode mode = {}) {
        lock_request wanted;
        wanted.name = std::move(name);
        wanted.id = id;
        wanted.mode = mode;
        self.spawn(asks(std::move(wanted)));
    }
    void release() { self.spawn(releases(held)); }
    void withdraw(std::string name, request_id id) { self.spawn(withdraws(std::move(name), id)); }
    void beat() { self.spawn(beats()); }
    void draw() { self.spawn(draws(held)); }
    void take_away() { self.spawn(takes_away(held)); }
    void end() { self.spawn(ends()); }

    sim::process& self;
    std::unique_ptr<store> port;
    grant held;  ///< The newest.
    bool opened = false;
    std::deque<result<answer>> answers;
    std::vector<bool> released;
    std::vector<error_code> withdrawn;
    unsigned granted = 0;  ///< Pushes.
    bool drawn = false;
    bool broken = false;
    bool ended = false;
    std::uint64_t changes = 0;  ///< As the newest heartbeat tells.

private:
    void on_store_event(const store_event& event) noexcept override {
        if (event.type != store_event::kind::granted)
            return;
        ++granted;
        held.id = event.id;
        held.token = event.token;
    }

    asio::awaitable<void> opens() {
        auto start = start_;
        auto opening = port->resume(std::move(start));
        const auto reply = co_await std::move(opening);
        opened = reply.has_value();
    }
    asio::awaitable<void> asks(lock_request wanted) {
        held.name = wanted.name;
        const auto id = wanted.id;
        auto asking = port->request(std::move(wanted));
        auto reply = co_await std::move(asking);
        if (reply && reply->type == answer::kind::granted) {
            held.id = id;
            held.token = reply->token;
        }
        answers.push_back(std::move(reply));
    }
    asio::awaitable<void> releases(grant given) {
        auto releasing = port->release(std::move(given));
        const auto reply = co_await std::move(releasing);
        released.push_back(reply && *reply);
    }
    asio::awaitable<void> withdraws(std::string name, request_id id) {
        auto leaving = port->withdraw(std::move(name), id);
        withdrawn.push_back(co_await std::move(leaving));
    }
    asio::awaitable<void> beats() {
        auto beating = port->beat(0);
        const auto reply = co_await std::move(beating);
        changes = reply ? reply->changes : changes;
    }

    asio::awaitable<void> draws(grant given) {
        auto drawing = port->draw(std::move(given));
        drawn = (co_await std::move(drawing)).has_value();
    }
    asio::awaitable<void> takes_away(grant given) {
        break_order order;
        order.name = given.name;
        order.token = given.token;
        auto breaking = port->break_(std::move(order));
        const auto reply = co_await std::move(breaking);
        broken = reply && *reply;
    }
    asio::awaitable<void> ends() {
        auto ending = port->end();
        ended = !co_await std::move(ending);
    }

    session_start start_;
};

/// An operation of Alice, who is stopped in it.
struct stopped_operation {
    const char* name;
    bool holds;  ///< Whether she has the lock when it begins.
    bool waits;  ///< Or waits for it behind another one.
    std::function<void(user&)> begin;
    std::function<bool(const user&)> ended;
};

class SqlShell : public testing::Test {
protected:
    ~SqlShell() override { world_.end(); }

    user& add(std::string name) {
        users_.push_back(std::make_unique<user>(world_, server_, std::move(name)));
        users_.back()->open();
        EXPECT_TRUE(until([&] { return users_.back()->opened; }));
        return *users_.back();
    }

    bool until(const std::function<bool()>& done) { return world_.run_until(done, 5s); }

    /// @return whether the operation has more messages than that.
    bool stop_after(const stopped_operation& operation, std::size_t stop);

    /// How many transactions the server has done since the last call.
    std::size_t transactions() {
        const auto all = server_.transactions();
        return all - std::exchange(seen_, all);
    }

    sim::world world_{11};
    sim_sql server_{world_, "sql"};
    std::size_t seen_ = 0;
    std::vector<std::unique_ptr<user>> users_;
};

TEST_F(SqlShell, FrequentOperationsAreOneMessageEach) {
    user& alice = add("alice");
    user& bob = add("bob");
    transactions();
    alice.ask("door", 1);
    ASSERT_TRUE(until([&] { return alice.answers.size() == 1; }));
    EXPECT_EQ(alice.answers[0]->type, answer::kind::granted);
    EXPECT_EQ(transactions(), 1u) << "take";
    alice.release();
    ASSERT_TRUE(until([&] { return alice.released.size() == 1; }));
    EXPECT_TRUE(alice.released[0]);
    EXPECT_EQ(transactions(), 1u) << "release to nobody";
    alice.ask("door", 2);
    ASSERT_TRUE(until([&] { return alice.answers.size() == 2; }));
    transactions();
    bob.ask("door", 1);
    ASSERT_TRUE(until([&] { return bob.answers.size() == 1; }));
    EXPECT_EQ(bob.answers[0]->type, answer::kind::queued);
    EXPECT_EQ(bob.answers[0]->position, 1u);
    EXPECT_EQ(transactions(), 1u) << "join";
    world_.run_for(100ms);  // Alice hears that somebody waits.
    alice.release();
    ASSERT_TRUE(until([&] { return bob.granted == 1; }));
    world_.run_for(100ms);
    EXPECT_EQ(transactions(), 1u) << "pass on";
    EXPECT_TRUE(alice.released.back());
}

TEST_F(SqlShell, SeveralRequestsOfAClientForALockAreOneMessageEach) {
    user& alice = add("alice");
    alice.ask("door", 1);
    ASSERT_TRUE(until([&] { return alice.answers.size() == 1; }));
    transactions();
    alice.ask("door", 2);
    alice.ask("door", 3);
    ASSERT_TRUE(until([&] { return alice.answers.size() == 3; }));
    EXPECT_EQ(alice.answers[2]->position, 2u);
    EXPECT_EQ(transactions(), 2u) << "two joins";
    alice.release();
    ASSERT_TRUE(until([&] { return alice.granted == 1; }));
    EXPECT_EQ(alice.held.id, 2u);
    world_.run_for(100ms);
    EXPECT_LE(transactions(), 2u) << "nobody else is known to wait: release, pass on";
    alice.release();
    ASSERT_TRUE(until([&] { return alice.granted == 2; }));
    world_.run_for(100ms);
    EXPECT_EQ(transactions(), 1u) << "the lock came by a hand-over: pass on";
    EXPECT_EQ(alice.held.id, 3u);
}

TEST_F(SqlShell, ARequestThatIsSentAgainFindsItsEntry) {
    user& alice = add("alice");
    alice.ask("door", 1);
    alice.ask("door", 2);
    ASSERT_TRUE(until([&] { return alice.answers.size() == 2; }));
    alice.ask("door", 2);
    ASSERT_TRUE(until([&] { return alice.answers.size() == 3; }));
    EXPECT_EQ(alice.answers[2]->type, answer::kind::queued);
    EXPECT_EQ(server_.parties(), 2u);
}

TEST_F(SqlShell, AWaiterLeavesByOneMessageAndByTwoIfItWasGrantedMeanwhile) {
    user& alice = add("alice");
    user& bob = add("bob");
    alice.ask("door", 1);
    ASSERT_TRUE(until([&] { return alice.answers.size() == 1; }));
    bob.ask("door", 1);
    ASSERT_TRUE(until([&] { return bob.answers.size() == 1; }));
    transactions();
    bob.withdraw("door", 1);
    ASSERT_TRUE(until([&] { return bob.withdrawn.size() == 1; }));
    EXPECT_EQ(transactions(), 1u);
    bob.ask("door", 2);
    ASSERT_TRUE(until([&] { return bob.answers.size() == 2; }));
    server_.lose_pushes(1);
    alice.release();
    ASSERT_TRUE(until([&] { return alice.released.size() == 1; }));
    transactions();
    bob.withdraw("door", 2);
    ASSERT_TRUE(until([&] { return bob.withdrawn.size() == 2; }));
    EXPECT_FALSE(bob.withdrawn[1]);
    EXPECT_EQ(transactions(), 2u);
    EXPECT_EQ(server_.parties(), 0u);
}

TEST_F(SqlShell, OtherModesCostAMessageMore) {
    user& alice = add("alice");
    transactions();
    alice.ask("door", 1, lock_mode::shared());
    ASSERT_TRUE(until([&] { return alice.answers.size() == 1; }));
    EXPECT_EQ(transactions(), 2u) << "load, store";
    alice.release();
    ASSERT_TRUE(until([&] { return alice.released.size() == 1; }));
    EXPECT_EQ(transactions(), 2u);
}

// The answer to a release tells of the grant that ended, and of none that began.
TEST_F(SqlShell, ALostPushOfAGrantThatTheSessionItselfCausedIsNoticed) {
    for (const lock_mode mode : {lock_mode::exclusive(), lock_mode::permits(1)}) {
        user& alice = add("alice");
        alice.ask("door", 1, mode);
        ASSERT_TRUE(until([&] { return alice.answers.size() == 1; }));
        alice.ask("door", 2, mode);
        ASSERT_TRUE(until([&] { return alice.answers.size() == 2; }));
        server_.lose_pushes(1);
        alice.release();
        ASSERT_TRUE(until([&] { return alice.released.size() == 1; }));
        EXPECT_EQ(alice.granted, 0u);
        alice.beat();
        EXPECT_TRUE(until([&] { return alice.changes == 1; }));
        alice.withdraw("door", 2);
        ASSERT_TRUE(until([&] { return alice.withdrawn.size() == 1; }));
    }
}

TEST_F(SqlShell, CallsForOneLockTakeEffectInTheirOrder) {
    user& alice = add("alice");
    alice.ask("door", 1, lock_mode::shared());  // Two messages; the withdrawal would be the first.
    alice.withdraw("door", 1);
    ASSERT_TRUE(until([&] { return alice.withdrawn.size() == 1; }));
    EXPECT_EQ(alice.answers.size(), 1u);
    EXPECT_EQ(server_.parties(), 0u);
}

TEST_F(SqlShell, AGrantInAMixedLockThatIsWithdrawnPassesOn) {
    user& alice = add("alice");
    user& bob = add("bob");
    user& carol = add("carol");
    alice.ask("door", 1);
    ASSERT_TRUE(until([&] { return alice.answers.size() == 1; }));
    bob.ask("door", 1);
    ASSERT_TRUE(until([&] { return bob.answers.size() == 1; }));
    carol.ask("door", 1, lock_mode::shared());
    ASSERT_TRUE(until([&] { return carol.answers.size() == 1; }));
    server_.lose_pushes(1);
    alice.release();
    ASSERT_TRUE(until([&] { return alice.released.size() == 1; }));
    EXPECT_EQ(bob.granted, 0u) << "it does not know of its grant";
    bob.withdraw("door", 1);
    EXPECT_TRUE(until([&] { return carol.granted == 1; }));
    EXPECT_EQ(server_.parties(), 1u);
}

std::vector<stopped_operation> stopped_operations() {
    const auto answered = [](const user& at) { return at.answers.size() == 1; };
    const auto released = [](const user& at) { return at.released.size() == 1; };
    const auto withdrawn = [](const user& at) { return at.withdrawn.size() == 1; };
    const auto ask = [](user& at) { at.ask("door", 2); };
    const auto share = [](user& at) { at.ask("door", 2, lock_mode::shared()); };
    const auto release = [](user& at) { at.release(); };
    const auto withdraw = [](user& at) { at.withdraw("door", 1); };
    const auto draw = [](user& at) { at.draw(); };
    const auto take_away = [](user& at) { at.take_away(); };
    const auto end = [](user& at) { at.end(); };
    return {
        {"Take", false, false, ask, answered},
        {"Share", false, false, share, answered},
        {"Release", true, false, release, released},
        {"Join", false, false, ask, answered},
        {"Withdraw", false, true, withdraw, withdrawn},
        {"GiveBack", true, false, withdraw, withdrawn},
        {"Draw", true, false, draw, [](const user& at) { return at.drawn; }},
        {"Break", true, false, take_away, [](const user& at) { return at.broken; }},
        {"End", true, false, end, [](const user& at) { return at.ended; }},
    };
}

bool SqlShell::stop_after(const stopped_operation& operation, std::size_t stop) {
    const std::size_t first = users_.size();
    user& alice = add("alice");
    user& bob = add("bob");
    user& carol = add("carol");
    if (operation.waits || operation.name == std::string("Join"))
        carol.ask("door", 1);
    world_.run_for(10ms);
    if (operation.holds || operation.waits)
        alice.ask("door", 1);
    world_.run_for(10ms);
    alice.answers.clear();
    const auto before = server_.transactions();
    operation.begin(alice);
    const auto done = [&] { return operation.ended(alice); };
    until([&] { return done() || server_.transactions() == before + stop; });
    const bool more = !done();
    alice.self.pause();
    const auto asked = world_.now();
    bob.ask("door", 1);
    bob.ask("window", 2);
    until([&] { return bob.answers.size() == 2; });
    EXPECT_LT(world_.now() - asked, 50ms);
    EXPECT_TRUE(bob.answers.size() == 2 && bob.answers[0] && bob.answers[1]);
    alice.self.resume();
    EXPECT_TRUE(until(done));
    EXPECT_TRUE(alice.answers.empty() || alice.answers[0]);
    for (std::size_t i = users_.size(); i-- > first;)
        users_[i]->end();
    EXPECT_TRUE(until([&] { return server_.sessions() == 0; }));
    EXPECT_EQ(server_.parties(), 0u);
    return more;
}

// Alice stops after each of the messages of each operation, for less than her TTL. Bob gets his
// answers at once: for the same lock and for another one.
TEST_F(SqlShell, AClientThatStopsAfterAnyMessageHoldsNobodyUp) {
    for (const auto& operation : stopped_operations()) {
        bool more = true;
        for (std::size_t stop = 1; more; ++stop) {
            SCOPED_TRACE(operation.name + std::to_string(stop));
            ASSERT_NO_FATAL_FAILURE(more = stop_after(operation, stop));
            ASSERT_LT(stop, 20u);
        }
    }
}

TEST_F(SqlShell, WhoLosesThreeTimesLocksTheRow) {
    user& alice = add("alice");
    server_.lose_writes(3);
    transactions();
    alice.ask("door", 1, lock_mode::shared());
    ASSERT_TRUE(until([&] { return alice.answers.size() == 1; }));
    EXPECT_EQ(alice.answers[0]->type, answer::kind::granted);
    EXPECT_EQ(transactions(), 8u) << "four times load and store";
    EXPECT_EQ(server_.row_locks(), 1u);
}

// Its reaper is at work at the lock that it asks for, and both lock the row.
TEST_F(SqlShell, AClientGivesUpNoRowLockOfItsOwn) {
    user& alice = add("alice");
    user& bob = add("bob");
    alice.ask("door", 1, lock_mode::shared());
    ASSERT_TRUE(until([&] { return alice.answers.size() == 1; }));
    alice.self.pause();
    for (int i = 0; i < 3; ++i) {
        bob.beat();
        world_.run_for(900ms);
    }
    const auto before = server_.row_locks();
    server_.lose_writes(20);
    bob.beat();
    bob.ask("door", 1, lock_mode::shared());
    ASSERT_TRUE(until([&] { return bob.answers.size() == 1; }));
    EXPECT_TRUE(bob.answers[0]) << bob.answers[0].error().message();
    EXPECT_TRUE(until([&] { return server_.sessions() == 1; }));
    EXPECT_EQ(server_.parties(), 1u);
    EXPECT_GT(server_.row_locks(), before + 10);
}

// The first request takes so long that the session ends meanwhile, and the second one waits for it.
TEST_F(SqlShell, ACallThatWaitedForItsTurnIsNotCarriedOutInTheNextSession) {
    user& alice = add("alice");
    server_.lose_writes(20);
    alice.ask("door", 1, lock_mode::shared());
    alice.ask("door", 2, lock_mode::shared());
    alice.begin_another_session();
    ASSERT_TRUE(until([&] { return alice.opened; }));
    ASSERT_TRUE(alice.answers.empty());
    ASSERT_TRUE(until([&] { return alice.answers.size() == 2; }));
    ASSERT_FALSE(alice.answers[1]);
    EXPECT_EQ(alice.answers[1].error(), errc::outcome_unknown);
    EXPECT_LE(server_.parties(), 1u) << "the first one, in the session that it was asked for";
    alice.end();
    EXPECT_TRUE(until([&] { return alice.ended; }));
    EXPECT_LE(server_.parties(), 1u);
}

TEST_F(SqlShell, ADeadSessionIsReapedLockByLockAndForgotten) {
    user& alice = add("alice");
    user& bob = add("bob");
    for (request_id id = 1; id <= 100; ++id)
        alice.ask("lock " + std::to_string(id), id);
    ASSERT_TRUE(until([&] { return alice.answers.size() == 100; }));
    alice.self.pause();
    for (int i = 0; i < 30 && server_.sessions() != 1; ++i) {
        bob.beat();
        world_.run_for(500ms);
    }
    EXPECT_EQ(server_.sessions(), 1u);
    EXPECT_EQ(server_.parties(), 0u);
}

TEST_F(SqlShell, AQuarantineEndsWithAGrantToWhoWaits) {
    add("alice");  // Its TTL is what the next life of the server waits for.
    server_.restart_after(1ms, false);
    world_.run_for(10ms);
    user& bob = add("bob");
    bob.ask("door", 1);
    ASSERT_TRUE(until([&] { return bob.answers.size() == 1; }));
    EXPECT_EQ(bob.answers[0]->type, answer::kind::queued);
    for (int i = 0; i < 10 && bob.granted == 0; ++i) {
        bob.beat();
        world_.run_for(300ms);
    }
    EXPECT_EQ(bob.granted, 1u);
}

}  // namespace
}  // namespace mortise::sql_model
