// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/postgres_error.hpp"
#include "mortise/detail/defaults.hpp"
#include "postgres/pg_connection.hpp"
#include "support/eventually.hpp"
#include "support/scratch_folder.hpp"
#include "unit/session/session_world.hpp"
#include "unit/txn_http/slow_name.hpp"

#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace mortise::test::pg_connection_test {
namespace {

using db::bound_sql;
using db::postgres_error;
using postgres_detail::pg_connection;
using postgres_detail::pg_failure;
using postgres_detail::pg_notification;
using postgres_detail::pg_reply;
using postgres_detail::pg_step;

class PostgresConnection : public testing::Test {
protected:
    PostgresConnection() { settings.cancel_max = std::chrono::seconds(20); }
    ~PostgresConnection() override {
        for (const auto& each : open_)
            each->drop();
        for (auto& each : helpers_)
            each.join();
    }

    std::shared_ptr<pg_connection> make() {
        return std::make_shared<pg_connection>(
            world.context.get_executor(),
            std::make_shared<const db::postgres_config>(settings),
            mortise::detail::make_real_time(world.context.get_executor()),
            [this](std::function<void()> job, std::function<void()> then) {
                helpers_.emplace_back([this, job, then] {
                    job();
                    asio::post(world.context, then);
                });
            }
        );
    }

    pg_failure try_open(const std::shared_ptr<pg_connection>& on) {
        std::optional<pg_failure> outcome;
        on->open([&](pg_failure why) { outcome = std::move(why); });
        open_.push_back(on);
        until([&] { return outcome.has_value(); });
        return *outcome;
    }

    std::shared_ptr<pg_connection> open() {
        auto on = make();
        const auto why = try_open(on);
        EXPECT_FALSE(why) << why.text;
        return on;
    }

    void until(const std::function<bool()>& so) {
        const auto end = clock::now() + std::chrono::seconds(60);
        world.step_while([&] { return !so() && clock::now() < end; });
        ASSERT_TRUE(so());
    }

    pg_reply exchange(pg_connection& on, std::vector<pg_step> steps) {
        std::optional<pg_reply> reply;
        on.exchange(std::move(steps), [&](pg_reply got) { reply = std::move(got); });
        EXPECT_FALSE(reply) << "never from inside";
        until([&] { return reply.has_value(); });
        return std::move(*reply);
    }

