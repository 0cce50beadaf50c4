// SPDX-License-Identifier: BSL-1.0
#include "lock/watch_command.hpp"
#include "lock/watch_output.hpp"
#include "unit/tools/tool_world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using tool::changes_between;
using tool::lock_change;

party_view party(std::uint64_t session, std::uint64_t token = 0) {
    party_view view;
    view.session.low = session;
    view.token.value = token;
    return view;
}

lock_view lock(std::string name, std::vector<party_view> holders, std::vector<party_view> waiters) {
    lock_view view;
    view.name = std::move(name);
    view.waiter_count = waiters.size();
    view.holders = std::move(holders);
    view.waiters = std::move(waiters);
    return view;
}

/// "what name session", one for each change.
std::vector<std::string>
changes(const std::vector<lock_view>& before, const std::vector<lock_view>& after) {
    std::vector<std::string> texts;
    for (const lock_change& change : changes_between(before, after))
        texts.push_back(
            std::string(to_string(change.type)) + ' ' + change.name + ' ' +
            std::to_string(change.who.session.low)
        );
    return texts;
}

TEST(LockChanges, AreNoneBetweenTwoAlike) {
    const std::vector<lock_view> now{lock("a", {party(1, 9)}, {party(2), party(2)})};
    EXPECT_THAT(changes(now, now), ElementsAre());
    EXPECT_THAT(changes({}, {}), ElementsAre());
}

TEST(LockChanges, SayWhoLetGoAndWhoGotIt) {
    const std::vector<lock_view> before{lock("a", {party(1, 9)}, {party(2), party(3)})};
    const std::vector<lock_view> after{lock("a", {party(2, 10)}, {party(3)})};
    EXPECT_THAT(changes(before, after), ElementsAre("released a 1", "acquired a 2"));
}

TEST(LockChanges, SayWhoLeftTheQueueAndWhoJoinedIt) {
    const std::vector<lock_view> before{lock("a", {party(1, 9)}, {party(2), party(3)})};
    const std::vector<lock_view> after{lock("a", {party(1, 9)}, {party(3), party(4), party(4)})};
    EXPECT_THAT(changes(before, after), ElementsAre("left a 2", "waits a 4", "waits a 4"));
}

TEST(LockChanges, TellAGrantFromTheNextOneOfTheSameSession) {
    const std::vector<lock_view> before{lock("a", {party(1, 9)}, {})};
    const std::vector<lock_view> after{lock("a", {party(1, 10)}, {})};
    EXPECT_THAT(changes(before, after), ElementsAre("released a 1", "acquired a 1"));
}

TEST(LockChanges, GoThroughLocksThatComeAndGo) {
    const std::vector<lock_view> before{lock("a", {party(1, 1)}, {}), lock("c", {party(1, 2)}, {})};
    const std::vector<lock_view> after{lock("b", {party(2, 3)}, {}), lock("c", {party(1, 2)}, {})};
    EXPECT_THAT(changes(before, after), ElementsAre("released a 1", "acquired b 2"));
    EXPECT_THAT(changes({}, before), ElementsAre("acquired a 1", "acquired c 1"));
    EXPECT_THAT(changes(before, {}), ElementsAre("released a 1", "released c 1"));
}

/// Counts what it is shown.
class counting_output final : public tool::watch_output {
public:
    void show(std::vector<lock_view> locks) override {
        ++shown;
        last = std::move(locks);
    }
    void age(clock::duration since_look) override { oldest = std::max(oldest, since_look); }

    int shown = 0;
    std::vector<lock_view> last;
    clock::duration oldest{};
};

/// A watch under way.
class watching {
public:
    watching(tool_world& world, tool::watch_output& output, const std::string& prefix = {})
        : world_(world), locks_(world.labelled("watch", config())) {
        settings_.prefix = prefix;
        asio::co_spawn(
            world.context,
            follow_locks({locks_, feed_, *world.time, output}, world.global, settings_),
            asio::bind_cancellation_slot(
                end_.slot(),
                [this](const std::exception_ptr& how, int) {
                    ended = true;
                    ended_by = how;
                }
            )
        );
        world.pass(1s);
    }

    void end() {
        end_.emit(asio::cancellation_type::terminal);
        EXPECT_TRUE(world_.run_until([&] { return ended; }));
        world_.stop(locks_);
    }

