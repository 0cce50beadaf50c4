// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/ensemble_facts.hpp"
#include "support/findings.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace mortise::store_detail::ensemble_facts_test {
namespace {

using namespace std::chrono_literals;
using verdict = store_finding::verdict;

server_report of_a_good_server(const std::string& name) {
    server_report report;
    report.name = name;
    report.addresses = 1;
    report.granted_min = 4s;
    report.granted_max = 60s;
    server_state state;
    state.role = "follower";
    state.version = "3.8.0";
    report.state = state;
    server_settings settings;
    settings.tick = 2s;
    settings.session_min = report.granted_min;
    settings.session_max = report.granted_max;
    settings.sync = 10s;
    settings.connections_max = 60;
    report.settings = settings;
    return report;
}

ensemble_facts of_a_good_ensemble() {
    ensemble_facts facts;
    for (const char* const name : {"zk1:2181", "zk2:2181", "zk3:2181"})
        facts.servers.push_back(of_a_good_server(name));
    facts.voters = 3;
    facts.tick = 2s;
    facts.ttl = 15s;
    facts.timeout = 29s;
    facts.login = true;
    return facts;
}

store_finding found(const ensemble_facts& facts, const std::string& subject) {
    return test::finding_of(facts.findings(), subject);
}

/// The finding after a change, which must have that verdict and that text in it.
void expect_after(
    const std::function<void(ensemble_facts&)>& change,
    const std::string& subject,
    verdict wanted,
    const std::string& text
) {
    auto facts = of_a_good_ensemble();
    change(facts);
    const auto one = found(facts, subject);
    EXPECT_EQ(one.judgement, wanted) << one.found;
    EXPECT_NE(one.found.find(text), std::string::npos) << one.found;
}

void forget_settings(ensemble_facts& facts) {
    for (auto& each : facts.servers)
        each.settings.reset();
}

TEST(EnsembleFacts, AreGoodWhereNothingIsWrong) {
    const auto all = of_a_good_ensemble().findings();
    EXPECT_EQ(all.size(), 10u);
    for (const auto& each : all)
        EXPECT_EQ(each.judgement, verdict::holds) << each.subject << ": " << each.found;
}

TEST(EnsembleFacts, ATickThatIsLongerThanOursIsBroken) {
    const auto slow = [](ensemble_facts& facts) { facts.servers[1].settings->tick = 3s; };
    expect_after(slow, "tick", verdict::broken, "zk2:2181 is 3000 ms (tickTime)");
    expect_after(slow, "tick", verdict::broken, "set tick_ms=3000");
    // What is told counts, and not what it is usually guessed by.
    const auto guessed = [](ensemble_facts& facts) { facts.servers[1].granted_min = 40s; };
    expect_after(guessed, "tick", verdict::holds, "2000 ms");
}

TEST(EnsembleFacts, ATickThatIsNotToldIsGuessedByTheShortestSession) {
    expect_after(forget_settings, "tick", verdict::holds, "4000 ms at least");
    const auto slow = [](ensemble_facts& facts) {
        forget_settings(facts);
        facts.servers[2].granted_min = 4'001ms;
    };
    expect_after(slow, "tick", verdict::broken, "set tick_ms=2001");
    expect_after(slow, "tick", verdict::broken, "minSessionTimeout");
    expect_after(slow, "tick", verdict::broken, "4lw.commands.whitelist=srvr,conf");
    const auto mute = [](ensemble_facts& facts) {
        forget_settings(facts);
        for (auto& each : facts.servers)
            each.granted_min = each.granted_max = 0ms;
    };
    expect_after(mute, "tick", verdict::weak, "2000 ms (tick_ms)");
    expect_after(mute, "longest TTL", verdict::weak, "No server");
}

TEST(EnsembleFacts, TheLongestTtlFollowsFromTheLongestSession) {
    const auto as_granted = [](ensemble_facts& facts) {
        forget_settings(facts);
        facts.servers[0].granted_max = 40s;  // that of two thirds more, and of two ticks
    };
    expect_after(as_granted, "longest TTL", verdict::holds, "up to 21600 ms");
    expect_after(as_granted, "longest TTL", verdict::holds, "above 40000 ms");
    const auto long_ttl = [&](ensemble_facts& facts) {
        as_granted(facts);
        facts.ttl = 30s;
    };
    expect_after(long_ttl, "longest TTL", verdict::weak, "maxSessionTimeout to 54000 ms");
    const auto differs = [](ensemble_facts& facts) {
        facts.servers[0].settings->session_max = 40s;
        facts.timeout = 102s;
        facts.ttl = 60s;
    };
    expect_after(differs, "longest TTL", verdict::broken, "at all of them");
    const auto tiny = [](ensemble_facts& facts) {
        facts.servers[0].settings->session_max = 3s;
        facts.ttl = 0s;
    };
    expect_after(tiny, "longest TTL", verdict::weak, "up to 0 ms");
}

TEST(EnsembleFacts, ALeaderThatIsWaitedForLongerThanLeasesLastIsWeak) {
    const auto short_ttl = [](ensemble_facts& facts) { facts.ttl = 14s; };
    expect_after(short_ttl, "elections", verdict::weak, "below 15000 ms");
    expect_after(forget_settings, "elections", verdict::weak, "not known");
    expect_after(forget_settings, "elections", verdict::weak, "4lw.commands.whitelist=srvr,conf");
}

TEST(EnsembleFacts, AMemberThatIsAwayIsNamed) {
    const auto away = [](ensemble_facts& facts) {
        facts.servers[2] = server_report();
        facts.servers[2].name = "zk3:2181";
        facts.servers[2].failure = "Connection refused";
    };
    expect_after(away, "servers", verdict::weak, "zk3:2181 (Connection refused)");
    expect_after(away, "servers", verdict::weak, "serve zk1:2181 (follower, 3.8.0)");
    expect_after(away, "tick", verdict::holds, "2000 ms");
    expect_after(away, "longest TTL", verdict::holds, "60000 ms");
    expect_after(away, "ensemble", verdict::holds, "3 servers vote; 1 may be away");
    const auto few = [](ensemble_facts& facts) { facts.servers.resize(1); };
    expect_after(few, "ensemble", verdict::weak, "Only 1 of them");
    const auto by_one_name = [](ensemble_facts& facts) {
        facts.servers.resize(1);
        facts.servers[0].addresses = 3;
    };
    expect_after(by_one_name, "ensemble", verdict::holds, "3 servers vote");
}

TEST(EnsembleFacts, OfAServerAloneSayNothingOfElections) {
    auto facts = of_a_good_ensemble();
    facts.servers.resize(1);
    facts.voters = 0;
    EXPECT_EQ(found(facts, "ensemble").judgement, verdict::weak);
    for (const auto& each : facts.findings())
        EXPECT_NE(each.subject, "elections");
}

TEST(EnsembleFacts, WithoutASessionOrALoginSaySo) {
    const auto fresh = [](ensemble_facts& facts) { facts.ttl = facts.timeout = 0ms; };
    expect_after(fresh, "sessions", verdict::weak, "no session");
    expect_after(fresh, "longest TTL", verdict::holds, "33600 ms");
    const auto open = [](ensemble_facts& facts) { facts.login = false; };
    expect_after(open, "rights", verdict::weak, "password");
}

}  // namespace
}  // namespace mortise::store_detail::ensemble_facts_test
