// SPDX-License-Identifier: BSL-1.0
// What is done to a MariaDB server, and to its clients, while locks are held and waited for.
#include "mortise/db/mysql_error.hpp"
#include "support/machine_delay.hpp"
#include "support/message_proxy.hpp"
#include "unit/mysql_store/mysql_store_world.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <deque>
#include <iterator>
#include <string_view>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// Clients that use the same locks, each several times.
class rounds {
public:
    rounds(mysql_store_world& world, unsigned names, unsigned times)
        : world_(world), names_(names), times_(times), held_(names), tokens_(names) {}

    void begin(lock_client& locks) {
        ++under_way_;
        asio::co_spawn(world_.context(), use(locks), [this](std::exception_ptr failed) {
            --under_way_;
            if (failed)
                ++failures_;
        });
    }
    bool over() const { return under_way_ == 0; }
    void expect_order() const {
        EXPECT_EQ(failures_, 0u);
        EXPECT_EQ(overlaps_, 0u);
        EXPECT_EQ(stale_, 0u);
    }

private:
    asio::awaitable<void> use(lock_client& locks) {
        for (unsigned round = 0; round < times_; ++round) {
            const auto place = round % names_;
            lease held = co_await locks.async_acquire("name" + std::to_string(place));
            overlaps_ += held_[place]++ != 0 ? 1u : 0u;
            stale_ += held.token().value <= tokens_[place] ? 1u : 0u;
            tokens_[place] = held.token().value;
            co_await world_.nap(0ms);
            --held_[place];
            co_await held.async_release();
        }
    }

    mysql_store_world& world_;
    const unsigned names_;
    const unsigned times_;
    std::vector<unsigned> held_;
    std::vector<std::uint64_t> tokens_;
    unsigned under_way_ = 0;
    unsigned failures_ = 0;
    unsigned overlaps_ = 0;
    unsigned stale_ = 0;
};

// Its bell tells of 64 locks with each ring, and its own grants are no changes by others.
TEST(MysqlStoreFault, AGrantFromItsOwnReleaseIsHeardOfBesideManyLocks) {
    constexpr int others = 70;
    mysql_store_world world(shared_mariadb());
    lock_client one = world.make_client(30s);
    std::vector<lease> held;
    world.run([](lock_client& locks, std::vector<lease>& all) -> asio::awaitable<void> {
        for (int i = 0; i < others; ++i)
            all.push_back(co_await locks.async_acquire("a" + std::to_string(i)));
        lock_options reads;
        reads.mode = lock_mode::shared();
        all.push_back(co_await locks.async_acquire("z", reads));
    }(one, held));
    lease writer;
    one.async_acquire("z", lock_options(), [&](error_code failed, lease got) {
        EXPECT_FALSE(failed) << failed.message();
        writer = std::move(got);
    });
    ASSERT_TRUE(world.run_until([&] {
        return world.value_of("SELECT COUNT(*) FROM mortise_waiter WHERE NOT granted") == "1";
    }));
    held.pop_back();
    EXPECT_TRUE(world.run_until([&] { return writer.held(); }, 20s));
    world.run([](lock_client& locks) -> asio::awaitable<void> {
        co_await locks.async_stop();
    }(one));
}

TEST(MysqlStoreFault, FiftyClientsMakeTheSameNewName) {
    mysql_store_world world(shared_mariadb());
    std::deque<lock_client> clients;
    for (int i = 0; i < 50; ++i) {
        clients.push_back(world.make_client(30s));
        world.run([](lock_client& one) -> asio::awaitable<void> {
            lease own = co_await one.async_acquire("own");  // and with it a session
            co_await own.async_release();
        }(clients.back()));
    }
    rounds all(world, 1, 1);
    for (auto& each : clients)
        all.begin(each);
    EXPECT_TRUE(world.run_until([&] { return all.over(); }));
    all.expect_order();
}

