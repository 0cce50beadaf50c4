// SPDX-License-Identifier: BSL-1.0
// What the model of an ensemble shares with real ones: the order of changes, late reads, deposed
// leaders, and sessions that end at the leader.
#include "mortise/sim/network.hpp"
#include "mortise/sim/world.hpp"
#include "zookeeper_model/sim_ensemble.hpp"
#include "zookeeper_model/sim_server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::zookeeper_model {
namespace {

using namespace std::chrono_literals;
using zookeeper_detail::zk_session;
using zookeeper_detail::zk_state;

constexpr auto session_timeout = 2'000ms;

class SimEnsemble : public testing::Test {
protected:
    /// A session, and what it has heard.
    struct user {
        std::shared_ptr<zk_session> session;
        std::vector<zk_state> states;
        std::vector<std::string> seen;
    };

    SimEnsemble() {
        clients.run([](sim::process&) -> asio::awaitable<void> { co_return; });
        EXPECT_TRUE(reaches([&] { return serving() == 3; }));
    }
    ~SimEnsemble() override {
        for (const auto& each : users)
            each->session->close();
        users.clear();
        world.end();
    }
    SimEnsemble(const SimEnsemble&) = delete;
    SimEnsemble& operator=(const SimEnsemble&) = delete;

    bool reaches(const std::function<bool()>& done, clock::duration limit = 20s) {
        return world.run_until(done, limit);
    }
    std::size_t serving() {
        std::size_t count = 0;
        for (std::size_t i = 0; i < 3; ++i)
            count += ensemble.server(i).serves() ? 1U : 0U;
        return count;
    }
    sim_server& follower() {
        return &ensemble.server(0) == ensemble.leader() ? ensemble.server(1) : ensemble.server(0);
    }

    /// A session that knows that server, or all.
    user& join(const sim_server* at = nullptr) {
        users.push_back(std::make_unique<user>());
        auto& one = *users.back();
        zk_session::config how;
        how.timeout = session_timeout;
        const auto addresses = ensemble.addresses();
        for (std::size_t i = 0; i < addresses.size(); ++i) {
            if (!at || at->index() == i)
                how.servers += (how.servers.empty() ? "" : ",") + addresses[i].host + ':' +
                               std::to_string(addresses[i].port);
        }
        zk_session::listener to;
        to.changed = [&one](zk_state now) { one.states.push_back(now); };
        to.seen = [&one](const zk_event& event) { one.seen.push_back(event.path); };
        to.remembered = [](const std::string&) {};
        one.session = ensemble.access(clients).make_session(
            clients.get_executor(), clients.time(), std::move(how), std::move(to)
        );
        clients.post([session = one.session] { EXPECT_FALSE(session->open()); });
        EXPECT_TRUE(reaches([&] { return one.session->connected(); }));
        return one;
    }

    /// Gives its connection up, and gets another one.
    void come_back(user& one) {
        const auto before = one.states.size();
        clients.post([session = one.session] { session->reconnect(); });
        EXPECT_TRUE(reaches([&] { return one.states.size() == before + 2; }));
        EXPECT_TRUE(one.session->connected());
    }

    /// Begins an operation in the clients' process.
    std::shared_ptr<std::optional<zk_answer>>
    begin(user& by, std::function<void(zk_session&, zk_session::replied)> operation) {
        auto got = std::make_shared<std::optional<zk_answer>>();
        clients.post([session = by.session, operation = std::move(operation), got] {
            operation(*session, [got](zk_answer answer) { *got = std::move(answer); });
        });
        return got;
    }
    zk_answer ask(user& by, std::function<void(zk_session&, zk_session::replied)> operation) {
        const auto got = begin(by, std::move(operation));
        EXPECT_TRUE(reaches([&] { return got->has_value(); }));
        return got->value_or(zk_answer());
    }
    zk_answer create(user& by, const std::string& path, node_kind kind = node_kind::persistent) {
        return ask(by, [=](zk_session& on, auto then) { on.create(path, "", kind, then); });
    }
    zk_answer get(user& by, const std::string& path, bool watch = false) {
        return ask(by, [=](zk_session& on, auto then) { on.get(path, watch, then); });
    }
    static void set(zk_session& on, const std::string& text, zk_session::replied then) {
        on.set("/node", text, zk_step::any_version, std::move(then));
    }

