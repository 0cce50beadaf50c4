// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/clock.hpp"
#include "store/redis/redis_wire.hpp"
#include "store/redis/socket_wire.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::store_detail::socket_wire_test {
namespace {

struct uses {
    redis_failure opened;
    redis_failure subscribed;
    bool over = false;
};

asio::awaitable<void>
open_and_subscribe(redis_wire& wire, deaf_wire_events& events, uses& results) {
    auto opening = wire.open(events);
    results.opened = co_await std::move(opening);
    if (!results.opened.code) {
        auto subscribing = wire.subscribe("a channel");
        results.subscribed = co_await std::move(subscribing);
    }
    results.over = true;
}

// Closed before the n-th handler. @return whether that came before the end
bool closed_before(int nth) {
    asio::io_context context(1);
    wire_settings settings;
    settings.host = "127.0.0.1";
    settings.port = test::shared_redis().port();
    const auto wire = make_socket_wire(context.get_executor(), settings);
    deaf_wire_events events;
    uses results;
    asio::co_spawn(
        context,
        open_and_subscribe(*wire, events, results),
        [](const std::exception_ptr& failed) {
            if (failed)
                std::rethrow_exception(failed);
        }
    );
    for (int i = 1; i < nth && !results.over; ++i)
        context.run_one();
    const bool early = !results.over;
    wire->close();
    context.run_for(std::chrono::seconds(2));
    EXPECT_TRUE(results.over) << "somebody waits for a wire that was closed before handler " << nth;
    if (early) {
        EXPECT_TRUE(results.opened.code || results.subscribed.code) << nth;
    }
    return early;
}

TEST(SocketWire, ThatIsClosedAtWhateverStepOfItsOpeningKeepsNobodyWaiting) {
    int steps = 1;
    while (closed_before(steps) && !HasFailure())
        ++steps;
    EXPECT_GT(steps, 5) << "an opening takes more steps than that";
}

/// A wire to a server of the test's own, and a context that runs while a member waits.
class scene : public redis_wire_events {
public:
    explicit scene(wire_settings settings)
        : wire(make_socket_wire(context.get_executor(), std::move(settings))) {}
    virtual ~scene() {
        wire->close();
        context.restart();
        context.run();
    }
    scene(const scene&) = delete;
    scene& operator=(const scene&) = delete;

    template <class T>
    T outcome(asio::awaitable<T> call) {
        auto future = asio::co_spawn(context, std::move(call), asio::use_future);
        context.restart();
        const auto end = clock::now() + std::chrono::seconds(20);
        while (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready &&
               clock::now() < end)
            context.run_one_for(std::chrono::milliseconds(50));
        return future.get();
    }
    redis_failure open() { return outcome(wire->open(*this)); }
    result<redis_value> call(redis_command command) {
        return outcome(wire->call(std::move(command)));
    }
    std::string text(redis_command command) {
        const auto reply = call(std::move(command));
        return reply ? reply->text : reply.error().message();
    }
    bool until(const std::function<bool()>& done) {
        context.restart();
        return test::eventually([&] {
            context.run_one_for(std::chrono::milliseconds(10));
            return done();
        });
    }