// Heartbeats come each ten seconds: a push that is lost would be made up for by none in time.
TEST(MysqlStoreFault, NoPushOfSixteenBellsIsLost) {
    mysql_store_world world(shared_mariadb());
    std::deque<lock_client> clients;
    for (int i = 0; i < 16; ++i)
        clients.push_back(world.make_client(30s));
    rounds all(world, 3, 24);
    for (auto& each : clients)
        all.begin(each);
    const machine_delay delay;
    const auto begun = clock::now();
    EXPECT_TRUE(world.run_until([&] { return all.over(); }));
    EXPECT_LT(clock::now() - begun, 9s + delay.so_far()) << "somebody waited for a heartbeat";
    all.expect_order();
}

// A ring that is late hits the next statement of its bell, or one more.
TEST(MysqlStoreFault, RingsThatAreLateOrComeTwiceWakeTheirBells) {
    mysql_store_world world(shared_mariadb());
    message_proxy proxy(
        world.context().get_executor(), shared_mariadb().port(), &make_mysql_reader
    );
    std::size_t rings = 0;
    proxy.decide([&](message_proxy::kind type, std::string_view) {
        if (type != message_proxy::kind::push)
            return message_proxy::deed::pass;
        const message_proxy::deed deeds[] = {
            message_proxy::deed::late, message_proxy::deed::pass, message_proxy::deed::repeat};
        return deeds[rings++ % std::size(deeds)];
    });
    world.go_by(proxy.port());
    {
        std::deque<lock_client> clients;
        for (int i = 0; i < 16; ++i)
            clients.push_back(world.make_client(30s));
        rounds all(world, 3, 12);
        for (auto& each : clients)
            all.begin(each);
        const machine_delay delay;
        const auto begun = clock::now();
        EXPECT_TRUE(world.run_until([&] { return all.over(); }));
        EXPECT_LT(clock::now() - begun, 9s + delay.so_far()) << "somebody waited for a heartbeat";
        all.expect_order();
    }
    EXPECT_GT(rings, 100u);
}

// A kill that comes between two statements must not make the bell wait for ever.
TEST(MysqlStoreFault, NoRingOfAThousandIsLost) {
    mysql_store_world world(shared_mariadb());
    lock_client one = world.make_client(30s);
    lock_client other = world.make_client(30s);
    rounds all(world, 1, 500);
    all.begin(one);
    all.begin(other);
    const machine_delay delay;
    const auto begun = clock::now();
    EXPECT_TRUE(world.run_until([&] { return all.over(); }, 200s));
    EXPECT_LT(clock::now() - begun, 9s + delay.so_far()) << "somebody waited for a heartbeat";
    all.expect_order();
}

/// A holder and a waiter.
class MysqlStoreOutage : public testing::Test {
protected:
    void begin(mariadb_server& server, std::chrono::milliseconds ttl) {
        world_.emplace(server);
        begin_here(ttl);
    }

    void begin_here(std::chrono::milliseconds ttl) {
        holder_.emplace(world_->make_client(ttl));
        waiter_.emplace(world_->make_client(ttl));
        world_->run(take());
    }

    asio::awaitable<void> take() {
        first_ = co_await holder_->async_acquire("door");
        asio::co_spawn(world_->context(), wait(), asio::detached);
        co_await world_->until([&] { return first_.contended(); });
    }

    asio::awaitable<void> wait() {
        second_ = co_await waiter_->async_acquire("door");
        served_ = true;
    }

    /// The holder holds it again, and hands it on.
    void expect_continuation() {
        EXPECT_TRUE(world_->run_until([&] { return first_.held(); })) << holder_->explain();
        EXPECT_FALSE(served_);
        world_->run(hand_on());
    }

    asio::awaitable<void> hand_on() {
        const auto token = first_.token().value;
        co_await first_.async_release();
        co_await world_->until([&] { return served_; });
        EXPECT_GT(second_.token().value, token);
        co_await second_.async_release();
        co_await holder_->async_stop();
        co_await waiter_->async_stop();
        EXPECT_EQ(world_->value_of("SELECT COUNT(*) FROM mortise_session"), "0");
    }

    std::string finding(const std::string& subject) {
        std::string text;
        world_->run(ask(subject, text));
        return text;
    }

    asio::awaitable<void> ask(std::string subject, std::string& text) {
        const auto found = co_await holder_->async_examine();
        for (const auto& each : found) {
            if (each.subject == subject)
                text = each.found;
        }
    }

