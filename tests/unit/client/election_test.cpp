// SPDX-License-Identifier: BSL-1.0
#include "mortise/election.hpp"
#include "mortise/leader_candidate.hpp"
#include "mortise/lock_observer.hpp"
#include "support/print.hpp"
#include "unit/client/client_world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// The office, as those see it who are in it.
class office {
public:
    explicit office(client_world& world) : world_(world) {}

    /// A term of so long; leaves the office however it ends.
    asio::awaitable<void> term(const lease& held, clock::duration length) {
        const visit here(*this);
        terms.push_back(held.token().value);
        co_await coro::sleep_for(*world_.time, length);
        ++served;
    }

    int inside = 0;
    int inside_max = 0;
    int served = 0;  // terms that came to their own end
    std::vector<std::uint64_t> terms;

private:
    struct visit {
        explicit visit(office& place) : of(place) {
            of.inside_max = std::max(of.inside_max, ++of.inside);
        }
        ~visit() { --of.inside; }
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;
        office& of;
    };

    client_world& world_;
};

/// The result of a candidate's run.
class candidacy {
public:
    candidacy() = default;

    bool ended = false;
    std::exception_ptr failure;
    asio::cancellation_signal stop;

    error_code code() const {
        if (!failure)
            return {};
        try {
            std::rethrow_exception(failure);
        } catch (const boost::system::system_error& e) {
            return e.code();
        } catch (...) {
            return errc::unsupported;  // no code at all; see `failure`
        }
    }
};

using term_body = std::function<asio::awaitable<void>(const lease&)>;

asio::awaitable<void> stand(lock_client& client, term_body body, bool every_type) {
    if (every_type)
        co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await lead(client, "leader", election_options(), body);
}

void nominate(
    client_world& world,
    lock_client& client,
    candidacy& candidate,
    term_body body,
    bool every_type = false
) {
    asio::co_spawn(
        world.context,
        stand(client, std::move(body), every_type),
        asio::bind_cancellation_slot(
            candidate.stop.slot(),
            [&candidate](std::exception_ptr failure) {
                EXPECT_FALSE(candidate.ended);
                candidate.ended = true;
                candidate.failure = std::move(failure);
            }
        )
    );
}

term_body terms_of(office& seat, clock::duration length) {
    return [&seat, length](const lease& held) { return seat.term(held, length); };
}

void break_leader(client_world& world, lock_client& client) {
    bool broken = false;
    client.async_inspect("leader", 0, [&](error_code, std::optional<lock_view> view) {
        ASSERT_TRUE(view);
        client.async_break("leader", view->holders.at(0).token, "test", [&](error_code, bool was) {
            broken = was;
        });
    });
    EXPECT_TRUE(world.run_until([&] { return broken; }));
}

TEST(Election, HasOneLeaderAtATime) {
    client_world world;
    office seat(world);
    std::vector<std::unique_ptr<lock_client>> clients;
    std::vector<candidacy> candidates(4);
    for (auto& each : candidates) {
        clients.push_back(std::make_unique<lock_client>(world.client()));
        nominate(world, *clients.back(), each, terms_of(seat, 50ms));
    }
    // Two more of the first client, which would pass the lock on among themselves.
    std::vector<candidacy> others(2);
    for (auto& each : others)
        nominate(world, *clients.front(), each, terms_of(seat, 50ms));
    const auto all_ended = [&] {
        const auto ended = [](const candidacy& each) { return each.ended; };
        return std::all_of(candidates.begin(), candidates.end(), ended) &&
               std::all_of(others.begin(), others.end(), ended);
    };
    ASSERT_TRUE(world.run_until(all_ended));
    EXPECT_EQ(seat.inside_max, 1);
    EXPECT_EQ(seat.served, 6);
    EXPECT_EQ(seat.terms.size(), 6u);
    EXPECT_TRUE(std::is_sorted(seat.terms.begin(), seat.terms.end(), std::less_equal<>()));
    for (const auto& each : candidates)
        EXPECT_FALSE(each.failure);
    world.pass(10ms);
    EXPECT_EQ(world.server.entries(), 0u);
}