    bool ended = false;
    std::exception_ptr ended_by;

private:
    client_config config() {
        client_config config = world_.config();
        config.observer = &feed_;
        return config;
    }

    tool_world& world_;
    tool::change_feed feed_{world_.context.get_executor()};
    lock_client locks_;
    tool::watch_settings settings_;
    asio::cancellation_signal end_;
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line.substr(line.find(' ') + 1));  // without the time
    return lines;
}

TEST(WatchCommand, WritesALineForWhatIsThereAndForEachChange) {
    tool_world world;
    lock_client alice = world.labelled("alice");
    lock_client bob = world.labelled("bob");
    lease held = world.acquire(alice, "door");
    std::ostringstream out;
    tool::watch_lines output(out, false);
    watching watch(world, output);
    ASSERT_EQ(lines_of(out.str()).size(), 1u);
    acquire_outcome next;
    bob.async_acquire("door", lock_options(), client_world::record(next));
    world.pass(1s);
    held = lease();
    world.pass(1s);
    next.held = lease();
    world.pass(1s);
    watch.end();
    const auto starts = [](const char* text) { return testing::StartsWith(text); };
    EXPECT_THAT(
        lines_of(out.str()),
        ElementsAre(
            starts("acquired door: token "),
            starts("waits door: bob, process "),
            starts("released door: token "),
            starts("acquired door: token "),
            starts("released door: token ")
        )
    );
}

TEST(WatchCommand, LooksOnlyWhenSomethingChanged) {
    tool_world world;
    lock_client alice = world.labelled("alice");
    counting_output output;
    watching watch(world, output);
    const int before = output.shown;
    world.pass(1min);
    EXPECT_EQ(output.shown, before);
    EXPECT_GT(output.oldest, 59s);  // but what is shown grows older
    const lease held = world.acquire(alice, "door");
    world.pass(1s);
    EXPECT_EQ(output.shown, before + 1);
    watch.end();
}

TEST(WatchCommand, ManyChangesMakeFewLooksAndTheLastIsSeen) {
    tool_world world;
    lock_client alice = world.labelled("alice");
    counting_output output;
    watching watch(world, output);
    const int before = output.shown;
    lease held;
    for (int i = 0; i < 500; ++i) {
        held = lease();
        held = world.acquire(alice, "door");
        world.pass(2ms);
    }
    EXPECT_LE(output.shown - before, 12);  // in a second
    EXPECT_GE(output.shown - before, 8);
    world.pass(200ms);
    ASSERT_EQ(output.last.size(), 1u);
    ASSERT_EQ(output.last.front().holders.size(), 1u);
    EXPECT_EQ(output.last.front().holders.front().token, held.token());
    held = lease();
    world.pass(200ms);
    EXPECT_TRUE(output.last.empty());
    watch.end();
}

TEST(WatchCommand, ShowsOnlyNamesThatBeginAsWanted) {
    tool_world world;
    lock_client alice = world.labelled("alice");
    const lease below = world.acquire(alice, "a");
    const lease exact = world.acquire(alice, "ab");
    const lease longer = world.acquire(alice, "ab\xff");
    const lease above = world.acquire(alice, "ac");
    counting_output output;
    watching watch(world, output, "ab");
    ASSERT_EQ(output.last.size(), 2u);
    EXPECT_EQ(output.last.front().name, "ab");
    EXPECT_EQ(output.last.back().name, "ab\xff");
    watch.end();
}

TEST(WatchCommand, SeesWhatChangedWhileItsSessionWasLost) {
    tool_world world;
    lock_client alice = world.labelled("alice");
    counting_output output;
    watching watch(world, output);
    world.server.restart(false);
    world.pass(10s);
    const lease held = world.acquire(alice, "door");
    world.pass(1s);
    ASSERT_EQ(output.last.size(), 1u);
    watch.end();
}

TEST(WatchCommand, EndsWhenTheStoreCannotBeAsked) {
    tool_world world;
    world.server.set_unavailable(true);
    counting_output output;
    watching watch(world, output);
    ASSERT_TRUE(watch.ended);
    EXPECT_THROW(std::rethrow_exception(watch.ended_by), tool::failure);
}

}  // namespace
}  // namespace mortise::test
