// SPDX-License-Identifier: BSL-1.0
// The rules of sessions and connections, without any server.
#include "store/link/session_link.hpp"
#include "unit/link/scripted_link.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::store_detail::session_link_test {
namespace {

using namespace std::chrono_literals;
using kinds = std::vector<store_event::kind>;
using test::link_world;
using texts = test::scripted_link::texts;

class SessionLink : public testing::Test {
protected:
    /// Opens a session, and forgets the notes of that.
    void open_one() {
        ASSERT_TRUE(world_.open(1)->opened);
        static_cast<void>(link_.take());
    }

    link_world world_;
    test::scripted_link& link_ = *world_.link;
    test::link_owner& owner_ = world_.owner;
};

TEST_F(SessionLink, OpensAndProvesBeforeTheConnectionIsInUse) {
    link_.silent_at_open = link_.silent_at_prove = true;
    const auto opening = world_.open(7);
    EXPECT_EQ(link_.take(), (texts{"session 7", "1 open 1"}));
    EXPECT_FALSE(link_.connected());
    link_.answer(1);
    world_.pass(0ms);
    EXPECT_EQ(link_.take(), texts{"1 prove"});
    EXPECT_FALSE(link_.connected());
    EXPECT_EQ(link_.connection(), 0u);
    link_.answer(1);
    world_.pass(0ms);
    EXPECT_EQ(link_.take(), texts{"1 in use"});
    EXPECT_TRUE(opening->opened);
    EXPECT_TRUE(link_.connected());
    EXPECT_EQ(link_.session().id.low, 7u);
    EXPECT_EQ(owner_.take(), kinds()) << "the result of the call says it";
}

TEST_F(SessionLink, ThatCannotBeOpenedIsNotProvedAndNotTriedAgain) {
    link_.to_open = errc::access_denied;
    const auto opening = world_.open(1);
    EXPECT_TRUE(opening->ended);
    EXPECT_EQ(opening->code, errc::access_denied);
    EXPECT_EQ(link_.take(), (texts{"session 1", "1 open 1", "1 failed", "1 close"}));
    world_.pass(1h);
    EXPECT_EQ(link_.take(), texts()) << "its owner decides when to try again";
    EXPECT_FALSE(link_.connected());
}

TEST_F(SessionLink, ThatIsNotProvedIsClosed) {
    link_.to_prove = errc::store_full;
    EXPECT_EQ(world_.open(1)->code, errc::store_full);
    EXPECT_EQ(link_.take(), (texts{"session 1", "1 open 1", "1 prove", "1 failed", "1 close"}));
    world_.cut();  // The late end of a connection that was never in use replaces nothing.
    world_.pass(1h);
    EXPECT_EQ(link_.take(), texts());
}

TEST_F(SessionLink, KeepsItsSessionOverAFailedOpeningUnlessTheSessionIsLost) {
    link_.to_prove = errc::store_full;
    world_.open(1);
    static_cast<void>(link_.take());
    link_.to_prove = errc::session_lost;
    EXPECT_EQ(world_.open(1, 2)->code, errc::session_lost);
    EXPECT_EQ(link_.take(), (texts{"2 open 2", "2 prove", "2 failed", "2 close"}));
    link_.to_prove = {};
    EXPECT_TRUE(world_.open(1)->opened);
    EXPECT_EQ(link_.take(), (texts{"session 1", "3 open 1", "3 prove", "3 in use"}));
}

TEST_F(SessionLink, ReplacesTheConnectionOfItsSessionWhenAskedTo) {
    open_one();
    EXPECT_TRUE(world_.open(1, 9)->opened);
    EXPECT_EQ(link_.take(), (texts{"1 close", "2 open 9", "2 prove", "2 in use"}));
    EXPECT_TRUE(world_.open(2)->opened);
    EXPECT_EQ(link_.take(), (texts{"2 close", "session 2", "3 open 1", "3 prove", "3 in use"}));
}

TEST_F(SessionLink, ThatIsClosedWhileItIsOpenedFails) {
    link_.silent_at_open = true;
    const auto opening = world_.open(1);
    EXPECT_FALSE(opening->ended);
    world_.cut();
    EXPECT_EQ(opening->code, errc::store_unavailable);
    EXPECT_EQ(link_.take(), (texts{"session 1", "1 open 1", "1 close", "1 failed"}));
    world_.pass(1h);
    EXPECT_EQ(link_.take(), texts()) << "no second attempt beside that of the owner";
}

TEST_F(SessionLink, ThatIsClosedWhileItIsOpenedIsNotProved) {
    link_.silent_at_open = link_.ignores_close = true;
    const auto opening = world_.open(1);
    world_.cut();
    link_.answer(1);
    world_.pass(0ms);
    EXPECT_EQ(opening->code, errc::store_unavailable);
    EXPECT_EQ(link_.take(), (texts{"session 1", "1 open 1", "1 close", "1 failed"}));
}

TEST_F(SessionLink, ThatIsClosedWhileItIsProvedHasAnUnknownOutcome) {
    link_.silent_at_prove = link_.ignores_close = true;
    const auto opening = world_.open(1);
    world_.cut();
    EXPECT_FALSE(opening->ended);
    link_.answer(1);
    world_.pass(0ms);
    EXPECT_TRUE(opening->ended);
    EXPECT_EQ(opening->code, errc::outcome_unknown) << "the server has the session, perhaps";
    EXPECT_FALSE(link_.connected());
    EXPECT_EQ(link_.take(), (texts{"session 1", "1 open 1", "1 prove", "1 close", "1 failed"}));
}

TEST_F(SessionLink, ThatIsSupersededHasAnUnknownOutcomeWhicheverAnswersFirst) {
    for (const bool older_first : {true, false}) {
        link_world world;
        auto& link = *world.link;
        link.silent_at_prove = link.ignores_close = true;
        const auto older = world.open(1);
        const auto newer = world.open(2);
        EXPECT_FALSE(older->ended);
        link.answer(older_first ? 1 : 2);
        world.pass(0ms);
        EXPECT_EQ(older->ended, older_first);
        EXPECT_EQ(newer->ended, !older_first);
        EXPECT_EQ(link.connected(), !older_first);
        link.answer(older_first ? 2 : 1);
        world.pass(0ms);
        EXPECT_EQ(older->code, errc::outcome_unknown);
        EXPECT_TRUE(newer->opened);
        EXPECT_TRUE(link.connected());
        EXPECT_EQ(link.connection(), 2u);
        EXPECT_EQ(link.session().id.low, 2u);
        EXPECT_EQ(link.open_wires(), 1u);
    }
}

TEST_F(SessionLink, ThatIsSupersededByAnOpeningOfTheSameGenerationIsNotTakenForIt) {
    link_.silent_at_open = link_.ignores_close = true;
    const auto older = world_.open(1);
    const auto newer = world_.open(1);
    link_.answer(1);
    world_.pass(0ms);
    EXPECT_EQ(older->code, errc::outcome_unknown);
    EXPECT_FALSE(link_.connected());
    EXPECT_FALSE(newer->ended);
    link_.answer(2);
    world_.pass(0ms);
    EXPECT_TRUE(newer->opened);
}

TEST_F(SessionLink, ThatWasTakenForLostByASupersededOpeningGoesOn) {
    link_.silent_at_prove = link_.ignores_close = true;
    const auto older = world_.open(1);
    const auto newer = world_.open(1, 2);
    link_.to_prove = errc::session_lost;
    link_.answer(1);
    world_.pass(0ms);
    EXPECT_EQ(older->code, errc::outcome_unknown);
    link_.to_prove = {};
    link_.answer(2);
    world_.pass(0ms);
    EXPECT_TRUE(newer->opened);
    world_.cut();
    link_.silent_at_prove = false;
    world_.pass(1s);
    EXPECT_TRUE(link_.connected()) << "it still has a session to go on with";
}

TEST_F(SessionLink, GoesOnWithAnotherConnectionOfTheNextGeneration) {
    open_one();
    world_.cut();
    EXPECT_EQ(link_.take(), texts{"1 close"});
    EXPECT_FALSE(link_.connected());
    world_.pass(1s - 1ns);
    EXPECT_EQ(link_.take(), texts()) << "it pauses";
    world_.pass(1ns);
    EXPECT_EQ(link_.take(), (texts{"2 open 2", "2 prove", "2 in use"}));
    EXPECT_EQ(owner_.take(), kinds{store_event::kind::look_again});
    EXPECT_EQ(link_.connection(), 2u);
    world_.cut();
    world_.pass(1s);
    EXPECT_EQ(link_.take(), (texts{"2 close", "3 open 3", "3 prove", "3 in use"}));
    EXPECT_EQ(link_.session().generation, 3u);
}

TEST_F(SessionLink, TellsThatNothingIsSureIfTheIncarnationIsAnotherOne) {
    open_one();
    world_.cut();
    link_.server = {2, 2};
    world_.pass(1s);
    EXPECT_EQ(owner_.take(), kinds{store_event::kind::unsure});
    world_.cut();
    world_.pass(1s);
    EXPECT_EQ(owner_.take(), kinds{store_event::kind::look_again}) << "it is known by now";
    link_.set_incarnation({3, 3});
    world_.cut();
    world_.pass(1s);
    EXPECT_EQ(owner_.take(), kinds{store_event::kind::unsure});
}

TEST_F(SessionLink, TellsWhichProofItMeans) {
    auto start = test::session_of(1);
    start.number = 3;
    world_.run([this, &start]() -> asio::awaitable<void> {
        auto opening = link_.open(start);
        co_await std::move(opening);
    });
    for (const error_code& proof : {error_code(), error_code(errc::session_lost)}) {
        link_.to_prove = proof;
        world_.cut();
        world_.pass(1s);
    }
    ASSERT_EQ(owner_.heard.size(), 2u);
    for (const auto& event : owner_.heard)
        EXPECT_EQ(event.number, 3u) << static_cast<int>(event.type);
}

TEST_F(SessionLink, PausesForLongerAfterEachFailureAndStartsAgainAfterASuccess) {
    open_one();
    link_.to_open = errc::store_unavailable;
    world_.cut();
    std::vector<clock::duration> pauses;
    auto before = world_.time.now();
    for (std::size_t opened = 1; opened < 5; ++opened) {
        world_.step_while([&] { return link_.wires() == opened; });
        pauses.push_back(world_.time.now() - std::exchange(before, world_.time.now()));
    }
    EXPECT_EQ(pauses, (std::vector<clock::duration>{1s, 2s, 3s, 4s}));
    EXPECT_EQ(link_.session().generation, 5u) << "the server may have seen each of them";
    link_.to_open = {};
    world_.pass(5s);
    EXPECT_TRUE(link_.connected());
    world_.cut();
    world_.pass(1s);
    EXPECT_TRUE(link_.connected()) << "it had paused for the first time";
    EXPECT_EQ(owner_.take(), (kinds{store_event::kind::look_again, store_event::kind::look_again}));
}

TEST_F(SessionLink, WhoseNextConnectionIsClosedWhileItIsOpenedPausesAgain) {
    open_one();
    link_.silent_at_open = true;
    world_.cut();
    world_.pass(1s);
    EXPECT_EQ(link_.take(), (texts{"1 close", "2 open 2"}));
    world_.cut();
    EXPECT_EQ(link_.take(), (texts{"2 close", "2 failed"}));
    link_.silent_at_open = false;
    world_.pass(2s - 1ns);
    EXPECT_EQ(link_.take(), texts());
    world_.pass(1ns);
    EXPECT_EQ(link_.take(), (texts{"3 open 3", "3 prove", "3 in use"}));
    EXPECT_EQ(owner_.take(), kinds{store_event::kind::look_again}) << "told once";
}

TEST_F(SessionLink, ThatIsLostIsToldSoAndNotTriedAgain) {
    for (const errc why : {errc::session_lost, errc::newer_format}) {
        link_world world;
        world.open(1);
        world.cut();
        world.link->to_prove = why;
        world.pass(1s);
        ASSERT_EQ(world.owner.heard.size(), 1u);
        EXPECT_EQ(world.owner.heard.front().type, store_event::kind::session_lost);
        EXPECT_EQ(world.owner.heard.front().why, errc::session_lost);
        world.pass(1h);
        world.cut();
        EXPECT_FALSE(world.time.next_deadline());
        EXPECT_EQ(world.link->wires(), 2u);
        EXPECT_EQ(world.owner.heard.size(), 1u);
        world.link->to_prove = {};
        EXPECT_TRUE(world.open(2)->opened) << "the next session is not affected";
    }
}

TEST_F(SessionLink, IsNotLostByAnyOtherFailure) {
    open_one();
    world_.cut();
    for (const errc why :
         {errc::store_unavailable,
          errc::outcome_unknown,
          errc::store_full,
          errc::access_denied,
          errc::read_only_server}) {
        link_.to_prove = why;
        const auto opened = link_.wires();
        world_.step_while([&] { return link_.wires() == opened; });
        world_.pass(0ms);
        EXPECT_EQ(owner_.take(), kinds()) << error_code(why).message();
    }
    link_.to_prove = {};
    world_.pass(1h);
    EXPECT_TRUE(link_.connected());
}

TEST_F(SessionLink, LeavesAnOpeningOfItsOwnerAlone) {
    open_one();
    world_.cut();
    link_.silent_at_open = true;
    world_.pass(500ms);
    const auto opening = world_.open(1, 8);
    world_.pass(1h);
    EXPECT_EQ(link_.take(), (texts{"1 close", "2 open 8"})) << "the pause ended meanwhile";
    link_.answer(2);
    world_.pass(0ms);
    EXPECT_TRUE(opening->opened);
    EXPECT_EQ(link_.session().generation, 8u);
    EXPECT_EQ(owner_.take(), kinds());
}

TEST_F(SessionLink, WhosePauseEndsInAnotherSessionOpensNothing) {
    open_one();
    world_.cut();
    link_.to_open = errc::store_unavailable;
    world_.open(2);
    static_cast<void>(link_.take());
    world_.pass(1h);
    EXPECT_EQ(link_.take(), texts());
}

TEST_F(SessionLink, WhosePauseEndsAfterItsOwnerFoundItLostOpensNothing) {
    open_one();
    world_.cut();
    link_.to_prove = errc::session_lost;
    EXPECT_EQ(world_.open(1, 2)->code, errc::session_lost);
    static_cast<void>(link_.take());
    world_.pass(1h);
    EXPECT_EQ(link_.take(), texts());
    EXPECT_EQ(owner_.take(), kinds());
}

TEST_F(SessionLink, TellsNothingOfAReconnectionThatItsOwnerSuperseded) {
    for (const errc late : {errc(), errc::session_lost, errc::store_unavailable}) {
        link_world world;
        auto& link = *world.link;
        world.open(1);
        world.cut();
        link.silent_at_prove = link.ignores_close = true;
        world.pass(1s);
        link.silent_at_prove = false;
        ASSERT_TRUE(world.open(1, 5)->opened);
        link.to_prove = late;
        link.answer(2);
        world.pass(1h);
        EXPECT_EQ(world.owner.take(), kinds());
        EXPECT_EQ(link.wires(), 3u);
        EXPECT_EQ(link.session().generation, 5u);
        link.to_prove = {};
        world.cut();
        world.pass(1s);
        EXPECT_TRUE(link.connected()) << "neither the session nor the pauses were touched";
    }
}

TEST_F(SessionLink, ReplacesAConnectionThatIsGivenUp) {
    open_one();
    link_.replace_connection();
    EXPECT_EQ(link_.take(), texts{"1 close"});
    link_.replace_connection();
    world_.pass(1s);
    EXPECT_EQ(link_.take(), (texts{"2 open 2", "2 prove", "2 in use"})) << "given up once";
    EXPECT_EQ(owner_.take(), kinds{store_event::kind::look_again});
}

TEST_F(SessionLink, GivesUpNoConnectionThatIsBeingOpened) {
    link_.silent_at_open = true;
    const auto opening = world_.open(1);
    link_.replace_connection();
    EXPECT_EQ(link_.take(), (texts{"session 1", "1 open 1"}));
    link_.answer(1);
    world_.pass(0ms);
    EXPECT_TRUE(opening->opened);
}

TEST_F(SessionLink, KnowsAConnectionByItsNumberWhileItIsInUse) {
    EXPECT_FALSE(link_.is_current(0)) << "none is no connection";
    open_one();
    const auto first = link_.connection();
    EXPECT_TRUE(link_.is_current(first));
    world_.cut();
    EXPECT_FALSE(link_.is_current(first)) << "an answer to an earlier call is late";
    EXPECT_FALSE(link_.is_current(0));
    world_.pass(1s);
    EXPECT_FALSE(link_.is_current(first));
    EXPECT_TRUE(link_.is_current(link_.connection()));
    link_.silent_at_open = true;
    world_.open(1, 3);
    EXPECT_FALSE(link_.is_current(3)) << "it is only being opened";
}

TEST_F(SessionLink, SettlesWhenNoConnectionIsBeingOpened) {
    std::vector<bool> settled;
    const auto settle = [&] {
        world_.start([&]() -> asio::awaitable<void> {
            auto settling = link_.settle();
            const bool connected = co_await std::move(settling);
            settled.push_back(connected);
        });
        world_.pass(0ms);
    };
    settle();
    EXPECT_EQ(settled, std::vector<bool>{false}) << "there is nothing to wait for";
    link_.silent_at_open = true;
    world_.open(1);
    settle();
    EXPECT_EQ(settled.size(), 1u);
    world_.open(2);
    world_.pass(1h);
    EXPECT_EQ(settled.size(), 1u) << "the end of a superseded opening settles nothing";
    link_.answer(2);
    world_.pass(0ms);
    EXPECT_EQ(settled, (std::vector<bool>{false, true}));
    settle();
    EXPECT_EQ(settled, (std::vector<bool>{false, true, true}));
    world_.open(2, 2);
    settle();
    world_.cut();
    EXPECT_EQ(settled, (std::vector<bool>{false, true, true, false}));
}

TEST_F(SessionLink, ThatHasEndedIsClosedAndNotReplaced) {
    open_one();
    link_.end_session();
    EXPECT_EQ(link_.take(), texts{"1 close"});
    link_.connection_closed();
    EXPECT_FALSE(world_.time.next_deadline()) << "nothing is planned";
    world_.pass(1h);
    EXPECT_EQ(link_.take(), texts());
    EXPECT_TRUE(world_.open(1)->opened);
    EXPECT_EQ(link_.take().front(), "session 1") << "it begins anew";
    world_.cut();
    link_.end_session();
    EXPECT_FALSE(world_.time.next_deadline()) << "the pause ends, too";
}

TEST_F(SessionLink, ThatEndsWhileItIsOpenedIsNotInUseAfterwards) {
    for (const bool reconnecting : {false, true}) {
        link_world world;
        auto& link = *world.link;
        link.ignores_close = true;
        if (reconnecting) {
            world.open(1);
            world.cut();
        }
        link.silent_at_prove = true;
        const auto opening = reconnecting ? nullptr : world.open(1);
        world.pass(1s);
        link.end_session();
        link.answer(link.wires());
        world.pass(1h);
        EXPECT_EQ(opening ? opening->code : errc::outcome_unknown, errc::outcome_unknown);
        EXPECT_FALSE(link.connected());
        EXPECT_EQ(link.open_wires(), 0u);
        EXPECT_EQ(world.owner.take(), kinds()) << "nobody asks any longer";
        EXPECT_EQ(link.wires(), reconnecting ? 2u : 1u);
    }
}

TEST_F(SessionLink, ThatEndsIsNotToldAgainThatItIsGone) {
    open_one();
    world_.cut();
    link_.silent_at_prove = link_.ignores_close = true;
    world_.pass(1s);
    link_.end_session();
    link_.to_prove = errc::session_lost;
    link_.answer(2);
    world_.pass(0ms);
    EXPECT_EQ(owner_.take(), kinds());
}

TEST_F(SessionLink, TellsAChangeOnceToWhoWatches) {
    open_one();
    link_.tell(store_event::kind::changed);
    world_.pass(0ms);
    EXPECT_EQ(owner_.take(), kinds());
    link_.begin_to_watch();
    link_.tell(store_event::kind::changed);
    link_.tell(store_event::kind::changed);
    world_.pass(0ms);
    EXPECT_EQ(owner_.take(), kinds{store_event::kind::changed});
}

TEST_F(SessionLink, FindsAChangeWhosePushWasLost) {
    open_one();
    link_.compare_watching(false);
    world_.pass(0ms);
    EXPECT_EQ(owner_.take(), kinds()) << "it does not watch";
    link_.begin_to_watch();
    link_.compare_watching(true);
    world_.pass(0ms);
    EXPECT_EQ(owner_.take(), kinds());
    link_.compare_watching(false);
    EXPECT_EQ(owner_.take(), kinds()) << "not from inside the call";
    world_.pass(0ms);
    EXPECT_EQ(owner_.take(), kinds{store_event::kind::changed});
}

TEST_F(SessionLink, TellsAChangeAfterAReconnectionSinceItsPushMayBeLost) {
    open_one();
    link_.begin_to_watch();
    world_.cut();
    world_.pass(1s);
    EXPECT_EQ(owner_.take(), (kinds{store_event::kind::look_again, store_event::kind::changed}));
}

TEST_F(SessionLink, ForgetsWithItsSessionThatItWatched) {
    open_one();
    link_.begin_to_watch();
    ASSERT_TRUE(world_.open(2)->opened);
    link_.compare_watching(false);
    world_.pass(0ms);
    EXPECT_EQ(owner_.take(), kinds());
}

TEST_F(SessionLink, TellsByAHandlerOfItsOwnUnlessAskedToTellAtOnce) {
    open_one();
    link_.tell(store_event::kind::unsure);
    EXPECT_EQ(owner_.take(), kinds()) << "its owner may be inside a call";
    world_.pass(0ms);
    EXPECT_EQ(owner_.take(), kinds{store_event::kind::unsure});
    store_event event;
    event.type = store_event::kind::granted;
    event.id = 7;
    link_.tell_now(event);
    ASSERT_EQ(owner_.heard.size(), 1u);
    EXPECT_EQ(owner_.heard.front().id, 7u);
}

TEST_F(SessionLink, TellsNoEventOfAnEarlierSession) {
    open_one();
    world_.run([this]() -> asio::awaitable<void> {
        link_.tell(store_event::kind::session_lost);
        auto opening = link_.open(test::session_of(2));
        const auto reply = co_await std::move(opening);
        EXPECT_TRUE(reply);
    });
    EXPECT_EQ(owner_.take(), kinds()) << "it would end the session that is new";
}

TEST_F(SessionLink, RemembersTheNewestFailureForAnyThread) {
    EXPECT_EQ(link_.explain(), "");
    EXPECT_EQ(link_.remember(errc::store_full, "the first"), errc::store_full);
    EXPECT_EQ(link_.explain(), "the first");
    std::thread reader([&] {
        for (int i = 0; i < 1'000; ++i) {
            const auto text = link_.explain();
            EXPECT_EQ(text.size(), text.front() == 't' ? 9u : 24u);
        }
    });
    for (int i = 0; i < 1'000; ++i)
        link_.remember(errc::store_unavailable, "another one that is long");
    reader.join();
    EXPECT_EQ(link_.explain(), "another one that is long");
}

TEST(DrawnPauses, GrowUpToTheirLimitAndStartAgain) {
    const coro::backoff_options limits{10ms, 80ms, 2};
    const auto pauses = drawn_pauses(limits, 42);
    std::vector<clock::duration> longest(6);
    for (int run = 0; run < 200; ++run) {
        for (std::uint32_t attempt = 0; attempt < longest.size(); ++attempt)
            longest[attempt] = std::max(longest[attempt], pauses(attempt));
    }
    const std::vector<clock::duration> bounds{10ms, 20ms, 40ms, 80ms, 80ms, 80ms};
    for (std::size_t attempt = 0; attempt < bounds.size(); ++attempt) {
        EXPECT_LE(longest[attempt], bounds[attempt]) << attempt;
        EXPECT_GT(longest[attempt], bounds[attempt] * 3 / 4) << attempt;
    }
}

TEST(DrawnPauses, FollowFromTheirSeed) {
    const coro::backoff_options limits{10ms, 1'000ms, 2};
    const auto one = drawn_pauses(limits, 1);
    const auto same = drawn_pauses(limits, 1);
    const auto other = drawn_pauses(limits, 2);
    bool differs = false;
    for (std::uint32_t attempt = 0; attempt < 8; ++attempt) {
        const auto pause = one(attempt);
        EXPECT_EQ(pause, same(attempt));
        differs = differs || pause != other(attempt);
    }
    EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace mortise::store_detail::session_link_test