    session_world world;
    db::postgres_config settings = world.config();

private:
    std::vector<std::shared_ptr<pg_connection>> open_;
    std::vector<std::thread> helpers_;
};

TEST_F(PostgresConnection, AnswersAMessageOfSeveralTransactions) {
    const auto on = open();
    const auto reply = exchange(
        *on,
        {pg_step(bound_sql("INSERT INTO account VALUES($1, $2)", 7, 1), false),
         pg_step(bound_sql("SELECT cents FROM account WHERE id = $1", 7)),
         pg_step(bound_sql("INSERT INTO account VALUES($1, $2)", 8, 1), false),
         pg_step(bound_sql("SELECT 1 / $1::int", 0), false),
         pg_step(bound_sql("SELECT 2")),
         pg_step(bound_sql("UPDATE account SET cents = 5 WHERE id < $1", 3))}
    );
    EXPECT_FALSE(reply.failure) << reply.failure.text;
    ASSERT_EQ(reply.answers.size(), 6u);
    EXPECT_EQ(reply.answers[0].tag, "INSERT 0 1");
    EXPECT_EQ(reply.answers[1].result.first().integer("cents"), 1);
    EXPECT_FALSE(reply.answers[2].failure);
    EXPECT_EQ(reply.answers[3].failure.code, postgres_error("22012"));
    EXPECT_EQ(reply.answers[4].failure.code, postgres_error("22012")) << "it was skipped";
    EXPECT_EQ(reply.answers[5].result.affected, 2);
    EXPECT_EQ(reply.first_failure().code, postgres_error("22012"));
    EXPECT_EQ(world.sql("SELECT count(*) FROM account WHERE id IN (7, 8)"), "1")
        << "the first transaction stays, the second is undone";
}

// A transaction without BEGIN is committed by the Sync, behind the answers to its statements.
TEST_F(PostgresConnection, AStatementThatTheCommitOfItsSyncUndoesHasFailed) {
    world.sql("ALTER TABLE account ADD COLUMN partner int REFERENCES account DEFERRABLE"
              " INITIALLY DEFERRED");
    const auto on = open();
    const auto reply = exchange(
        *on,
        {pg_step(bound_sql("SELECT 1")),
         pg_step(bound_sql("UPDATE account SET cents = 5 WHERE id = 1"), false),
         pg_step(bound_sql("UPDATE account SET partner = 77 WHERE id = 1")),
         pg_step(bound_sql("SELECT 2"))}
    );
    ASSERT_EQ(reply.answers.size(), 4u);
    EXPECT_FALSE(reply.answers[0].failure);
    EXPECT_EQ(reply.answers[1].failure.code, postgres_error("23503"));
    EXPECT_EQ(reply.answers[2].failure.code, postgres_error("23503"));
    EXPECT_FALSE(reply.answers[3].failure);
    EXPECT_EQ(reply.answers[3].result.first().integer(0), 2);
    EXPECT_EQ(world.cents(1), "100");
    EXPECT_FALSE(exchange(*on, {pg_step(bound_sql("SELECT 3"))}).first_failure());
}

TEST_F(PostgresConnection, AnswersInTheOrderOfTheMessages) {
    const auto on = open();
    std::vector<std::int64_t> order;
    constexpr int messages = 50;
    for (int i = 0; i < messages; ++i) {
        on->exchange({pg_step(bound_sql("SELECT $1::int", i))}, [&](const pg_reply& reply) {
            order.push_back(reply.answers.at(0).result.first().integer(0));
        });
    }
    until([&] { return order.size() == messages; });
    for (int i = 0; i < messages; ++i)
        EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    EXPECT_FALSE(on->busy());
    const auto sign_of_life = exchange(*on, {});
    EXPECT_FALSE(sign_of_life.failure);
    EXPECT_TRUE(sign_of_life.answers.empty());
}

TEST_F(PostgresConnection, TakesAndGivesMoreThanFitsIntoTheKernel) {
    const auto on = open();
    const std::string large(std::size_t{16} << 20, 'x');
    std::size_t bytes = 0;
    int replies = 0;
    for (int i = 0; i < 3; ++i) {
        on->exchange({pg_step(bound_sql("SELECT $1::text", large))}, [&](const pg_reply& reply) {
            bytes += reply.answers.at(0).result.first().text(0).size();
            ++replies;
        });
    }
    until([&] { return replies == 3; });
    EXPECT_EQ(bytes, large.size() * 3);
}

TEST_F(PostgresConnection, KeepsAFewStatementsPrepared) {
    settings.statements_max = 2;
    const auto on = open();
    const auto names = [&] {
        const auto reply = exchange(
            *on,
            {pg_step(bound_sql("SELECT string_agg(statement, ' ' ORDER BY prepare_time) AS kept"
                               " FROM pg_prepared_statements WHERE statement LIKE 'SELECT 1%'"))}
        );
        const auto& row = reply.answers.at(0).result.first();
        return row.is_null("kept") ? std::string() : row.text("kept");
    };
    for (const char* const text : {"SELECT 10", "SELECT 11", "SELECT 12", "SELECT 12", "SELECT 13"})
        EXPECT_FALSE(exchange(*on, {pg_step(bound_sql(text))}).first_failure());
    EXPECT_EQ(names(), "SELECT 12 SELECT 13") << "the question itself makes room behind it";
    // In a transaction that has failed nothing is forgotten, and nothing else is harmed by that.
    EXPECT_FALSE(exchange(*on, {pg_step(bound_sql("BEGIN"))}).first_failure());
    EXPECT_TRUE(exchange(*on, {pg_step(bound_sql("SELECT nothing"))}).first_failure());
    EXPECT_FALSE(exchange(*on, {pg_step(bound_sql("ROLLBACK"))}).first_failure());
    EXPECT_EQ(on->transaction_state(), pg_connection::transaction::none);
    const auto kept =
        exchange(*on, {pg_step(bound_sql("SELECT count(*) FROM pg_prepared_statements"))});
    EXPECT_LE(kept.answers.at(0).result.first().integer(0), 3) << "it is forgotten later";
}

TEST_F(PostgresConnection, KeepsNoStatementsForAPooler) {
    settings.statements_max = 0;
    const auto on = open();
    EXPECT_FALSE(exchange(*on, {pg_step(bound_sql("SELECT $1::int", 1))}).first_failure());
    const auto reply =
        exchange(*on, {pg_step(bound_sql("SELECT count(*) FROM pg_prepared_statements"))});
    EXPECT_EQ(reply.answers.at(0).result.first().integer(0), 0);
}

TEST_F(PostgresConnection, PreparesAgainWhatFailedOrWasChanged) {
    const auto on = open();
    const bound_sql look("SELECT * FROM account WHERE id = $1", 1);
    EXPECT_EQ(exchange(*on, {pg_step(look)}).answers.at(0).result.first().size(), 2u);
    world.sql("ALTER TABLE account ADD COLUMN note text");
    EXPECT_EQ(exchange(*on, {pg_step(look)}).first_failure().code, postgres_error("0A000"));
    EXPECT_EQ(exchange(*on, {pg_step(look)}).answers.at(0).result.first().size(), 3u);
    const bound_sql early("SELECT * FROM made_later");
    EXPECT_EQ(exchange(*on, {pg_step(early)}).first_failure().code, postgres_error("42P01"));
    world.sql("DROP TABLE IF EXISTS made_later; CREATE TABLE made_later()");
    EXPECT_FALSE(exchange(*on, {pg_step(early)}).first_failure());
    world.sql("DROP TABLE made_later");
}

TEST_F(PostgresConnection, DeliversNotifications) {
    const auto listener = open();
    const auto sender = open();
    std::vector<pg_notification> heard;
    listener->listen([&](pg_notification push) { heard.push_back(std::move(push)); });
    EXPECT_FALSE(exchange(*listener, {pg_step(bound_sql("LISTEN bell"))}).first_failure());
    const auto sent = exchange(
        *sender,
        {pg_step(bound_sql("SELECT pg_notify('bell', $1)", "one")),
         pg_step(bound_sql("SELECT pg_notify('bell', $1)", "two"))}
    );
    EXPECT_FALSE(sent.first_failure());
    until([&] { return heard.size() == 2; });
    EXPECT_EQ(heard[0].channel, "bell");
    EXPECT_EQ(heard[0].payload + heard[1].payload, "onetwo");
    EXPECT_NE(heard[0].process, 0);
}

TEST_F(PostgresConnection, ALostOneIsFoundAtOnceByWhoListens) {
    const auto on = open();
    on->listen([](const pg_notification&) {});
    world.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
              " WHERE application_name = 'mortise'");
    until([&] { return !on->usable(); });
}

