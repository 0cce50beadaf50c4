// SPDX-License-Identifier: BSL-1.0
// The unforeseen: relays and their broker are killed and stopped at random while 20,000 rows
// (100,000 in `./run proof`) are written and sent.
#include "chaos/relay_shop.hpp"
#include "support/amount.hpp"
#include "support/eventually.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::relay_storm_test {
namespace {

using namespace std::chrono_literals;

class RelayStorm : public relay_shop {
protected:
    RelayStorm() : relay_shop(shared_kafka()) {}
    ~RelayStorm() override {
        for (const auto& each : relays_)
            each->resume();
    }

    program add_relay() const {
        return start_relay({"batch=500", "purge=5000", "purge_after=500"});
    }
    void rest(std::uint64_t longest) {
        const std::chrono::milliseconds span(200 + chance_() % longest);
        eventually([this] { return writer_->ended(); }, span);
    }

    void replace(int signal) {
        child_program& old = *relays_.front();
        old.send(signal);
        const int code = old.wait(90s).value_or(-1);
        // It stops in good order, unless the signal comes before it listens.
        EXPECT_TRUE((signal == SIGTERM && code == 0) || code == 128 + signal) << code << output();
        relays_.erase(relays_.begin());
        relays_.push_back(add_relay());
        ++acts_;
    }
    // Stops a relay: another one takes its place until it is resumed.
    void let_one_sleep() {
        child_program& sleeper = *relays_.front();
        for (sleeper.suspend(); !can_be_written(); sleeper.suspend())
            sleeper.resume();
        relays_.push_back(add_relay());
        rest(2'000);
        sleeper.resume();
        rest(500);
        ++acts_;
        while (relays_.size() > 1)
            replace_by_none();
    }
    void replace_by_none() {
        relays_.front()->send(SIGKILL);
        expect_end(*relays_.front(), killed_code);
        relays_.erase(relays_.begin());
    }
    void trouble_the_broker() {
        ++acts_;
        if (chance_() % 2 == 0) {
            broker_.kill();
            return broker_.start();
        }
        broker_.suspend();
        rest(1'500);
        broker_.resume();
    }
    void act() {
        switch (chance_() % 8) {
        case 0:
            return let_one_sleep();
        case 1:
            return trouble_the_broker();
        case 2:
            return replace(SIGTERM);
        default:
            return replace(SIGKILL);
        }
    }

    std::mt19937_64 chance_{amount("MORTISE_FIRST_SEED", 1, 1)};
    program writer_;
    std::vector<program> relays_;
    int acts_ = 0;
};

TEST_F(RelayStorm, EachRowComesOnceHoweverOftenAllAreKilled) {
    constexpr std::uint64_t rows_at_once = 50;
    const auto seconds = std::max<std::uint64_t>(amount("MORTISE_RELAY_SECONDS", 6, 30), 1);
    const std::uint64_t rows =
        std::max<std::uint64_t>(amount("MORTISE_RELAY_ROWS", 21'000, 101'000), 500 * seconds);
    const std::uint64_t transactions = rows * 7 / 6 / rows_at_once;  // some are rolled back
    writer_ = start_writer(
        {"lazy=1",
         "rows=" + std::to_string(rows_at_once),
         "transactions=" + std::to_string(transactions),
         "pause=" + std::to_string(seconds * 1'000 / transactions)}
    );
    relays_.push_back(add_relay());
    while (!writer_->ended() || acts_ < 5) {
        rest(1'500);
        act();
    }
    expect_end(*writer_, 0);
    for (const auto& each : relays_)
        each->send(SIGKILL);
    relays_.clear();
    drain({"batch=5000", "purge=20000", "purge_after=10000"});
    expect_exactly_once();
    EXPECT_GE(sales(), rows - 1'000);
    EXPECT_GE(acts_, 5);
    RecordProperty("rows", std::to_string(sales()));
    RecordProperty("acts", acts_);
}

}  // namespace
}  // namespace mortise::test::relay_storm_test
