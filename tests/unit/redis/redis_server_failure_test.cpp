// SPDX-License-Identifier: BSL-1.0
// What can be wrong with a server: each has a code and a text that says what to do and keeps the
// password to itself; and a client goes on when the reason is gone.
#include "support/eventually.hpp"
#include "support/machine_delay.hpp"
#include "support/proxy_thread.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <string_view>
#include <thread>

namespace mortise::test::redis_server_failure_test {
namespace {

using namespace std::chrono_literals;

constexpr const char* secret = "hunter2-wonderland";

redis_store_config failing_at(std::uint16_t port, std::string user = {}, std::string word = {}) {
    redis_store_config config;
    config.server.port = port;
    config.user = std::move(user);
    config.password = std::move(word);
    config.connect_max = 1s;
    config.assume_new = true;
    return config;
}

/// The newest failure is this one, says that much, and betrays nothing. A try is told of an outage
/// at once.
void expect_refused(redis_user& client, errc code, std::string_view advice) {
    const auto got = client.acquire("door", 0ms);
    EXPECT_EQ(got.code, code) << got.code.message() << "; " << client.explain();
    const std::string text = client.explain();
    EXPECT_NE(text.find(advice), std::string::npos) << text;
    EXPECT_EQ(text.find(secret), std::string::npos) << text;
    EXPECT_FALSE(got.held.held());
}

void expect_works(redis_user& client) {
    auto got = client.acquire("door", 5s);
    ASSERT_FALSE(got.code) << got.code.message() << "; " << client.explain();
    EXPECT_FALSE(client.release(got.held));
}

TEST(RedisServerFailure, AWrongPasswordIsRefusedUntilItIsTheRightOne) {
    const redis_server server({"requirepass other"});
    redis_user client(failing_at(server.port(), {}, secret));
    expect_refused(client, errc::access_denied, "check user and password");
    auto admin = server.connect();
    admin.command({"AUTH", "other"});
    admin.command({"CONFIG", "SET", "requirepass", secret});
    expect_works(client);
}

TEST(RedisServerFailure, AMissingPasswordIsRefusedUntilNoneIsNeeded) {
    const redis_server server({std::string("requirepass ") + secret});
    redis_user client(failing_at(server.port()));
    expect_refused(client, errc::access_denied, "check user and password");
    auto admin = server.connect();
    admin.command({"AUTH", secret});
    admin.command({"CONFIG", "SET", "requirepass", ""});
    expect_works(client);
}

TEST(RedisServerFailure, AUserWithoutARightIsToldWhichRightsItNeeds) {
    const redis_server server(
        {std::string("user shop on >") + secret + " ~{mortise:}* ~mortise:id &{mortise:}* +@all"}
    );
    auto admin = server.connect();
    const std::vector<std::vector<std::string>> taken = {
        {"-publish"},
        {"-evalsha"},
        {"-eval", "-script"},
        {"-subscribe"},
        {"-hset"},
        {"resetchannels"},
        {"resetkeys"},
    };
    for (const auto& each : taken) {
        SCOPED_TRACE(each.front());
        redis_user client(failing_at(server.port(), "shop", secret));
        admin.command({"FLUSHALL"});
        admin.command({"SCRIPT", "FLUSH"});
        std::vector<std::string> take{"ACL", "SETUSER", "shop"};
        take.insert(take.end(), each.begin(), each.end());
        admin.command(take);
        expect_refused(client, errc::access_denied, "docs/stores/redis.md lists what it needs");
        admin.command(
            {"ACL", "SETUSER", "shop", "+@all", "~{mortise:}*", "~mortise:id", "&{mortise:}*"}
        );
        expect_works(client);
    }
}

TEST(RedisServerFailure, TheRightsThatTheManualListsAreEnough) {
    const redis_server server;
    server.connect().command(
        {"ACL",
         "SETUSER",
         "shop",
         "on",
         std::string(">") + secret,
         "~{mortise:}*",
         "~mortise:id",
         "&{mortise:}*",
         "+@hash",
         "+@sortedset",
         "+@set",
         "+@list",
         "+get",
         "+set",
         "+getset",
         "+del",
         "+exists",
         "+time",
         "+eval",
         "+evalsha",
         "+publish",
         "+subscribe",
         "+pubsub",
         "+info",
         "+config|get",
         "+client|tracking",
         "+client|setname",
         "+script|exists",
         "+script|load",
         "+hello",
         "+auth",
         "+select",
         "+ping",
         "+wait"}
    );
    redis_user client(failing_at(server.port(), "shop", secret));
    redis_user other(failing_at(server.port(), "shop", secret));
    auto first = client.acquire("door");
    ASSERT_FALSE(first.code) << client.explain();
    auto asked = other.ask("door");
    EXPECT_EQ(asked.wait_for(2 * redis_user::usual_ttl), std::future_status::timeout);
    EXPECT_FALSE(client.release(first.held));
    EXPECT_FALSE(outcome_of(asked).code);
}

TEST(RedisServerFailure, AReplicaIsRefusedUntilItIsThePrimary) {
    const redis_server primary;
    const redis_server server({replica_of(primary)});
    redis_user client(failing_at(server.port()));
    expect_refused(client, errc::read_only_server, "name the primary, or sentinels");
    server.connect().command({"REPLICAOF", "NO", "ONE"});
    expect_works(client);
}

TEST(RedisServerFailure, AServerThatBecomesAReplicaIsLeftAndItsLeaseIsNotHeldForEver) {
    const redis_server primary;
    const redis_server server;
    redis_user client(failing_at(server.port()));
    auto got = client.acquire("window");
    ASSERT_FALSE(got.code);
    server.connect().command({"REPLICAOF", "127.0.0.1", std::to_string(primary.port())});
    EXPECT_TRUE(eventually([&] { return !got.held.held(); }, 2 * redis_user::usual_ttl));
    // A try that meets the moment between two connections is told only that there is none.
    EXPECT_TRUE(eventually([&] {
        return client.acquire("door", 0ms).code == errc::read_only_server;
    }));
    const std::string text = client.explain();
    EXPECT_NE(text.find("name the primary, or sentinels"), std::string::npos) << text;
    server.connect().command({"REPLICAOF", "NO", "ONE"});
    EXPECT_TRUE(eventually([&] { return !client.acquire("gate", 2s).code; }));
}

TEST(RedisServerFailure, WithoutMemoryNothingNewIsGrantedAndTheRestGoesOn) {
    const redis_server server;
    redis_user holder(failing_at(server.port()));
    redis_user waiter(failing_at(server.port()));
    auto first = holder.acquire("door");
    auto window = waiter.acquire("window");
    ASSERT_FALSE(first.code);
    auto asked = waiter.ask("door");
    auto withdrawn = waiter.ask("door", 300ms);
    auto admin = server.connect();
    ASSERT_TRUE(eventually([&] { return parties_at(admin, "door") >= 2; }));
    admin.command({"CONFIG", "SET", "maxmemory", "1"});
    const auto refused = holder.acquire("another", 5s);
    EXPECT_EQ(refused.code, errc::store_full) << refused.code.message();
    EXPECT_NE(holder.explain().find("raise maxmemory"), std::string::npos) << holder.explain();
    EXPECT_EQ(outcome_of(withdrawn).code, errc::busy);
    // Heartbeats go on.
    EXPECT_FALSE(eventually([&] { return !first.held.held(); }, 2 * redis_user::usual_ttl));
    EXPECT_TRUE(window.held.held());
    EXPECT_FALSE(holder.release(first.held));
    auto second = outcome_of(asked);
    EXPECT_FALSE(second.code) << second.code.message();
    EXPECT_TRUE(second.held.held());
    EXPECT_FALSE(waiter.release(second.held));
    EXPECT_FALSE(waiter.release(window.held));
    admin.command({"CONFIG", "SET", "maxmemory", "0"});
    expect_works(holder);
    EXPECT_FALSE(holder.stop());
    EXPECT_FALSE(waiter.stop());
    EXPECT_LE(admin.command({"DBSIZE"}).number, 4) << "nothing of a session is left";
}

TEST(RedisServerFailure, AServerThatLoadsIsWaitedFor) {
    const redis_server server;
    auto admin = server.connect();
    redis_user client(failing_at(server.port()));
    admin.command({"DEBUG", "POPULATE", "3000", "filling", "2048"});
    admin.command({"CONFIG", "SET", "key-load-delay", "500"});
    admin.command({"CONFIG", "SET", "loading-process-events-interval-bytes", "1024"});
    admin.send({"DEBUG", "RELOAD"});
    auto other = server.connect();
    ASSERT_TRUE(eventually([&] {
        return other.try_command({"GET", "k"}).text.starts_with("LOADING");
    }));
    expect_refused(client, errc::server_loading, "wait until the server has loaded");
    static_cast<void>(admin.receive());
    expect_works(client);
}

TEST(RedisServerFailure, AServerThatIsBusyWithAScriptSaysSo) {
    const redis_server server({"lua-time-limit 50"});
    auto admin = server.connect();
    redis_user client(failing_at(server.port()));
    admin.send({"EVAL", "while true do end", "0"});
    auto other = server.connect();
    ASSERT_TRUE(eventually([&] {
        return other.try_command({"GET", "k"}).text.starts_with("BUSY");
    }));
    expect_refused(client, errc::server_busy, "SCRIPT KILL ends it");
    other.command({"SCRIPT", "KILL"});
    EXPECT_TRUE(admin.receive().is_error());
    expect_works(client);
}

TEST(RedisServerFailure, AServerThatThrowsKeysAwayIsRefusedUnlessThatIsAccepted) {
    const redis_server server({"maxmemory-policy allkeys-lru"});
    redis_user client(failing_at(server.port()));
    expect_refused(client, errc::unsafe_server, "maxmemory-policy noeviction");
    auto config = failing_at(server.port());
    config.allow_eviction = true;
    redis_user reckless(config);
    expect_works(reckless);
    server.connect().command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
    expect_works(client);
}

TEST(RedisServerFailure, AServerThatHidesItsRestartsIsRefusedUnlessThatIsAccepted) {
    const redis_server server({std::string("user shop on >") + secret + " ~* &* +@all -info"});
    auto config = failing_at(server.port(), "shop", secret);
    config.longest_ttl = redis_user::usual_ttl;  // A run that is told for the first time is new.
    redis_user client(config);
    expect_refused(client, errc::unsafe_server, "let the user run INFO (+info)");
    config.allow_unseen_restarts = true;
    redis_user reckless(config);
    expect_works(reckless);
    server.connect().command({"ACL", "SETUSER", "shop", "+info"});
    expect_works(client);
}

// A connection that is lost says nothing about the server: an acquire waits for the next one.
TEST(RedisServerFailure, AnInfoWithoutAnAnswerIsNoRefusal) {
    using deed = proxy_deed::kind;
    const redis_server server;
    proxy_thread proxy(server.port());
    for (const auto fault : {deed::cut, deed::cut_answer, deed::stall}) {
        SCOPED_TRACE(static_cast<int>(fault));
        std::atomic<int> left = 3;
        proxy.run([&](redis_proxy& on_the_way) {
            on_the_way.decide([&left, fault](const proxied_message& message) {
                const bool asks = message.type == proxied_message::kind::command &&
                                  message.name == "INFO" && left > 0;
                left -= asks ? 1 : 0;
                return proxy_deed::of(asks ? fault : deed::pass);
            });
        });
        {
            redis_user client(failing_at(proxy.port()));
            expect_works(client);
        }
        EXPECT_EQ(left, 0) << "the proxy has seen no INFO";
        proxy.run([](redis_proxy& on_the_way) { on_the_way.decide({}); });
    }
}

TEST(RedisServerFailure, ADatabaseThatIsNotThereIsRefused) {
    const redis_server server;
    auto config = failing_at(server.port());
    config.database = 9'999;
    redis_user client(config);
    expect_refused(client, errc::bad_config, "DB index is out of range");
}

TEST(RedisServerFailure, AClosedPortAndAHostWithoutAnAddressAreUnavailable) {
    const port_reservation nobody;
    redis_user client(failing_at(nobody.port()));
    expect_refused(client, errc::store_unavailable, "see whether the server runs");
    auto config = failing_at(1);
    config.server.host = "no-such-host.invalid";
    redis_user lost(config);
    const machine_delay delay;
    const auto begun = clock::now();
    expect_refused(lost, errc::store_unavailable, "see whether the server runs");
    EXPECT_LT(clock::now() - begun, 5s + delay.so_far());
}

TEST(RedisServerFailure, AServerThatWasDownIsFoundWhenItIsThere) {
    redis_server server;
    redis_user client(failing_at(server.port()));
    server.stop();
    expect_refused(client, errc::store_unavailable, "see whether the server runs");
    server.start();
    expect_works(client);
}

/// Accepts who connects and says this to each, or nothing.
class stranger {
public:
    explicit stranger(std::string words) : words_(std::move(words)) {
        accept();
        thread_ = std::thread([this] { context_.run(); });
    }
    ~stranger() {
        context_.stop();
        thread_.join();
    }
    stranger(const stranger&) = delete;
    stranger& operator=(const stranger&) = delete;

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

private:
    using tcp = asio::ip::tcp;