    std::optional<mysql_store_world> world_;
    std::optional<lock_client> holder_;
    std::optional<lock_client> waiter_;
    lease first_;
    lease second_;
    bool served_ = false;
};

TEST_F(MysqlStoreOutage, EachConnectionIsKilled) {
    begin(shared_mariadb(), 6s);
    for (const char* const column : {"command", "bell"}) {
        for (const char* const order : {"ASC", "DESC"}) {
            const auto id = world_->value_of(
                std::string("SELECT ") + column + " FROM mortise_session ORDER BY id " + order +
                " LIMIT 1"
            );
            world_->server().run("KILL " + id);
            EXPECT_TRUE(world_->run_until([&] {
                return world_->value_of(
                           "SELECT COUNT(*) FROM mortise_session WHERE bell<>0 AND bell<>" + id +
                           " AND command<>" + id
                       ) == "2";
            })) << holder_->explain();
        }
    }
    expect_continuation();
}

TEST_F(MysqlStoreOutage, ARestartWithALogThatIsFlushedForgetsNothing) {
    mariadb_server server(mariadb_server::settings{"--innodb-flush-log-at-trx-commit=1"});
    begin(server, 20s);
    const auto before = world_->value_of("SELECT HEX(incarnation) FROM mortise_meta");
    server.kill();
    server.start();
    expect_continuation();
    EXPECT_EQ(world_->value_of("SELECT HEX(incarnation) FROM mortise_meta"), before);
}

TEST_F(MysqlStoreOutage, ARestartWithoutThatIsFollowedByAQuarantine) {
    mariadb_server server(mariadb_server::settings{"--innodb-flush-log-at-trx-commit=0"});
    const auto stopped = clock::now();
    server.restart();
    // Sessions must outlive a restart, which may take long on a busy machine.
    const auto restart = std::chrono::ceil<std::chrono::milliseconds>(clock::now() - stopped);
    begin(server, std::max<std::chrono::milliseconds>(4s, 4 * restart));
    const auto before = world_->value_of("SELECT HEX(incarnation) FROM mortise_meta");
    server.restart();
    EXPECT_TRUE(world_->run_until([&] {
        return world_->value_of("SELECT COUNT(*) FROM mortise_run WHERE quarantine>0") == "1";
    })) << holder_->explain();
    EXPECT_NE(world_->value_of("SELECT HEX(incarnation) FROM mortise_meta"), before);
    EXPECT_FALSE(served_);
    EXPECT_TRUE(world_->run_until([&] { return first_.held(); })) << holder_->explain();
    world_->run(hand_on());
    server.stop();
}

