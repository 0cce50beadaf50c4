// SPDX-License-Identifier: BSL-1.0
// ZooKeeper's C client on the event loop, at a real server.
#include "mortise/coro/time_source.hpp"
#include "support/zookeeper_server.hpp"
#include "zookeeper/zk_error.hpp"
#include "zookeeper/zk_handle.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::zk_handle_test {
namespace {

using namespace std::chrono_literals;
using zookeeper_detail::node_kind;
using zookeeper_detail::zk_answer;
using zookeeper_detail::zk_code;
using zookeeper_detail::zk_event;
using zookeeper_detail::zk_handle;
using zookeeper_detail::zk_state;
using zookeeper_detail::zk_step;

constexpr auto timeout = 1'000ms;

/// A handle, and what it has heard.
class user {
public:
    user(asio::io_context& context, const std::string& servers, std::chrono::milliseconds most)
        : context_(context) {
        zk_handle::listener to;
        to.changed = [this](zk_state now) { states.push_back(now); };
        to.seen = [this](const zk_event& event) { heard.push_back(line(event)); };
        to.remembered = [this](std::string text) { words = std::move(text); };
        handle = std::make_shared<zk_handle>(
            context.get_executor(),
            coro::make_boot_time_source(context.get_executor()),
            zk_handle::config{servers, most, {}},
            std::move(to)
        );
        EXPECT_FALSE(handle->open());
    }

    bool reaches(const std::function<bool()>& done, std::chrono::milliseconds limit = 20s) {
        const auto end = clock::now() + limit;
        context_.restart();
        while (!done() && clock::now() < end)
            context_.run_one_for(50ms);
        return done();
    }
    bool reaches(zk_state wanted) {
        return reaches([&] { return !states.empty() && states.back() == wanted; });
    }

    /// Runs until the answer of one operation.
    template <class Begin>
    zk_answer ask(Begin begin) {
        std::optional<zk_answer> got;
        begin([&](zk_answer answer) {
            heard.push_back("answer");
            got = std::move(answer);
        });
        EXPECT_FALSE(got) << "not from inside of the call";
        EXPECT_TRUE(reaches([&] { return got.has_value(); }));
        return got.value_or(zk_answer());
    }
    zk_answer create(const std::string& path, node_kind kind = node_kind::persistent) {
        return ask([&](auto then) { handle->create(path, "data", kind, then); });
    }
    zk_answer set(const std::string& path, const std::string& data) {
        return ask([&](auto then) { handle->set(path, data, zk_step::any_version, then); });
    }
    zk_answer get(const std::string& path, bool watch = false) {
        return ask([&](auto then) { handle->get(path, watch, then); });
    }
    zk_answer list(const std::string& path, bool watch = false) {
        return ask([&](auto then) { handle->list(path, watch, then); });
    }
    zk_answer look(const std::string& path, bool watch = false) {
        return ask([&](auto then) { handle->look(path, watch, then); });
    }
    zk_answer erase(const std::string& path) {
        return ask([&](auto then) { handle->erase(path, zk_step::any_version, then); });
    }

    std::shared_ptr<zk_handle> handle;
    std::vector<zk_state> states;
    std::vector<std::string> heard;  ///< What watches have seen, and answers.
    std::string words;

private:
    static std::string line(const zk_event& event) {
        constexpr const char* names[] = {"created ", "deleted ", "changed ", "children "};
        return names[static_cast<std::size_t>(event.type)] + event.path;
    }

    asio::io_context& context_;
};

class ZkHandle : public testing::Test {
protected:
    static std::string fresh_node() {
        static int count = 0;
        return "/" + std::to_string(++count) + "-node";
    }
    user join(std::chrono::milliseconds most = timeout) {
        return user(context, shared_zookeeper().addresses(), most);
    }