    void accept() {
        acceptor_.async_accept([this](error_code failed, tcp::socket guest) {
            if (failed)
                return;
            error_code ignored;
            asio::write(guest, asio::buffer(words_), ignored);
            guests_.push_back(std::move(guest));
            accept();
        });
    }

    const std::string words_;
    asio::io_context context_{1};
    tcp::acceptor acceptor_{context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
    std::vector<tcp::socket> guests_;
    std::thread thread_;
};

TEST(RedisServerFailure, WhoSpeaksOtherwiseThanARedisServerIsNone) {
    for (const char* words :
         {"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
          "-ERR unknown command 'HELLO'\r\n",
          "SSH-2.0-OpenSSH_9.2p1\r\n"}) {
        SCOPED_TRACE(words);
        const stranger server(words);
        redis_user client(failing_at(server.port(), {}, secret));
        expect_refused(client, errc::wrong_server, "name a Redis server of version 6 or newer");
    }
}

TEST(RedisServerFailure, WhoSaysNothingIsUnavailableInTime) {
    const stranger server("");
    for (const bool tls : {false, true}) {
        auto config = failing_at(server.port(), {}, secret);
        config.tls = tls;
        redis_user client(config);
        const machine_delay delay;
        const auto begun = clock::now();
        expect_refused(client, errc::store_unavailable, "see whether the server runs");
        EXPECT_LT(clock::now() - begun, 3s + delay.so_far());
    }
}

// The next holder must not hear of a grant that is not there.
TEST(RedisRefusal, OfAReleaseTellsNobodyOfAGrant) {
    for (const bool wanted_again : {false, true}) {
        redis_server server;
        auto admin = server.connect();
        redis_store_config config;
        config.server.port = server.port();
        config.assume_new = true;
        client_config how;
        how.ttl = 10s;
        how.turn_handoffs_max = 0;
        redis_user alice(config, how);
        redis_user bob(config, how);
        auto held = alice.acquire("door");
        ASSERT_FALSE(held.code) << alice.explain();
        auto asked = bob.ask("door");
        EXPECT_TRUE(eventually([&] { return parties_at(admin, "door") == 2; }));
        EXPECT_TRUE(eventually([&] { return held.held.contended(); }));
        std::future<acquired> again;
        if (wanted_again)
            again = alice.ask("door");
        admin.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
        held.held = lease();
        EXPECT_TRUE(eventually([&] {
            return alice.explain().find("NOREPLICAS") != std::string::npos;
        })) << alice.explain();
        EXPECT_EQ(asked.wait_for(200ms), std::future_status::timeout);
        admin.command({"CONFIG", "SET", "min-replicas-to-write", "0"});
        auto got = outcome_of(asked);
        ASSERT_FALSE(got.code) << bob.explain();
        EXPECT_FALSE(bob.release(got.held)) << bob.explain();
        if (wanted_again) {
            EXPECT_FALSE(outcome_of(again).code) << alice.explain();
        }
    }
}

}  // namespace
}  // namespace mortise::test::redis_server_failure_test