TEST(Election, KeepsItsBodyForATermThatBeginsLater) {
    client_world world;
    lock_client client = world.client();
    const auto served = std::make_shared<int>(0);
    bool ended = false;
    const auto stand_and_forget = [&] {
        const auto body = [served](const lease&) -> asio::awaitable<void> {
            ++*served;
            co_return;
        };
        asio::co_spawn(
            world.context,
            lead(client, "leader", {}, body),
            [&ended](std::exception_ptr failure) { ended = !failure; }
        );
    };
    stand_and_forget();
    EXPECT_EQ(served.use_count(), 2) << "the body that is kept has a copy";
    ASSERT_TRUE(world.run_until([&] { return ended; }));
    EXPECT_EQ(*served, 1);
}

TEST(Election, WhoReturnsHasResignedAndAnotherLeads) {
    client_world world;
    office seat(world);
    lock_client alice = world.client();
    lock_client bob = world.client();
    candidacy first;
    candidacy second;
    nominate(world, alice, first, terms_of(seat, 100ms));
    ASSERT_TRUE(world.run_until([&] { return seat.inside == 1; }));
    nominate(world, bob, second, terms_of(seat, 1h));
    ASSERT_TRUE(world.run_until([&] { return first.ended && seat.terms.size() == 2; }));
    EXPECT_FALSE(first.failure);
    world.pass(10s);
    EXPECT_EQ(seat.terms.size(), 2u) << "who has resigned does not stand again";
    EXPECT_EQ(seat.inside, 1);
    world.stop(bob);
}

TEST(Election, ALossStopsTheBodyAndTheCandidateStandsAgain) {
    client_world world;
    office seat(world);
    lock_client alice = world.client();
    lock_client observer = world.client();
    candidacy candidate;
    int stopped = 0;
    nominate(world, alice, candidate, [&](const lease& held) -> asio::awaitable<void> {
        try {
            co_await seat.term(held, seat.terms.size() < 2 ? 1h : clock::duration(10ms));
        } catch (const boost::system::system_error& e) {
            EXPECT_EQ(e.code(), asio::error::operation_aborted);
            ++stopped;
            throw;
        }
    });
    for (std::size_t term = 1; term <= 2; ++term) {
        ASSERT_TRUE(world.run_until([&] { return seat.terms.size() == term; }));
        break_leader(world, observer);
    }
    ASSERT_TRUE(world.run_until([&] { return candidate.ended; }));
    EXPECT_FALSE(candidate.failure);
    EXPECT_EQ(stopped, 2);
    EXPECT_EQ(seat.terms.size(), 3u);
    EXPECT_TRUE(std::is_sorted(seat.terms.begin(), seat.terms.end(), std::less_equal<>()));
    EXPECT_EQ(seat.inside_max, 1);
}

TEST(Election, TheNextCandidateLeadsAfterALoss) {
    client_world world;
    office seat(world);
    lock_client alice = world.client();
    lock_client bob = world.client();
    candidacy first;
    candidacy second;
    nominate(world, alice, first, terms_of(seat, 1h));
    ASSERT_TRUE(world.run_until([&] { return seat.inside == 1; }));
    nominate(world, bob, second, terms_of(seat, 1h));
    world.pass(10ms);
    break_leader(world, bob);
    ASSERT_TRUE(world.run_until([&] { return seat.terms.size() == 2; }));
    world.pass(1s);
    EXPECT_EQ(seat.inside, 1);
    EXPECT_FALSE(first.ended);
    EXPECT_EQ(alice.stats().leases, 0u);
    EXPECT_EQ(alice.stats().waiting, 1u) << "it stands again";
    EXPECT_EQ(bob.stats().leases, 1u);
    world.stop(bob);
    ASSERT_TRUE(world.run_until([&] { return seat.terms.size() == 3; }));
    EXPECT_EQ(alice.stats().leases, 1u);
    world.stop(alice);
}