    asio::io_context context{1};
    const std::string node = fresh_node();
};

TEST_F(ZkHandle, ConnectsAndKnowsItsSession) {
    auto one = join();
    EXPECT_EQ(one.handle->session(), 0);
    ASSERT_TRUE(one.reaches(zk_state::connected)) << one.words;
    EXPECT_NE(one.handle->session(), 0);
    EXPECT_EQ(one.handle->timeout(), timeout);
    EXPECT_EQ(one.handle->server(), shared_zookeeper().address());
    one.handle->close();
    context.run();  // nothing keeps it at work
}

TEST_F(ZkHandle, MakesReadsWritesAndErasesNodes) {
    auto one = join();
    const auto fresh = one.create(node);
    ASSERT_FALSE(fresh.failed) << fresh.failed.message();
    EXPECT_EQ(fresh.path, node);
    EXPECT_GT(fresh.stat.created, 0u);
    EXPECT_EQ(one.create(node).failed, make_error_code(zk_code::node_exists));
    const auto written = one.set(node, std::string("a\0b", 3));
    EXPECT_GT(written.stat.modified, fresh.stat.created);
    const auto read = one.get(node);
    EXPECT_EQ(read.data, std::string("a\0b", 3));
    EXPECT_EQ(read.stat.version, 1);
    EXPECT_EQ(read.stat.owner, 0);
    const auto own = one.create(node + "/own-", node_kind::ephemeral_sequential);
    EXPECT_EQ(own.path, node + "/own-0000000000");
    EXPECT_EQ(one.get(own.path).stat.owner, one.handle->session());
    const auto listed = one.list(node);
    EXPECT_EQ(listed.children, std::vector<std::string>{"own-0000000000"});
    EXPECT_EQ(listed.stat.children_changed, own.stat.created);
    EXPECT_EQ(one.erase(node).failed, make_error_code(zk_code::not_empty));
    EXPECT_FALSE(one.erase(own.path).failed);
    EXPECT_FALSE(one.erase(node).failed);
    EXPECT_EQ(one.get(node).failed, make_error_code(zk_code::no_node));
    EXPECT_EQ(one.look(node).failed, make_error_code(zk_code::no_node));
}

TEST_F(ZkHandle, AnEphemeralNodeHasNoChildren) {
    auto one = join();
    EXPECT_FALSE(one.create(node, node_kind::ephemeral).failed);
    EXPECT_EQ(
        one.create(node + "/child").failed, make_error_code(zk_code::no_children_for_ephemerals)
    );
}

TEST_F(ZkHandle, AWatchTellsBeforeAnAnswerThatShowsIt) {
    auto one = join();
    auto other = join();
    EXPECT_FALSE(one.create(node).failed);
    EXPECT_FALSE(one.get(node, true).failed);
    EXPECT_FALSE(one.list(node, true).failed);
    EXPECT_EQ(one.look(node + "/child", true).failed, make_error_code(zk_code::no_node));
    one.heard.clear();
    EXPECT_FALSE(other.set(node, "new").failed);
    EXPECT_FALSE(other.create(node + "/child").failed);
    while (one.list(node).children.empty())
        continue;
    const std::vector<std::string> wanted = {
        "changed " + node, "created " + node + "/child", "children " + node};
    std::vector<std::string> seen(one.heard);
    std::erase(seen, "answer");
    EXPECT_EQ(seen, wanted);
    EXPECT_EQ(one.heard.back(), "answer");
    // A watch is gone when it has heard.
    EXPECT_FALSE(other.set(node, "newer").failed);
    one.heard.clear();
    EXPECT_EQ(one.get(node).data, "newer");
    EXPECT_EQ(one.heard, std::vector<std::string>{"answer"});
}

TEST_F(ZkHandle, ChangesSeveralNodesOrNone) {
    auto one = join();
    EXPECT_FALSE(one.create(node).failed);
    const auto make_child = [&](const std::string& name, std::int32_t version) {
        zk_step child;
        child.type = zk_step::kind::create;
        child.path = node + name;
        zk_step data;
        data.type = zk_step::kind::set;
        data.path = node;
        data.data = name;
        data.version = version;
        return one.ask([&](auto then) { one.handle->change({child, data}, then); });
    };
    EXPECT_FALSE(make_child("/a", 0).failed);
    EXPECT_EQ(make_child("/b", 0).failed, make_error_code(zk_code::bad_version));
    EXPECT_EQ(one.list(node).children, std::vector<std::string>{"a"});
    EXPECT_EQ(one.get(node).data, "/a");
}

TEST_F(ZkHandle, WaitsForAServerThatRestarts) {
    zookeeper_ensemble server;
    // The session has this time to be found again, by the second opening if the server, which is
    // about to start, swallows the first.
    user one(context, server.addresses(), 5 * timeout);
    EXPECT_FALSE(one.create(node, node_kind::ephemeral).failed);
    const auto session = one.handle->session();
    server.kill(0);
    std::optional<zk_answer> lost;
    one.handle->get(node, false, [&](zk_answer answer) { lost = std::move(answer); });
    ASSERT_TRUE(one.reaches([&] { return lost.has_value(); }));
    EXPECT_TRUE(zookeeper_detail::may_be_done(lost->failed)) << lost->failed.message();
    ASSERT_TRUE(one.reaches(zk_state::connecting));
    server.start(0);
    ASSERT_TRUE(one.reaches(zk_state::connected));
    EXPECT_EQ(one.handle->session(), session);
    EXPECT_EQ(one.get(node).stat.owner, session);
}

TEST_F(ZkHandle, NoticesAServerThatSaysNothing) {
    zookeeper_ensemble server;
    user one(context, server.addresses(), timeout);
    ASSERT_TRUE(one.reaches(zk_state::connected));
    server.suspend(0);
    const auto begin = clock::now();
    EXPECT_TRUE(one.reaches(zk_state::connecting));
    EXPECT_LT(clock::now() - begin, 10 * timeout) << "after two thirds of the time-out";
    server.resume(0);
    EXPECT_TRUE(one.reaches([&] {
        return one.states.back() == zk_state::connected || one.states.back() == zk_state::expired;
    }));
}

TEST_F(ZkHandle, ANodeOfASessionThatWasClosedGoesWithItsTimeOut) {
    auto one = join();
    auto other = join();
    EXPECT_FALSE(one.create(node, node_kind::ephemeral).failed);
    one.handle->close();
    EXPECT_FALSE(other.look(node, true).failed) << "nobody has words good-bye";
    EXPECT_TRUE(other.reaches([&] { return other.heard.back() == "deleted " + node; }));
}

// The loop stands still for longer than the time-out.
TEST_F(ZkHandle, HearsOfItsExpiryWhenItIsConnectedAgain) {
    asio::io_context slow(1);
    user one(slow, shared_zookeeper().addresses(), timeout);
    auto other = join();
    ASSERT_TRUE(other.reaches(zk_state::connected));
    EXPECT_FALSE(one.create(node, node_kind::ephemeral).failed);
    EXPECT_FALSE(other.look(node, true).failed);
    EXPECT_TRUE(other.reaches([&] { return other.heard.back() == "deleted " + node; }));
    EXPECT_TRUE(one.reaches(zk_state::expired));
    EXPECT_EQ(one.get(node).failed, make_error_code(zk_code::invalid_state));
}

TEST_F(ZkHandle, AnswersWhatIsUnderWayWhenItIsClosed) {
    auto one = join();
    ASSERT_TRUE(one.reaches(zk_state::connected));
    std::vector<zk_answer> answers;
    for (int i = 0; i < 3; ++i)
        one.handle->create(node, "", node_kind::persistent, [&](zk_answer answer) {
            answers.push_back(std::move(answer));
        });
    one.handle->close();
    EXPECT_TRUE(one.reaches([&] { return answers.size() == 3; }));
    // Some may have been answered before.
    for (const auto& each : answers) {
        EXPECT_TRUE(
            !each.failed || each.failed == make_error_code(zk_code::node_exists) ||
            zookeeper_detail::may_be_done(each.failed)
        ) << each.failed.message();
    }
    const auto late = one.get(node);
    EXPECT_EQ(late.failed, make_error_code(zk_code::invalid_state));
}

TEST_F(ZkHandle, GoesWithItsContext) {
    auto kept = std::make_shared<int>(0);
    const std::weak_ptr<int> seen = kept;
    {
        asio::io_context short_lived(1);
        user one(short_lived, shared_zookeeper().addresses(), timeout);
        ASSERT_TRUE(one.reaches(zk_state::connected));
        one.handle->get("/", false, [kept](const zk_answer&) { FAIL(); });
        kept.reset();
        one.handle.reset();
    }
    EXPECT_TRUE(seen.expired());
}

}  // namespace
}  // namespace mortise::test::zk_handle_test