    asio::io_context context{1};
    std::shared_ptr<redis_wire> wire;
    std::vector<redis_value> pushes;
    redis_failure closed;

private:
    void on_push(redis_value push) noexcept override { pushes.push_back(std::move(push)); }
    void on_closed(redis_failure why) noexcept override { closed = std::move(why); }
};

wire_settings at(std::uint16_t port) {
    wire_settings settings;
    settings.host = "127.0.0.1";
    settings.port = port;
    return settings;
}

TEST(SocketWire, GoesOverAUnixSocket) {
    const test::redis_server server({"unixsocket here.sock"});
    wire_settings settings;
    settings.socket = server.folder() / "here.sock";
    settings.database = 3;
    scene there(settings);
    const auto failed = there.open();
    ASSERT_FALSE(failed.code) << failed.text;
    EXPECT_EQ(there.text({"SET", "a", "1"}), "OK");
    EXPECT_NE(there.text({"CLIENT", "INFO"}).find(" db=3 "), std::string::npos);
}

TEST(SocketWire, SaysWhyASocketIsOfNoUse) {
    wire_settings settings;
    settings.socket = "/nowhere/at-all.sock";
    scene nowhere(settings);
    const auto failed = nowhere.open();
    EXPECT_EQ(failed.code, errc::store_unavailable);
    EXPECT_NE(failed.text.find("connecting: No such file"), std::string::npos) << failed.text;
}

TEST(SocketWire, NamesItselfAndAsksNotToBeEvicted) {
    auto settings = at(test::shared_redis().port());
    settings.client_name = "shop-7";
    settings.no_evict = true;
    scene there(settings);
    ASSERT_FALSE(there.open().code);
    const auto info = there.text({"CLIENT", "INFO"});
    EXPECT_NE(info.find(" name=shop-7 "), std::string::npos) << info;
    EXPECT_NE(info.find(" flags=e "), std::string::npos) << info;
}

TEST(SocketWire, OpensThoughItMayNotAskNotToBeEvicted) {
    const test::redis_server server({"user shop on >word ~* &* +@all -client|no-evict"});
    auto settings = at(server.port());
    settings.login.user = "shop";
    settings.login.password = "word";
    settings.no_evict = true;
    scene there(settings);
    const auto failed = there.open();
    EXPECT_FALSE(failed.code) << failed.text;
}

TEST(SocketWire, AsksForTheLoginBeforeEachConnection) {
    const test::redis_server server({"user shop on >second ~* &* +@all"});
    std::string word = "first";
    auto settings = at(server.port());
    settings.ask_login = [&word] {
        redis_login login;
        login.user = "shop";
        login.password = word;
        return login;
    };
    scene too_early(settings);
    const auto failed = too_early.open();
    EXPECT_EQ(failed.code, errc::access_denied);
    EXPECT_EQ(failed.text.find("first"), std::string::npos) << failed.text;
    word = "second";
    scene there(settings);
    EXPECT_FALSE(there.open().code);
    EXPECT_EQ(there.text({"ACL", "WHOAMI"}), "shop");
}

TEST(SocketWire, AnswersInTheOrderOfTheCommands) {
    scene there(at(test::shared_redis().port()));
    ASSERT_FALSE(there.open().code);
    std::vector<std::future<result<redis_value>>> asked;
    const std::string large(300'000, 'x');  // more than the kernel takes at once
    for (int i = 0; i < 100; ++i) {
        redis_command echo{"ECHO", (i % 10 == 0 ? large : std::string()) + std::to_string(i)};
        asked.push_back(
            asio::co_spawn(there.context, there.wire->call(std::move(echo)), asio::use_future)
        );
    }
    std::vector<redis_command> together(3, {"ECHO", "together"});
    together[1] = {"NOSUCHCOMMAND"};
    const auto replies = there.outcome(there.wire->pipeline(std::move(together)));
    ASSERT_TRUE(replies && replies->size() == 3);
    EXPECT_EQ(replies->at(1).type, redis_value::kind::error);
    EXPECT_EQ(replies->at(2).text, "together");
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(
            asked[static_cast<std::size_t>(i)].wait_for(std::chrono::seconds(0)),
            std::future_status::ready
        );
        const auto reply = asked[static_cast<std::size_t>(i)].get();
        ASSERT_TRUE(reply);
        EXPECT_TRUE(reply->text.ends_with(std::to_string(i)));
    }
}

TEST(SocketWire, HearsPushesAndKeepsSubscriptionsApart) {
    scene there(at(test::shared_redis().port()));
    ASSERT_FALSE(there.open().code);
    EXPECT_FALSE(there.outcome(there.wire->subscribe("socket-wire")).code);
    EXPECT_TRUE(there.pushes.empty()) << "a confirmation is no push for the owner";
    const auto published = there.call({"PUBLISH", "socket-wire", "hello"});
    ASSERT_TRUE(published);
    EXPECT_EQ(published->number, 1);
    EXPECT_TRUE(there.until([&] { return there.pushes.size() == 1; }));
    EXPECT_EQ(there.pushes.at(0).items.at(2).text, "hello");
    ASSERT_TRUE(there.call({"UNSUBSCRIBE", "socket-wire"}));
    EXPECT_EQ(there.call({"PUBLISH", "socket-wire", "again"})->number, 0);
}

TEST(SocketWire, TellsARefusedSubscriptionFromALostConnection) {
    const test::redis_server server({"user shop on >word ~* +@all resetchannels"});
    auto settings = at(server.port());
    settings.login.user = "shop";
    settings.login.password = "word";
    scene there(settings);
    ASSERT_FALSE(there.open().code);
    EXPECT_EQ(there.outcome(there.wire->subscribe("secret")).code, errc::access_denied);
    EXPECT_EQ(there.text({"PING"}), "PONG") << "the connection is as good as before";
}

TEST(SocketWire, TellsWhoWaitsAndThenItsOwnerThatTheConnectionHasEnded) {
    test::redis_server server;
    scene there(at(server.port()));
    ASSERT_FALSE(there.open().code);
    bool owner_first = true;
    std::optional<error_code> answered;
    asio::co_spawn(
        there.context,
        there.wire->call({"BLPOP", "nothing", "0"}),
        [&](const std::exception_ptr&, const result<redis_value>& reply) {
            owner_first = there.closed.code.failed();
            answered = reply ? error_code() : reply.error();
        }
    );
    server.kill();
    ASSERT_TRUE(there.until([&] { return there.closed.code.failed(); }));
    EXPECT_EQ(answered, errc::outcome_unknown);
    EXPECT_FALSE(owner_first);
    EXPECT_EQ(there.call({"PING"}).error(), errc::store_unavailable);
}

TEST(SocketWire, KeepsItsLoopAwakeUntilTheReplyIsThere) {
    auto settings = at(test::shared_redis().port());
    settings.busy_poll_max = std::chrono::seconds(20);  // not on a busy machine either
    scene here(settings);
    ASSERT_FALSE(here.open().code);
    std::optional<result<redis_value>> reply;
    asio::co_spawn(
        here.context,
        here.wire->call({"PING"}),
        [&](const std::exception_ptr&, result<redis_value> answered) { reply = answered; }
    );
    here.context.restart();
    while (!reply && here.context.poll_one() != 0)
        std::this_thread::yield();
    ASSERT_TRUE(reply && *reply) << "the loop would have slept";
    EXPECT_EQ((*reply)->text, "PONG");
    here.context.poll();
    here.context.restart();
    EXPECT_EQ(here.context.poll(), 0u) << "it is awake after the reply";
}

/// Says these bytes to whoever connects, whatever is asked, and perhaps hangs up.
class strange_server {
public:
    strange_server(std::string says, bool hangs_up)
        : says_(std::move(says)), acceptor_(context_, {asio::ip::address_v4::loopback(), 0}) {
        acceptor_.async_accept(socket_, [this, hangs_up](const auto& failed) {
            if (!failed)
                asio::write(socket_, asio::buffer(says_));
            if (hangs_up)
                socket_.shutdown(asio::ip::tcp::socket::shutdown_send);
        });
    }
    ~strange_server() {
        context_.stop();
        runs_.join();
    }
    strange_server(const strange_server&) = delete;
    strange_server& operator=(const strange_server&) = delete;

