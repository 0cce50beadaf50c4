// SPDX-License-Identifier: BSL-1.0
// What a relay and an inbox count.
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/prometheus.hpp"
#include "unit/outbox/inbox_fixture.hpp"
#include "unit/outbox/outbox_world.hpp"
#include "wall_clock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::test::outbox_metrics_test {
namespace {

using namespace std::chrono_literals;
using outbox::inbox_event;
using outbox::message;
using outbox::prometheus_text;
using outbox::relay_event;
using testing::HasSubstr;

class OutboxMetrics : public outbox_world {
protected:
    outbox::relay_lag lag() { return wait_for(site_.relay->async_lag(asio::use_future)); }
};

TEST_F(OutboxMetrics, OfARelayTellWhatItDid) {
    auto how = config();
    how.purge_after = 1h;
    cluster_.refuse("poison");
    for (const char* each : {"1", "poison", "2"})
        append("k", each);
    append("other", "3");
    cluster_.fail_next(fake_cluster::fault::again);
    start(how);
    drain();
    append("k", "4");
    drain();
    const auto stats = site_.relay->stats();
    EXPECT_EQ(stats.sent, 2u);
    EXPECT_EQ(stats.batches, events(relay_event::kind::sent));
    EXPECT_EQ(stats.parked, 3u);
    EXPECT_EQ(stats.failures, 1u);
    EXPECT_EQ(stats.taken, 4u);
    EXPECT_EQ(stats.held, 4u);
    EXPECT_EQ(stats.refused, 0u);
    EXPECT_EQ(stats.refusals, 0u);
    EXPECT_GT(stats.writes, 0u);
    std::uint64_t sent = 0;
    {
        const std::lock_guard hold(events_mutex_);
        for (const auto& each : events_)
            sent += each.type == relay_event::kind::sent ? each.messages : 0;
    }
    EXPECT_EQ(sent, 2u);
}

TEST_F(OutboxMetrics, TellWhatWaitsAsTheRelayKnowsIt) {
    auto how = config();
    how.purge_after = 1h;
    append("k", "1");
    start(how);
    drain();
    EXPECT_EQ(describe().waiting, 1u) << "of that the table knows nothing";
    EXPECT_EQ(lag().rows, 0u);
    EXPECT_EQ(lag().oldest, 0us);
    cluster_.set_batch_max(0);
    message later("events", "k", "later");
    later.not_before = outbox::wall_time(outbox::wall_now()) + 1h;
    append(later);
    append("k", "2");
    append("k", "3");
    run([](db::connection& on) { on.run("UPDATE mortise_outbox SET written = written - 90000000"); }
    );
    EXPECT_TRUE(eventually([&] { return lag().rows == 2; }));
    EXPECT_GE(lag().oldest, 90s);
    EXPECT_EQ(lag().later, 1u);
    EXPECT_EQ(lag().parked, 0u);
    cluster_.set_batch_max(1'000);
    drain();
    EXPECT_EQ(lag().rows, 0u);
    wait_for(site_.relay->async_stop(asio::use_future));
    EXPECT_THROW(lag(), boost::system::system_error);
    EXPECT_EQ(site_.relay->stats().sent, 3u);
}

TEST_F(OutboxMetrics, CountARefusal) {
    append("k", "1");
    start();
    drain();
    stop();
    cluster_.set_identity("another");
    append("k", "2");
    start();
    EXPECT_TRUE(await_state(outbox::shard_status::state::refused));
    EXPECT_EQ(site_.relay->stats().refused, 1u);
    EXPECT_TRUE(eventually([&] { return site_.relay->stats().refusals == 1; }));
}

std::vector<std::string> lines_in(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

/// Help and type once before each sample, and no value twice.
void expect_page(const std::string& text, const std::string& label, std::size_t samples) {
    const auto lines = lines_in(text);
    ASSERT_EQ(lines.size(), 3 * samples);
    std::set<std::string> names;
    std::set<std::string> values;
    for (std::size_t i = 0; i < lines.size(); i += 3) {
        std::istringstream help(lines[i]);
        std::string hash, word, name;
        help >> hash >> word >> name;
        EXPECT_EQ(hash + ' ' + word, "# HELP");
        EXPECT_TRUE(names.insert(name).second) << name;
        const char* const type = name.ends_with("_total") ? " counter" : " gauge";
        EXPECT_EQ(lines[i + 1], "# TYPE " + name + type);
        EXPECT_TRUE(lines[i + 2].starts_with(name + label + ' ')) << lines[i + 2];
        EXPECT_TRUE(values.insert(lines[i + 2].substr(lines[i + 2].rfind(' '))).second)
            << lines[i + 2] << " has another one's value";
    }
}

TEST(OutboxPrometheus, HasEveryCounterOnce) {
    outbox::relay_stats relay;
    std::uint64_t next = 0;
    for (auto* each :
         {&relay.sent,
          &relay.batches,
          &relay.parked,
          &relay.purged,
          &relay.writes,
          &relay.failures,
          &relay.refusals,
          &relay.marks_lost,
          &relay.taken,
          &relay.held,
          &relay.refused})
        *each = ++next;
    static_assert(sizeof(relay) == 11 * sizeof(std::uint64_t));
    expect_page(prometheus_text(relay, "a\"b"), R"({relay="a\"b"})", 11);
    outbox::inbox_stats inbox;
    for (auto* each :
         {&inbox.handled,
          &inbox.repeated,
          &inbox.refused,
          &inbox.failed,
          &inbox.parked,
          &inbox.retried,
          &inbox.waited})
        *each = ++next;
    static_assert(sizeof(inbox) == 7 * sizeof(std::uint64_t));
    expect_page(prometheus_text(inbox, "i"), R"({inbox="i"})", 7);
    outbox::relay_lag lag;
    lag.rows = 1;
    lag.oldest = 2'500ms;
    lag.later = 3;
    lag.parked = 4;
    const auto text = prometheus_text(lag, "r");
    expect_page(text, R"({relay="r"})", 4);
    EXPECT_THAT(text, HasSubstr("mortise_outbox_oldest_seconds{relay=\"r\"} 2.5\n"));
    EXPECT_EQ(lines_in(prometheus_text(lag, "s", false)).size(), 4u);
}

TEST_F(OutboxInbox, CountsAttemptsAndTellsOfThem) {
    failures_ = 1;
    start();
    deliver({of("k", "fails"), of("k", "2"), of("other", "3")});
    EXPECT_TRUE(eventually([&] {
        return inbox_->stats().handled == 3 && events(inbox_event::kind::handled) == 3;
    }));
    const auto stats = inbox_->stats();
    EXPECT_EQ(stats.failed, 1u);
    EXPECT_EQ(stats.retried, 1u);
    EXPECT_EQ(stats.waited, 1u);
    EXPECT_EQ(events(inbox_event::kind::handled), 3u);
    const std::lock_guard hold(mutex_);
    for (const auto& each : events_) {
        const bool again = each.type == inbox_event::kind::handled && each.message == "m0";
        EXPECT_EQ(
            each.attempt,
            again                                   ? 2u
            : each.type == inbox_event::kind::waits ? 0u
                                                    : 1u
        ) << each.message;
    }
}

}  // namespace
}  // namespace mortise::test::outbox_metrics_test