TEST_F(PostgresConnection, CancelsTheStatementThatRunsAndNoOther) {
    const auto on = open();
    std::vector<pg_reply> replies;
    const auto keep = [&](pg_reply reply) { replies.push_back(std::move(reply)); };
    on->exchange({pg_step(bound_sql("SELECT 1"))}, keep);
    const auto slow = on->exchange({pg_step(bound_sql("SELECT pg_sleep(3600)"))}, keep);
    const auto next = on->exchange({pg_step(bound_sql("SELECT pg_sleep(3600), 2"))}, keep);
    on->exchange({pg_step(bound_sql("SELECT 3"))}, keep);
    on->cancel(next);  // waits for its turn
    until([&] { return replies.size() == 1; });
    EXPECT_FALSE(on->was_cancelled());
    EXPECT_TRUE(world.await_running("pg_sleep"));
    on->cancel(slow);
    on->cancel(slow);
    until([&] { return replies.size() == 2; });
    EXPECT_EQ(replies[1].first_failure().code, postgres_error("57014"));
    EXPECT_TRUE(replies[1].cancelled);
    until([&] { return replies.size() >= 3; });
    EXPECT_TRUE(replies[2].cancelled);
    EXPECT_EQ(replies[2].first_failure().code, postgres_error("57014"));
    EXPECT_TRUE(on->was_cancelled());
}

TEST_F(PostgresConnection, IsGivenUpIfACancellationHasNoAnswer) {
    postgres_server own;
    settings = session_world(own).config();
    settings.cancel_max = std::chrono::milliseconds(50);
    const auto on = open();
    std::optional<pg_reply> reply;
    const auto id = on->exchange({pg_step(bound_sql("SELECT pg_sleep(3600)"))}, [&](pg_reply got) {
        reply = std::move(got);
    });
    EXPECT_TRUE(eventually([&] {
        world.context.restart();
        world.context.poll();
        return own.run("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(3600)%'"
                       " AND state = 'active' AND pid <> pg_backend_pid()") == "1";
    }));
    own.suspend();
    on->cancel(id);
    until([&] { return reply.has_value(); });
    EXPECT_EQ(reply->failure.code, errc::store_unavailable);
    EXPECT_FALSE(on->usable());
    own.resume();
}

TEST_F(PostgresConnection, SaysWithWhichWordsTheServerEndedIt) {
    const auto on = open();
    std::optional<pg_reply> reply;
    on->exchange({pg_step(bound_sql("SELECT pg_sleep(3600)"))}, [&](pg_reply got) {
        reply = std::move(got);
    });
    world.context.restart();
    world.context.poll();
    EXPECT_TRUE(world.await_running("pg_sleep"));
    world.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
              " WHERE application_name = 'mortise'");
    until([&] { return reply.has_value(); });
    EXPECT_EQ(reply->failure.code, postgres_error("57P01")) << reply->failure.text;
    EXPECT_TRUE(reply->sent);
    EXPECT_FALSE(on->usable());
    const auto later = exchange(*on, {pg_step(bound_sql("SELECT 1"))});
    EXPECT_EQ(later.failure.code, errc::store_unavailable);
    EXPECT_FALSE(later.sent);
}