// Connections that are quiet for longer are closed by this server, unless they ask for more.
TEST_F(MysqlStoreOutage, QuietConnectionsStay) {
    mariadb_server server(mariadb_server::settings{"--wait-timeout=1", "--interactive-timeout=1"});
    begin(server, 9s);
    const auto connections = "SELECT GROUP_CONCAT(command,' ',bell) FROM mortise_session";
    const auto before = world_->value_of(connections);
    world_->run(world_->nap(2'500ms));
    EXPECT_EQ(world_->value_of(connections), before);
    expect_continuation();
}

TEST_F(MysqlStoreOutage, AProxyThatNumbersConnectionsAnewIsToldOfAndHeartbeatsHandOver) {
    mysql_store_world& world = world_.emplace(shared_mariadb());
    message_proxy proxy(
        world.context().get_executor(), shared_mariadb().port(), &make_mysql_reader
    );
    proxy.pose_as_pooler();
    world.go_by(proxy.port());
    begin_here(2s);
    EXPECT_NE(finding("pushes").find("(a proxy)"), std::string::npos) << finding("pushes");
    EXPECT_EQ(world.value_of("SELECT COUNT(*) FROM mortise_session WHERE bell<>0"), "0");
    const machine_delay delay;
    const auto begun = clock::now();
    expect_continuation();
    EXPECT_LT(clock::now() - begun, 4s + delay.so_far());
    holder_.reset();
    waiter_.reset();
}

TEST(MysqlStoreTables, LocksThatNobodyUsesAreDeletedBelowTheFloor) {
    mysql_store_world world(shared_mariadb());
    lock_client locks = world.make_client(3s);  // Each heartbeat, after a second, deletes some.
    world.run([](mysql_store_world& in, lock_client& by) -> asio::awaitable<void> {
        lease held = co_await by.async_acquire("kept");
        in.value_of("UPDATE mortise_meta SET floor=1000,floor_at=1");
        in.value_of("INSERT INTO mortise_lock(name,stamp,base) VALUES('old',7,999),('new',7,"
                    "CAST(UNIX_TIMESTAMP()*1000000 AS SIGNED))");
        co_await in.until([&] { return in.value_of("SELECT floor_at>1 FROM mortise_meta") == "1"; }
        );
        EXPECT_EQ(in.value_of("SELECT floor>1000 FROM mortise_meta"), "1");
        in.value_of("UPDATE mortise_meta SET floor_at=floor_at-15000000");
        co_await in.until([&] { return in.value_of("SELECT COUNT(*) FROM mortise_lock") == "2"; });
        EXPECT_EQ(in.value_of("SELECT COUNT(*) FROM mortise_lock WHERE name='old'"), "0");
        co_await held.async_release();
        co_await by.async_stop();
    }(world, locks));
}

/// The code with which an acquire by that URL fails at once, and the text for people.
struct refusal {
    error_code code;
    std::string text;
};

refusal refusal_of(mysql_store_world& world, const std::string& url) {
    refusal found;
    lock_client locks(world.context().get_executor(), make_mysql_store(parse_mysql_store_url(url)));
    world.run([](lock_client& by, refusal& into) -> asio::awaitable<void> {
        auto trying = by.async_try_acquire("door", {}, asio::as_tuple(asio::deferred));
        auto tried = co_await std::move(trying);
        into.code = std::get<0>(tried);
        into.text = by.explain();
        co_await by.async_stop(asio::as_tuple(asio::deferred));
    }(locks, found));
    EXPECT_EQ(found.text.find("secret"), std::string::npos) << found.text;
    return found;
}

TEST(MysqlStoreLogin, SaysWhyItIsRefused) {
    auto& server = shared_mariadb();
    mysql_store_world world(server);
    const auto at = "127.0.0.1:" + std::to_string(server.port()) + "/";
    const std::string user = mariadb_server::user;
    const auto wrong = refusal_of(world, "mysql://" + user + ":secret@" + at + world.database());
    EXPECT_EQ(wrong.code, errc::access_denied) << wrong.text;
    const auto missing = refusal_of(world, server.url("nowhere"));
    EXPECT_EQ(missing.code, db::mysql_error(1049)) << missing.text;
    server.run("CREATE USER reader@127.0.0.1 IDENTIFIED BY 'secret'");
    server.run("GRANT SELECT ON `" + world.database() + "`.* TO reader@127.0.0.1");
    const auto reader = refusal_of(world, "mysql://reader:secret@" + at + world.database());
    EXPECT_EQ(reader.code, errc::access_denied) << reader.text;
    const auto tables = refusal_of(world, server.url(world.database()) + "?create=0");
    EXPECT_EQ(tables.code, errc::not_a_store) << tables.text;
    server.run("DROP USER reader@127.0.0.1");
}

TEST(MysqlStoreLogin, AServerThatIsTooOldIsRefusedWithAdvice) {
    mariadb_server server(mariadb_server::settings{"--version=10.4.34-MariaDB"});
    mysql_store_world world(server);
    const auto old = refusal_of(world, server.url(world.database()));
    EXPECT_EQ(old.code, errc::wrong_server) << old.text;
    EXPECT_NE(old.text.find("10.4.34"), std::string::npos) << old.text;
    EXPECT_NE(old.text.find("MariaDB 10.5 or MySQL 8.0 is needed"), std::string::npos) << old.text;
}

TEST(MysqlStoreLogin, TablesOfANewerFormatAreRefused) {
    mysql_store_world world(shared_mariadb());
    const auto url = shared_mariadb().url(world.database());
    EXPECT_EQ(refusal_of(world, url).code, error_code());
    world.value_of("UPDATE mortise_meta SET format=format+1");
    EXPECT_EQ(refusal_of(world, url).code, errc::newer_format);
}

}  // namespace
}  // namespace mortise::test