TEST(Election, WhatTheBodyThrowsPasses) {
    client_world world;
    lock_client alice = world.client();
    candidacy plain;
    nominate(world, alice, plain, [](const lease&) -> asio::awaitable<void> {
        throw std::out_of_range("of the body");
        co_return;
    });
    ASSERT_TRUE(world.run_until([&] { return plain.ended; }));
    EXPECT_THROW(std::rethrow_exception(plain.failure), std::out_of_range);

    candidacy coded;
    nominate(world, alice, coded, [](const lease&) -> asio::awaitable<void> {
        throw boost::system::system_error(make_error_code(errc::row_missing));
        co_return;
    });
    ASSERT_TRUE(world.run_until([&] { return coded.ended; }));
    EXPECT_EQ(coded.code(), errc::row_missing);
    world.pass(10ms);
    EXPECT_EQ(world.server.entries(), 0u);
}

TEST(Election, WhatTheBodyThrowsPassesEvenIfAnElectionWouldTryAgain) {
    client_world world;
    lock_client alice = world.client();
    candidacy coded;
    int calls = 0;
    nominate(world, alice, coded, [&](const lease&) -> asio::awaitable<void> {
        ++calls;
        throw boost::system::system_error(make_error_code(errc::store_unavailable));
        co_return;
    });
    world.pass(10s);
    EXPECT_TRUE(coded.ended);
    EXPECT_EQ(coded.code(), errc::store_unavailable);
    EXPECT_EQ(calls, 1);
    if (!coded.ended)
        world.stop(alice);
}

TEST(Election, TheLossOfAnotherLockPassesFromTheBody) {
    client_world world;
    lock_client alice = world.client();
    candidacy candidate;
    int calls = 0;
    nominate(world, alice, candidate, [&](const lease& held) -> asio::awaitable<void> {
        ++calls;
        EXPECT_TRUE(held.held());
        throw boost::system::system_error(make_error_code(errc::lease_lost));
        co_return;
    });
    world.pass(10s);
    EXPECT_TRUE(candidate.ended);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(candidate.code(), errc::lease_lost);
    world.stop(alice);
}

TEST(Election, AStoreThatDoesNotAnswerEndsNothing) {
    client_world world;
    office seat(world);
    lock_client alice = world.client();
    candidacy candidate;
    world.server.set_unavailable(true);
    nominate(world, alice, candidate, terms_of(seat, 1h));
    world.pass(20s);
    EXPECT_FALSE(candidate.ended);
    const auto attempts = alice.stats().failed;
    EXPECT_GE(attempts, 4u);
    EXPECT_LE(attempts, 100u) << "the pauses grow";
    world.server.set_unavailable(false);
    ASSERT_TRUE(world.run_until([&] { return seat.inside == 1; }));

    // In office: the body is stopped before the store may give the lock away.
    world.server.set_unavailable(true);
    const auto outage = world.time->now();
    ASSERT_TRUE(world.run_until([&] { return seat.inside == 0; }));
    EXPECT_LT(world.time->now() - outage, 3s);
    world.pass(10s);
    EXPECT_FALSE(candidate.ended);
    world.server.set_unavailable(false);
    ASSERT_TRUE(world.run_until([&] { return seat.inside == 1; }));
    EXPECT_EQ(seat.terms.size(), 2u);
    world.stop(alice);
}

TEST(Election, WhatCanNeverSucceedEndsAtOnce) {
    client_world world;
    lock_client alice = world.client();
    candidacy candidate;
    asio::co_spawn(
        world.context,
        [&]() -> asio::awaitable<void> {
            term_body body = [](const lease&) -> asio::awaitable<void> { co_return; };
            co_await lead(alice, "", election_options(), body);
        },
        [&](std::exception_ptr failure) {
            candidate.ended = true;
            candidate.failure = std::move(failure);
        }
    );
    world.pass(1ms);
    ASSERT_TRUE(candidate.ended);
    EXPECT_EQ(candidate.code(), errc::name_empty);
}

