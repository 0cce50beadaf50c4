// SPDX-License-Identifier: BSL-1.0
// What the store finds when it examines real servers.
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"
#include "unit/zookeeper/contest.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::zookeeper_examination_test {
namespace {

using namespace std::chrono_literals;
using verdict = store_finding::verdict;

/// A client, and what it finds. Its TTL is one that no busy machine uses up.
class examiner {
public:
    explicit examiner(const std::string& url)
        : locks_(context_.get_executor(), open_store(url), config()) {}

    lease acquire(const std::string& name) {
        lease held;
        bool done = false;
        locks_.async_acquire(name, lock_options(), [&](error_code failed, lease got) {
            EXPECT_FALSE(failed) << failed.message() << locks_.explain();
            held = std::move(got);
            done = true;
        });
        run_until(done);
        return held;
    }

    /// Forgets what it has found, and looks again. An ensemble may be about to elect a leader: then
    /// nothing is found.
    void examine() {
        bool done = false;
        all_.clear();
        locks_.async_examine([&](error_code, const std::vector<store_finding>& found) {
            for (const auto& each : found)
                all_[each.subject] = each;
            done = true;
        });
        run_until(done);
    }

    bool has(const std::string& subject) const { return all_.contains(subject); }
    bool finds(const std::string& subject, verdict judgement, const std::string& text) const {
        const auto one = all_.find(subject);
        return one != all_.end() && one->second.judgement == judgement &&
               one->second.found.find(text) != std::string::npos;
    }

    /// Examines again until that is found: on a busy machine a server may answer too late.
    void expect(const std::string& subject, verdict judgement, const std::string& text) {
        const auto end = clock::now() + 90s;
        while (!finds(subject, judgement, text) && clock::now() < end)
            examine();
        EXPECT_TRUE(finds(subject, judgement, text))
            << subject << " is not found to be: " << text << ", but: " << all_[subject].found
            << locks_.explain();
    }

private:
    static client_config config() {
        client_config config;
        config.ttl = 30s;
        return config;
    }
    void run_until(const bool& done) {
        const auto end = clock::now() + 60s;
        context_.restart();
        while (!done && clock::now() < end)
            context_.run_one_for(50ms);
        ASSERT_TRUE(done);
    }

    asio::io_context context_;
    lock_client locks_;
    std::map<std::string, store_finding> all_;
};

std::string url_of(const std::string& servers, const std::string& options) {
    return "zookeeper://" + servers + "/examined?" + options;
}

TEST(ZooKeeperExamination, MeasuresTheTickOfAServerThatTellsLittle) {
    examiner doctor(url_of(shared_zookeeper().address(), "tick_ms=100"));
    doctor.expect("tick", verdict::holds, "200 ms at least");
    doctor.expect("tick", verdict::holds, "tick_ms is 100");
    doctor.expect("servers", verdict::holds, shared_zookeeper().address() + " (standalone, 3.");
    doctor.expect("ensemble", verdict::weak, "alone");
    doctor.expect("longest TTL", verdict::holds, "above 200000000 ms");
    doctor.expect("rights", verdict::weak, "password");
    EXPECT_FALSE(doctor.has("connections"));
}

TEST(ZooKeeperExamination, SaysWhichTickToSetIfOursIsTooShort) {
    examiner doctor(url_of(shared_zookeeper().address(), "tick_ms=99"));
    doctor.expect("tick", verdict::broken, "set tick_ms=100");
    doctor.expect("tick", verdict::broken, "minSessionTimeout");
}

TEST(ZooKeeperExamination, BelievesAServerThatTellsItsTickAndLeavesNoSession) {
    const zookeeper_ensemble server(
        1, {"minSessionTimeout=3000", "4lw.commands.whitelist=srvr,conf,mntr"}
    );
    const auto sessions = [&] {
        const std::string mark = "zk_global_sessions\t";
        const auto answer = server.ask(0, "mntr");
        const auto at = answer.find(mark);
        return at == std::string::npos ? -1 : std::stoi(answer.substr(at + mark.size()));
    };
    examiner doctor(url_of(server.address(), "tick_ms=100"));
    const auto held = doctor.acquire("door");
    int before = 0;
    for (int i = 0; i < 20 && !doctor.finds("servers", verdict::holds, "serve"); ++i) {
        before = sessions();
        doctor.examine();
    }
    EXPECT_GE(before, 1);
    EXPECT_LE(sessions(), before) << "the questions have left some";
    EXPECT_TRUE(held.held());
    doctor.expect("tick", verdict::holds, "100 ms (tickTime)");
    doctor.expect("longest TTL", verdict::holds, "up to 35880 ms");
    doctor.expect("connections", verdict::holds, "60");
    doctor.expect("sessions", verdict::holds, "50200 ms");
}

TEST(ZooKeeperExamination, OfAnEnsembleNamesTheMembersThatAreAway) {
    zookeeper_ensemble servers(3, {"4lw.commands.whitelist=srvr,conf"});
    examiner doctor(url_of(servers.addresses(), "tick_ms=100"));
    doctor.expect("ensemble", verdict::holds, "3 servers vote; 1 may be away");
    doctor.expect("servers", verdict::holds, "(leader, ");
    doctor.expect("elections", verdict::holds, "2000 ms (syncLimit)");
    servers.await_service();
    const auto away = servers.member_with("follower");
    servers.suspend(away);
    doctor.expect("servers", verdict::weak, servers.address(away) + " (it does not answer");
    servers.kill(away);
    doctor.expect("servers", verdict::weak, servers.address(away) + " (Connection refused)");
    doctor.expect("tick", verdict::holds, "100 ms (tickTime)");
    servers.start(away);
    doctor.expect("servers", verdict::holds, "All that are named serve");
    examiner short_sighted(url_of(servers.address(0), "tick_ms=100"));
    short_sighted.expect("ensemble", verdict::weak, "name all");
}

TEST(ZooKeeperExamination, SaysWhatToAllowWhereAMemberDoesNotTellItsSettings) {
    shared_ensemble().await_service();
    examiner doctor(url_of(shared_ensemble().addresses(), "tick_ms=100"));
    doctor.expect("elections", verdict::weak, "4lw.commands.whitelist=srvr,conf");
    doctor.expect("tick", verdict::holds, "200 ms at least");
}

}  // namespace
}  // namespace mortise::test::zookeeper_examination_test