    sim::world world{5};
    sim_ensemble ensemble{world, 3};
    sim::process& clients{world.add_process("clients")};
    std::vector<std::unique_ptr<user>> users;
};

TEST_F(SimEnsemble, AFollowerShowsThePastToOthersAndNeverToItsWriter) {
    auto& writer = join(ensemble.leader());
    auto& reader = join(&follower());
    create(writer, "/node");
    world.net().cut(ensemble.leader()->host(), follower().host());
    EXPECT_FALSE(ask(writer, [](auto& on, auto then) { set(on, "new", then); }).failed);
    EXPECT_EQ(get(writer, "/node").data, "new");
    EXPECT_EQ(get(reader, "/node").data, "") << "it lags";
    world.net().heal();
    EXPECT_TRUE(reaches([&] { return follower().tree().get("/node").data == "new"; }));
    EXPECT_TRUE(reaches([&] { return serving() == 3 && reader.session->connected(); }));
    EXPECT_EQ(get(reader, "/node").data, "new");
}

TEST_F(SimEnsemble, AChangeOfADeposedLeaderIsNotDone) {
    auto& old = *ensemble.leader();
    auto& writer = join(&old);
    create(writer, "/node");
    for (std::size_t i = 0; i < 3; ++i) {
        if (i != old.index())
            world.net().part(old.host(), ensemble.server(i).host());
    }
    const auto late = begin(writer, [](auto& on, auto then) { set(on, "late", then); });
    EXPECT_TRUE(reaches([&] {
        const auto* const leader = ensemble.leader();
        return leader && leader != &old && leader->serves();
    }));
    EXPECT_TRUE(reaches([&] { return late->has_value(); }));
    EXPECT_EQ((*late)->failed, make_error_code(zk_code::connection_lost));
    world.net().heal();
    EXPECT_TRUE(reaches([&] { return serving() == 3; }));
    auto& reader = join();
    EXPECT_EQ(get(reader, "/node").data, "");
}

TEST_F(SimEnsemble, KeepsASessionThatMovesAndItsWatches) {
    auto& one = join();
    auto& other = join(ensemble.leader());
    create(one, "/own", node_kind::ephemeral);
    create(one, "/node");
    get(one, "/node", true);
    const auto number = one.session->session();
    come_back(one);
    EXPECT_EQ(one.session->session(), number);
    ask(other, [](auto& on, auto then) { set(on, "new", then); });
    EXPECT_TRUE(reaches([&] { return !one.seen.empty(); }));
    EXPECT_EQ(one.seen, std::vector<std::string>{"/node"});
    EXPECT_EQ(get(other, "/own").stat.owner, number);
}

TEST_F(SimEnsemble, EndsASessionThatSaysNothing) {
    auto& one = join(&follower());
    auto& other = join(ensemble.leader());
    create(one, "/own", node_kind::ephemeral);
    EXPECT_FALSE(reaches(
        [&] { return !one.states.empty() && one.states.back() != zk_state::connected; }, 10s
    )) << "its pings keep it";
    const auto begun = world.now();
    clients.post([session = one.session] { session->close(); });
    EXPECT_TRUE(reaches([&] { return !ensemble.tree().sessions().contains(one.session->session()); }
    ));
    EXPECT_GE(world.now() - begun, session_timeout * 2 / 3) << "a ping was under way at most";
    EXPECT_LE(world.now() - begun, session_timeout + 1s);
    EXPECT_EQ(get(other, "/own").failed, make_error_code(zk_code::no_node));
}

TEST_F(SimEnsemble, TellsAClientThatComesBackThatItsSessionHasEnded) {
    auto& one = join();
    create(one, "/own", node_kind::ephemeral);
    for (std::size_t i = 0; i < 3; ++i)
        world.net().part(clients, ensemble.server(i).host());
    EXPECT_TRUE(reaches([&] { return ensemble.tree().sessions().empty(); }));
    EXPECT_NE(one.states.back(), zk_state::expired) << "nobody has told it";
    world.net().heal();
    EXPECT_TRUE(reaches([&] { return one.states.back() == zk_state::expired; }));
    EXPECT_FALSE(one.session->connected());
}

TEST_F(SimEnsemble, TellsAClientWhoseSessionSomebodyElseHasEnded) {
    auto& one = join();
    auto& other = join();
    create(one, "/own", node_kind::ephemeral);
    ensemble.end_session(one.session->session());
    EXPECT_TRUE(reaches([&] { return one.states.back() == zk_state::expired; }));
    EXPECT_TRUE(reaches([&] { return ensemble.tree().get("/own").failed == zk_code::no_node; }));
    EXPECT_TRUE(other.session->connected());
}

TEST_F(SimEnsemble, KeepsAllThatItHasAnsweredWhenThePowerFails) {
    auto& one = join();
    create(one, "/node");
    EXPECT_FALSE(ask(one, [](auto& on, auto then) { set(on, "kept", then); }).failed);
    for (std::size_t i = 0; i < 3; ++i)
        ensemble.server(i).host().crash();
    world.run_for(100ms);
    for (std::size_t i = 0; i < 3; ++i)
        ensemble.server(i).host().restart();
    EXPECT_TRUE(reaches([&] { return serving() == 3; }));
    auto& reader = join();
    EXPECT_EQ(get(reader, "/node").data, "kept");
}

TEST_F(SimEnsemble, NeverShowsAClientLessThanItHasSeen) {
    auto& writer = join();
    while (writer.session->server() != ensemble.leader()->host().name())
        come_back(writer);
    world.net().cut(ensemble.leader()->host(), follower().host());
    EXPECT_FALSE(create(writer, "/node").failed);
    for (int i = 0; i < 6; ++i) {
        come_back(writer);
        EXPECT_FALSE(get(writer, "/node").failed) << "the server that lags sends it away";
        EXPECT_TRUE(follower().serves() && follower().tree().get("/node").failed) << "it lags";
    }
}

}  // namespace
}  // namespace mortise::zookeeper_model