TEST_F(PostgresConnection, RefusesCopyInsteadOfHanging) {
    const auto on = open();
    const auto reply = exchange(*on, {pg_step(bound_sql("COPY account TO STDOUT"))});
    EXPECT_EQ(reply.failure.code, errc::unsupported) << reply.failure.text;
}

TEST_F(PostgresConnection, CannotBeOpenedWithWrongSettings) {
    const auto refusal = [&](const db::postgres_config& with) {
        settings = with;
        const auto why = try_open(make());
        EXPECT_EQ(why.text.find("s3cret"), std::string::npos) << why.text;
        return why.code;
    };
    auto config = world.config();
    config.password = "s3cret";
    EXPECT_EQ(refusal(config), errc::access_denied);
    config = world.config();
    config.user = "nobody_known";
    config.password = "s3cret";
    EXPECT_EQ(refusal(config), errc::access_denied);
    config = world.config();
    config.database = "not there";
    EXPECT_EQ(refusal(config), postgres_error("3D000"));
    config = world.config();
    config.tls = true;
    EXPECT_EQ(refusal(config), errc::untrusted_server) << "this server has no TLS";
    const port_reservation nobody;
    config = world.config();
    config.servers = {{"127.0.0.1", nobody.port()}};
    EXPECT_EQ(refusal(config), errc::store_unavailable);
    config.servers = {{"no-such-host.invalid", 5432}};
    EXPECT_EQ(refusal(config), errc::store_unavailable);
    config.servers = {{"no-such-host.invalid", 5432}, {"127.0.0.1", world.server().port()}};
    EXPECT_EQ(refusal(config), error_code()) << "one of the servers is enough";
    config.servers = {{"localhost", world.server().port()}};
    EXPECT_EQ(refusal(config), error_code());
    config.servers = {{world.server().socket_folder().string(), world.server().port()}};
    EXPECT_EQ(refusal(config), error_code());
}

TEST_F(PostgresConnection, TakesThePasswordFromAFileOfLibpq) {
    const scratch_folder scratch;
    settings.passfile = scratch.path() / "passwords";
    std::ofstream(settings.passfile) << "127.0.0.1:*:*:*:" << settings.password << '\n';
    std::filesystem::permissions(settings.passfile, std::filesystem::perms::owner_read);
    settings.password.clear();
    EXPECT_EQ(try_open(make()).code, error_code());
    settings.passfile = scratch.path() / "none";
    EXPECT_EQ(try_open(make()).code, errc::access_denied);
}

TEST_F(PostgresConnection, AForkedChildSaysNothingToTheServer) {
    auto on = open();
    const pid_t child = ::fork();
    if (child == 0) {
        on->drop();
        ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_FALSE(exchange(*on, {pg_step(bound_sql("SELECT 1"))}).first_failure())
        << "the child has not said good-bye in its parent's name";
}

TEST_F(PostgresConnection, ANameThatIsNotFoundInTimeHoldsNobodyUp) {
    slow_name name("slow.example");
    settings.servers = {{"slow.example", world.server().port()}};
    settings.connect_max = std::chrono::milliseconds(500);
    EXPECT_EQ(try_open(make()).code, errc::store_unavailable);
    EXPECT_TRUE(eventually([&] { return name.asked() == 1; })) << "on another thread";
    name.answer();
    settings.connect_max = std::chrono::seconds(60);
    EXPECT_EQ(try_open(make()).code, error_code());
}

TEST_F(PostgresConnection, AServerThatIsSilentIsPassedOverForTheNext) {
    asio::ip::tcp::acceptor silent(world.context, {asio::ip::address_v4::loopback(), 0});
    const auto mute = silent.local_endpoint().port();
    settings.servers = {{"127.0.0.1", mute}, {"127.0.0.1", world.server().port()}};
    settings.connect_max = std::chrono::seconds(3);
    EXPECT_EQ(try_open(make()).code, error_code());
}

TEST_F(PostgresConnection, IsGivenUpIfTheServerIsSilentWhileItOpens) {
    asio::ip::tcp::acceptor silent(world.context, {asio::ip::address_v4::loopback(), 0});
    settings.servers = {{"127.0.0.1", silent.local_endpoint().port()}};
    settings.connect_max = std::chrono::milliseconds(50);
    EXPECT_EQ(try_open(make()).code, errc::store_unavailable);
}

}  // namespace
}  // namespace mortise::test::pg_connection_test