TEST(Election, WithPausesThatCannotBeIsRefused) {
    client_world world;
    lock_client alice = world.client();
    const auto work = [](const lease&) -> asio::awaitable<void> { co_return; };
    for (const election_options wrong :
         {election_options{10s, 5s},
          election_options{0ms, 5s},
          election_options{-1ms, 5s},
          election_options{1s, 9'000h}}) {
        const auto refused = [](const auto& begin) {
            try {
                begin();
            } catch (const error& why) {
                EXPECT_EQ(why.code(), errc::bad_config);
                return !why.remedy().empty();
            }
            return false;
        };
        EXPECT_TRUE(refused([&] { (void)lead(alice, "office", wrong, work); }));
        EXPECT_TRUE(refused([&] { leader_candidate(alice, "office", wrong); }));
    }
}

TEST(Election, AClientThatStopsEndsItForLeadersAndForThoseWhoStandBy) {
    client_world world;
    office seat(world);
    lock_client alice = world.client();
    candidacy leader;
    candidacy standby;
    nominate(world, alice, leader, terms_of(seat, 1h));
    ASSERT_TRUE(world.run_until([&] { return seat.inside == 1; }));
    nominate(world, alice, standby, terms_of(seat, 1h));
    world.pass(10ms);
    world.stop(alice);
    ASSERT_TRUE(world.run_until([&] { return leader.ended && standby.ended; }));
    EXPECT_EQ(leader.code(), errc::client_stopped);
    EXPECT_EQ(standby.code(), errc::client_stopped);
    EXPECT_EQ(seat.inside, 0);
    EXPECT_EQ(seat.served, 0);
    EXPECT_EQ(world.server.sessions() + world.server.entries(), 0u);
}

/// One run: the signal comes before the n-th handler. @return how many terms had begun by then.
std::size_t run_election_cancelled_at(asio::cancellation_type type, bool rival, std::size_t step) {
    client_world world;
    office seat(world);
    lock_client alice = world.client();
    lock_client bob = world.client();
    lease held;
    if (rival)
        held = world.acquire(alice, "leader");
    candidacy candidate;
    nominate(world, bob, candidate, terms_of(seat, 30s), true);
    if (rival) {
        world.time->async_wait_until(world.time->now() + 10ms, [&](error_code) { held = lease(); });
    }
    std::size_t handlers = 0;
    world.time->run_while(world.context, [&] { return handlers++ < step; });
    const std::size_t begun = seat.terms.size();
    candidate.stop.emit(type);
    EXPECT_TRUE(world.run_until([&] { return candidate.ended; }));
    // The body is a coroutine that lets only `terminal` through: the others let it serve its term.
    if (type == asio::cancellation_type::terminal) {
        EXPECT_EQ(seat.served, 0);
        EXPECT_EQ(candidate.code(), asio::error::operation_aborted);
    }
    world.pass(20ms);
    EXPECT_EQ(seat.inside, 0);
    EXPECT_EQ(bob.stats().waiting + bob.stats().leases, 0u);
    EXPECT_EQ(world.server.entries(), 0u);
    world.stop(alice);
    world.stop(bob);
    EXPECT_EQ(world.server.sessions(), 0u);
    return begun;
}

class ElectionSweep : public testing::TestWithParam<asio::cancellation_type> {};

TEST_P(ElectionSweep, ACancelledCandidateLeavesNothingAtWhateverStep) {
    for (const bool rival : {false, true}) {
        std::size_t step = 0;
        for (int in_office = 0; in_office < 5; ++step) {
            in_office += run_election_cancelled_at(GetParam(), rival, step) != 0;
            ASSERT_LT(step, 10'000u);
            ASSERT_FALSE(HasFailure()) << "cancelled before handler " << step;
        }
        EXPECT_GE(step, 7u) << "some of the steps come before the first term";
    }
}

INSTANTIATE_TEST_SUITE_P(Types, ElectionSweep, testing::ValuesIn(cancellation_types), param_name());

}  // namespace
}  // namespace mortise::test