    wire_settings place() const {
        auto settings = at(acceptor_.local_endpoint().port());
        settings.connect_max = std::chrono::seconds(10);
        return settings;
    }

private:
    const std::string says_;
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    asio::ip::tcp::acceptor acceptor_;
    asio::ip::tcp::socket socket_{context_};
    std::thread runs_{[this] { context_.run(); }};
};

redis_failure
opened_at(std::string says, bool hangs_up = false, void (*change)(wire_settings&) = nullptr) {
    const strange_server server(std::move(says), hangs_up);
    auto settings = server.place();
    if (change != nullptr)
        change(settings);
    return scene(settings).open();
}

TEST(SocketWire, KeepsTheReasonOfAServerThatRefusesAndHangsUp) {
    for (const auto change : std::initializer_list<void (*)(wire_settings&)>{
             [](wire_settings&) {},
             [](wire_settings& settings) { settings.database = 2; },
             [](wire_settings& settings) { settings.no_evict = true; }}) {
        const auto failed =
            opened_at("-DENIED Redis is running in protected mode\r\n", true, change);
        EXPECT_EQ(failed.code, errc::access_denied) << failed.text;
        EXPECT_TRUE(failed.text.starts_with("DENIED")) << failed.text;
    }
}

TEST(SocketWire, IsNotOpenWithHalfAGreeting) {
    const auto failed =
        opened_at("%1\r\n+mode\r\n+standalone\r\n", true, [](wire_settings& settings) {
            settings.database = 2;
        });
    EXPECT_EQ(failed.code, errc::store_unavailable);
}

TEST(SocketWire, ShowsNoPartOfAPasswordThatAServerRepeats) {
    const auto failed = opened_at(
        "-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `me`, "
        "`a-long-sec\r\n",
        false,
        [](wire_settings& settings) {
            settings.login.user = "me";
            settings.login.password = "a-long-secret";
        }
    );
    EXPECT_EQ(failed.code, errc::wrong_server);
    EXPECT_EQ(failed.text, "ERR unknown command `HELLO`");
}

TEST(SocketWire, HasNoUseForALoginThatIsNotTold) {
    auto settings = at(test::shared_redis().port());
    settings.ask_login = []() -> redis_login { throw std::runtime_error("a secret"); };
    const auto failed = scene(settings).open();
    EXPECT_EQ(failed.code, errc::bad_config);
    EXPECT_EQ(failed.text.find("secret"), std::string::npos);
}

TEST(SocketWire, EndsWithAServerThatAnswersWhatNobodyHasAsked) {
    const strange_server server("%1\r\n+mode\r\n+standalone\r\n+more\r\n", false);
    scene there(server.place());
    const bool was_open = !there.open().code.failed();
    EXPECT_TRUE(!was_open || there.until([&] { return there.closed.code.failed(); }));
    EXPECT_TRUE(!was_open || there.closed.code == errc::wrong_server);
    EXPECT_FALSE(there.call({"PING"}));
}

TEST(SocketWire, MayBeClosedByWhoeverGetsAReply) {
    scene there(at(test::shared_redis().port()));
    ASSERT_FALSE(there.open().code);
    std::vector<error_code> outcomes;
    const auto ask = [&](bool closes) {
        asio::co_spawn(
            there.context,
            [&there, &outcomes, closes]() -> asio::awaitable<void> {
                redis_command ping{"PING"};
                auto calling = there.wire->call(std::move(ping));
                const auto reply = co_await std::move(calling);
                outcomes.push_back(reply ? error_code() : reply.error());
                if (closes)
                    there.wire->close();
            },
            asio::detached
        );
    };
    ask(false);
    ask(true);
    ask(false);
    ask(false);
    ASSERT_TRUE(there.until([&] { return outcomes.size() == 4; }));
    EXPECT_FALSE(outcomes[0] || outcomes[1]);
    EXPECT_EQ(outcomes[2], errc::outcome_unknown);
    EXPECT_EQ(outcomes[3], errc::outcome_unknown);
    EXPECT_FALSE(there.closed.code) << "whoever closes it is not told";
}

TEST(SocketWire, GoesOnIfWhoeverGotAReplyThrows) {
    scene there(at(test::shared_redis().port()));
    ASSERT_FALSE(there.open().code);
    asio::co_spawn(
        there.context,
        there.wire->call({"PING"}),
        [](const std::exception_ptr&, const result<redis_value>&) {
            throw std::runtime_error("of the program");
        }
    );
    bool thrown = false;
    EXPECT_TRUE(test::eventually([&] {
        try {
            there.context.restart();
            there.context.run_one_for(std::chrono::milliseconds(10));
        } catch (const std::runtime_error&) {
            thrown = true;
        }
        return thrown;
    }));
    EXPECT_EQ(there.text({"PING"}), "PONG");
}

TEST(SocketWire, IsClosedWhileMoreIsSentThanTheServerTakes) {
    test::redis_server server;
    scene there(at(server.port()));
    ASSERT_FALSE(there.open().code);
    server.suspend();
    std::vector<error_code> outcomes;
    const std::string large(4'000'000, 'x');
    for (int i = 0; i < 4; ++i) {
        redis_command echo{"ECHO", large};
        asio::co_spawn(
            there.context,
            there.wire->call(std::move(echo)),
            [&](const std::exception_ptr&, const result<redis_value>& reply) {
                outcomes.push_back(reply ? error_code() : reply.error());
            }
        );
    }
    there.context.restart();
    there.context.poll();
    EXPECT_TRUE(outcomes.empty());
    there.wire->close();
    EXPECT_TRUE(there.until([&] { return outcomes.size() == 4; }));
    for (const auto& each : outcomes)
        EXPECT_EQ(each, errc::outcome_unknown);
    server.resume();
}

TEST(SocketWire, RefusesWhatIsNoRedisServer) {
    EXPECT_EQ(opened_at("HTTP/1.1 400 Bad Request\r\n\r\n").code, errc::wrong_server);
    EXPECT_EQ(opened_at("+OK\r\n").code, errc::wrong_server);
    const auto old = opened_at("-ERR unknown command `HELLO`\r\n");
    EXPECT_EQ(old.code, errc::wrong_server);
    EXPECT_NE(redis_remedy(old).find("version 6 or newer"), std::string_view::npos);
}

TEST(SocketWire, DoesNotWaitForAServerThatSaysNothing) {
    const auto failed = opened_at("", false, [](wire_settings& settings) {
        settings.connect_max = std::chrono::milliseconds(300);
    });
    EXPECT_EQ(failed.code, errc::store_unavailable);
    EXPECT_EQ(failed.text, "it does not greet in time");
}

/// Closes a wire at its end, as a client does that ends with its context.
class closer {
public:
    explicit closer(std::shared_ptr<redis_wire> wire) : wire_(std::move(wire)) {}
    closer(closer&&) noexcept = default;
    closer& operator=(closer&&) = delete;
    ~closer() {
        if (wire_)
            wire_->close();
    }

private:
    std::shared_ptr<redis_wire> wire_;
};

asio::awaitable<void> open_and_wait(redis_wire& wire, deaf_wire_events& events, bool& opened) {
    auto opening = wire.open(events);
    opened = !(co_await std::move(opening)).code;
    auto calling = wire.call({"BLPOP", "nothing", "0"});
    co_await std::move(calling);
}

TEST(SocketWire, ThatIsClosedByTheEndOfItsContextLooksAtNoCommandThatIsGone) {
    deaf_wire_events events;
    bool opened = false;
    asio::io_context context(1);
    const asio::any_io_executor strand = asio::make_strand(context);
    wire_settings settings;
    settings.host = "127.0.0.1";
    settings.port = test::shared_redis().port();
    auto wire = make_socket_wire(strand, settings);
    asio::co_spawn(strand, open_and_wait(*wire, events, opened), asio::detached);
    ASSERT_TRUE(test::eventually([&] {
        context.run_one_for(std::chrono::milliseconds(10));
        return opened;
    }));
    context.run_for(std::chrono::milliseconds(50));  // the command goes out
    asio::post(strand, [last = closer(std::move(wire))] { static_cast<void>(last); });
}

}  // namespace
}  // namespace mortise::store_detail::socket_wire_test
