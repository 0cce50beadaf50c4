// SPDX-License-Identifier: BSL-1.0
// A process of a shop whose messages go to Kafka. One writes, another sends:
//
//     relay_actor FOLDER write topic=T [transactions=N] [rows=N] [pause=MS] [lazy=1] [huge=N]
//     relay_actor FOLDER reshard shards=N
//     relay_actor FOLDER relay servers=HOST:PORT progress=T [drain=1] [locks=URL] [...]
//
// Each transaction of the first makes some sales and appends a message for each; one in seven is
// rolled back. With `huge=N`, transaction N also appends a message that is too large to send. The
// last sends until SIGTERM, or until all is sent, and prints each event on a line.
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/kafka/kafka_sink.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"
#include "mortise/outbox/append.hpp"
#include "mortise/outbox/operate.hpp"
#include "mortise/outbox/relay.hpp"
#include "support/actor_program.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t keys = 16;

class relay_actor {
public:
    relay_actor(std::filesystem::path folder, actor_settings given)
        : database_(folder / "shop.db"), given_(std::move(given)) {}

    /// @return the exit code
    int run(asio::awaitable<void> (relay_actor::*action)()) {
        return run_to_end_of(context_, (this->*action)());
    }

    asio::awaitable<void> write() {
        open();
        const auto make = [](db::connection& on) {
            on.run("CREATE TABLE IF NOT EXISTS sale(n INTEGER PRIMARY KEY AUTOINCREMENT,"
                   " key TEXT NOT NULL)");
        };
        auto making = session_->async_run(make);
        co_await std::move(making);
        const auto how = number("lazy", 0) != 0 ? db::durability::lazy : db::durability::force;
        const auto count = number("transactions", 60);
        const auto time = coro::make_boot_time_source(context_.get_executor());
        const auto begin = time->now();
        for (std::int64_t i = 0; i < count; ++i) {
            const auto work = [this, i](db::connection& on) { sell(on, i); };
            auto selling = session_->async_run(work, how, asio::as_tuple(asio::deferred));
            co_await std::move(selling);  // some sales fail
            // Keep an even pace, also after a delay.
            const auto due = begin + std::chrono::milliseconds(number("pause", 0)) * (i + 1);
            if (due > time->now()) {
                auto sleeping = coro::sleep_for(*time, due - time->now());
                co_await std::move(sleeping);
            }
        }
        auto ending = session_->async_stop();
        co_await std::move(ending);
    }

    asio::awaitable<void> reshard() {
        open();
        const auto work = [shards = number("shards", 4)](db::connection& on) {
            outbox::reshard(on, static_cast<std::uint32_t>(shards));
        };
        auto changing = session_->async_run(work, db::durability::force);
        co_await std::move(changing);
    }

    asio::awaitable<void> relay() {
        outbox::relay relay(context_.get_executor(), relay_config());
        if (number("drain", 0) != 0) {
            auto draining = relay.async_drained();
            co_await std::move(draining);
        } else {
            asio::signal_set signals(context_, SIGTERM);
            auto waiting = signals.async_wait(asio::deferred);
            co_await std::move(waiting);
        }
        auto ending = relay.async_stop();
        co_await std::move(ending);
    }

private:
    std::int64_t number(const char* name, std::int64_t otherwise) const {
        const auto found = given_.find(name);
        return found == given_.end() ? otherwise : std::stoll(found->second);
    }
    std::chrono::milliseconds milliseconds(const char* name, std::int64_t otherwise) const {
        return std::chrono::milliseconds(number(name, otherwise));
    }

    void open() {
        db::sqlite_config config;
        config.path = database_;
        session_ = std::make_shared<db::sqlite>(context_.get_executor(), std::move(config));
    }

    void sell(db::connection& on, std::int64_t i) const {
        const bool regrets = i % 7 == 6;
        if (i == number("huge", -1))
            outbox::append(on, outbox::message(given_.at("topic"), "huge", too_much()));
        for (std::int64_t row = 0; row < number("rows", 2); ++row) {
            const std::string key = std::to_string((i * 5 + row) % keys);
            on.run("INSERT INTO sale(key) VALUES(?1)", std::string_view(key));
            auto last = on.query("SELECT last_insert_rowid()");
            last.step();
            // SQLite reuses the number of a row that is rolled back.
            const std::string payload = regrets ? "never" : std::to_string(last.integer(0));
            outbox::append(on, outbox::message(given_.at("topic"), key, payload));
        }
        MORTISE_CRASH_POINT("shop.appended");
        if (regrets)
            throw std::runtime_error("the customer has changed his mind");
    }

    static std::string too_much() { return std::string(1'200'000, 'x'); }

    outbox::relay_config relay_config() {
        kafka::kafka_sink_config sink((kafka::kafka_config(given_.at("servers"))));
        sink.cluster.settings = {
            {"linger.ms", "0"},
            {"reconnect.backoff.ms", "20"},
            {"reconnect.backoff.max.ms", "100"},
            {"message.max.bytes", std::to_string(number("message_max", 1'000'000))},
            {"transaction.timeout.ms", std::to_string(number("transaction", 10'000))}};
        sink.cluster.commit_wait_max = milliseconds("commit", 30'000);
        sink.progress_topic = given_.at("progress");
        sink.progress_partitions = 6;
        outbox::relay_config how;
        how.database = database_;
        how.sink = kafka::make_kafka_sink(sink);
        how.batch_rows = static_cast<std::size_t>(number("batch", 7));
        how.purge_rows = static_cast<std::size_t>(number("purge", 20));
        how.purge_after = milliseconds("purge_after", 5);
        how.retry_first = 1ms;
        how.retry_max = milliseconds("retry_max", 200);
        how.observer = [](const outbox::relay_event& event) {
            std::printf(
                "%s %u %lld %s: %s\n",
                std::string(to_string(event.type)).c_str(),
                event.shard,
                static_cast<long long>(event.row),
                event.code ? event.code.message().c_str() : "-",
                event.text.c_str()
            );
            std::fflush(stdout);
        };
        if (const auto locks = given_.find("locks"); locks != given_.end()) {
            client_config patience;
            patience.ttl = 1s;
            how.locks = std::make_shared<lock_client>(
                context_.get_executor(), open_store(locks->second), patience
            );
        }
        return how;
    }

    asio::io_context context_{1};
    const std::filesystem::path database_;
    const actor_settings given_;
    std::shared_ptr<db::sqlite> session_;
};

int run(const actor_words& words) {
    if (words.size() < 2)
        throw std::runtime_error("what?");
    relay_actor actor(words[0], settings_among(words));
    if (words[1] == "write")
        return actor.run(&relay_actor::write);
    if (words[1] == "reshard")
        return actor.run(&relay_actor::reshard);
    if (words[1] == "relay")
        return actor.run(&relay_actor::relay);
    throw std::runtime_error("nobody can " + words[1]);
}

}  // namespace
}  // namespace mortise::test

int main(int argc, char** argv) {
    return mortise::test::actor_main(argc, argv, &mortise::test::run);
}
