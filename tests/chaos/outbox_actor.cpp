// SPDX-License-Identifier: BSL-1.0
// A process of a shop, or of its shippers:
//
//     outbox_actor FOLDER sell count=N [locks=URL] [seconds=N]
//     outbox_actor FOLDER ship
//     outbox_actor FOLDER take_back
//
// The first sells `count` things and has its messages sent to files in FOLDER/events; some of the
// sales are rolled back. The second receives those messages in an inbox, and reports what it
// refuses to ship in FOLDER/refusals. The third takes back what was refused.
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"
#include "mortise/outbox/append.hpp"
#include "mortise/outbox/file_sink.hpp"
#include "mortise/outbox/inbox.hpp"
#include "mortise/outbox/relay.hpp"
#include "support/actor_program.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;
using outbox::answer;
using outbox::message;
using outbox::received;

constexpr int keys = 16;
constexpr std::uint32_t shards = 4;  // the default of a table

class outbox_actor {
public:
    outbox_actor(std::filesystem::path folder, actor_settings given)
        : folder_(std::move(folder)), given_(std::move(given)) {}

    /// @return the exit code
    int run(asio::awaitable<void> (outbox_actor::*action)()) {
        return run_to_end_of(context_, (this->*action)());
    }

    asio::awaitable<void> sell() {
        open(
            "shop.db",
            "CREATE TABLE IF NOT EXISTS sale(n INTEGER PRIMARY KEY AUTOINCREMENT,"
            " key TEXT NOT NULL, taken_back INTEGER NOT NULL DEFAULT 0)"
        );
        relay_to("events");
        const int count = std::stoi(given_.at("count"));
        for (int i = 0; i < count; ++i) {
            const auto work = [i](db::connection& on) { sell_one(on, i); };
            auto selling =
                session_->async_run(work, db::durability::force, asio::as_tuple(asio::deferred));
            co_await std::move(selling);  // some sales fail
        }
        auto waiting = relay_->async_drained();
        co_await std::move(waiting);
        auto ending = relay_->async_stop();
        co_await std::move(ending);
    }

    asio::awaitable<void> ship() {
        open(
            "ship.db", "CREATE TABLE IF NOT EXISTS shipped(n INTEGER NOT NULL, key TEXT NOT NULL)"
        );
        relay_to("refusals");
        auto receiving = receive("events", [this](db::connection& on, const received& received) {
            return ship_one(on, received);
        });
        co_await std::move(receiving);
        auto waiting = relay_->async_drained();
        co_await std::move(waiting);
        auto ending = relay_->async_stop();
        co_await std::move(ending);
    }

    asio::awaitable<void> take_back() {
        open("shop.db", "SELECT 1");
        auto receiving = receive("refusals", [](db::connection& on, const received& received) {
            on.run(
                "UPDATE sale SET taken_back = taken_back + 1 WHERE n = ?1",
                std::stoll(*received.message.payload)
            );
            return answer::done();
        });
        co_await std::move(receiving);
    }

private:
    void open(const char* name, const char* make) {
        db::sqlite_config config;
        config.path = folder_ / name;
        session_ = std::make_shared<db::sqlite>(context_.get_executor(), std::move(config));
        session_->async_run(
            [make = std::string(make)](db::connection& on) {
                if (make.starts_with("CREATE"))
                    on.run(make);
            },
            db::durability::force,
            [](error_code failed) {
                if (failed)
                    std::printf("no table: %s\n", failed.message().c_str());
            }
        );
    }

    void relay_to(const char* where) {
        outbox::relay_config how;
        how.database = session_->path();
        how.sink = outbox::make_file_sink(folder_ / where, {.file_bytes = 400});
        how.batch_rows = 7;
        how.purge_rows = 20;
        how.purge_after = 5ms;
        how.retry_first = 1ms;
        how.retry_max = 20ms;
        if (const auto locks = given_.find("locks"); locks != given_.end()) {
            client_config patience;
            patience.ttl = 1s;
            how.locks = std::make_shared<lock_client>(
                context_.get_executor(), open_store(locks->second), patience
            );
        }
        relay_ = std::make_unique<outbox::relay>(context_.get_executor(), std::move(how));
    }

    static void sell_one(db::connection& on, int i) {
        const std::string key = std::to_string(i % keys);
        on.run("INSERT INTO sale(key) VALUES(?1)", std::string_view(key));
        outbox::append(on, message("sales", key, std::to_string(on_last(on))));
        MORTISE_CRASH_POINT("shop.appended");
        if (i % 7 == 6)
            throw std::runtime_error("the customer has changed his mind");
    }
    static std::int64_t on_last(db::connection& on) {
        auto row = on.query("SELECT max(n) FROM sale");
        row.step();
        return row.integer(0);
    }

    answer ship_one(db::connection& on, const received& received) {
        const auto n = std::stoll(*received.message.payload);
        on.run(
            "INSERT INTO shipped(n, key) VALUES(?1, ?2)", n, std::string_view(*received.message.key)
        );
        if (n % 13 == 5 && tried_.insert(n).second)
            throw std::runtime_error("no van is free");
        if (n % 10 == 3)
            return answer::refused(message("refusals", received.message.key, std::to_string(n)));
        return answer::done();
    }

    // Receives all messages in the files, a few at a time. Ends when no message is held any longer.
    asio::awaitable<void> receive(std::string from, outbox::inbox_handler handler) {
        outbox::inbox_config how;
        how.name = from;
        how.handler = std::move(handler);
        how.retry_first = 1ms;
        how.retry_max = 10ms;
        outbox::inbox inbox(context_.get_executor(), session_, std::move(how));
        auto asking = inbox.async_positions();
        const auto known = co_await std::move(asking);
        for (std::uint32_t shard = 0; shard < shards; ++shard) {
            const std::string source = std::to_string(shard);
            const auto begin = known.contains(source) ? known.at(source) : 0;
            // Deliver one message again, as happens after a crash.
            const auto after = std::max<std::int64_t>(begin - 2, 0);
            const auto all = outbox::read_message_files(folder_ / from, shard, after);
            for (auto each = all.begin(); each != all.end();) {
                std::vector<received> some;
                for (; some.size() < 5 && each != all.end(); ++each)
                    some.emplace_back(source, each->row, each->message);
                auto delivering = inbox.async_receive(std::move(some));
                co_await std::move(delivering);
            }
        }
        const auto time = coro::make_boot_time_source(context_.get_executor());
        for (;;) {
            auto counting = held();
            if (co_await std::move(counting) == 0)
                break;
            auto sleeping = coro::sleep_for(*time, 2ms);
            co_await std::move(sleeping);
        }
        auto ending = inbox.async_stop();
        co_await std::move(ending);
    }

    asio::awaitable<std::int64_t> held() {
        const auto work = [](db::connection& on) {
            auto row = on.query("SELECT count(*) FROM mortise_inbox_held");
            row.step();
            return row.integer(0);
        };
        auto counting = session_->async_read(work);
        co_return co_await std::move(counting);
    }

    asio::io_context context_{1};
    const std::filesystem::path folder_;
    const actor_settings given_;
    std::shared_ptr<db::sqlite> session_;
    std::unique_ptr<outbox::relay> relay_;
    std::set<std::int64_t> tried_;
};

int run(const actor_words& words) {
    if (words.size() < 2)
        throw std::runtime_error("what?");
    outbox_actor actor(words[0], settings_among(words));
    if (words[1] == "sell")
        return actor.run(&outbox_actor::sell);
    if (words[1] == "ship")
        return actor.run(&outbox_actor::ship);
    if (words[1] == "take_back")
        return actor.run(&outbox_actor::take_back);
    throw std::runtime_error("nobody can " + words[1]);
}

}  // namespace
}  // namespace mortise::test

int main(int argc, char** argv) {
    return mortise::test::actor_main(argc, argv, &mortise::test::run);
}
