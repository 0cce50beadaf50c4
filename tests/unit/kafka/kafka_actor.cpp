// SPDX-License-Identifier: BSL-1.0
// A process that consumes until there is nothing more, for tests that kill it.
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/kafka/inbox_consumer.hpp"
#include "mortise/kafka/processor.hpp"
#include "mortise/outbox/inbox.hpp"
#include "support/actor_program.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// ADDRESS GROUP TOPIC DATABASE COUNT
class consuming {
public:
    consuming(asio::io_context& context, std::vector<std::string> words)
        : context_(context), words_(std::move(words)) {
        if (words_.size() != 5)
            throw std::runtime_error("from where, and into what?");
    }

    asio::awaitable<void> run() {
        db::sqlite_config config;
        config.path = words_[3];
        session_ = std::make_shared<db::sqlite>(context_.get_executor(), std::move(config));
        const auto make = [](db::connection& on) {
            on.run("CREATE TABLE IF NOT EXISTS book(key TEXT NOT NULL, line TEXT NOT NULL)");
        };
        auto making = session_->async_run(make);
        co_await std::move(making);
        outbox::inbox_config how;
        how.handler = [](db::connection& on, const outbox::received& received) {
            on.run(
                "INSERT INTO book(key, line) VALUES(?1, ?2)",
                std::string_view(*received.message.key),
                std::string_view(*received.message.payload)
            );
            return outbox::answer::done();
        };
        const auto executor = context_.get_executor();
        const auto inbox = std::make_shared<outbox::inbox>(executor, session_, std::move(how));
        kafka::inbox_consumer consumer(executor, inbox, from());
        const auto time = coro::make_boot_time_source(executor);
        for (;;) {
            auto counting = count();
            if (co_await std::move(counting) >= std::stoll(words_[4]))
                break;
            auto sleeping = coro::sleep_for(*time, 5ms);
            co_await std::move(sleeping);
        }
        auto ending = consumer.async_stop();
        co_await std::move(ending);
        auto closing = inbox->async_stop();
        co_await std::move(closing);
    }

private:
    kafka::inbox_consumer_config from() const {
        kafka::inbox_consumer_config config;
        config.cluster.bootstrap_servers = words_[0];
        config.group = words_[1];
        config.topics = {words_[2]};
        config.cluster.settings = {
            {"session.timeout.ms", "1000"},
            {"heartbeat.interval.ms", "100"},
            {"fetch.wait.max.ms", "50"}};
        config.batch_rows = 7;
        config.tell_group_after = 1ms;
        return config;
    }
    asio::awaitable<std::int64_t> count() {
        const auto work = [](db::connection& on) {
            auto row = on.query("SELECT count(*) FROM book");
            row.step();
            return row.integer(0);
        };
        auto counting = session_->async_read(work);
        co_return co_await std::move(counting);
    }

    asio::io_context& context_;
    const std::vector<std::string> words_;
    std::shared_ptr<db::sqlite> session_;
};

/// ADDRESS GROUP FROM "process" TO: until it is killed.
int process(const std::vector<std::string>& words) {
    asio::io_context context(1);
    kafka::processor_config how;
    how.cluster.bootstrap_servers = words[0];
    how.cluster.settings = {
        {"session.timeout.ms", "1000"},
        {"heartbeat.interval.ms", "100"},
        {"fetch.wait.max.ms", "50"},
        {"auto.offset.reset", "earliest"}};
    how.group = words[1];
    how.topics = {words[2]};
    how.transactional_id = words[1];
    how.batch_rows = 7;
    how.handler = [to = words[4]](const kafka::consumed_record& record
                  ) -> asio::awaitable<std::vector<kafka::record>> {
        std::vector<kafka::record> results;
        results.emplace_back(to, record.key, record.value);
        co_return results;
    };
    const kafka::processor processor(context.get_executor(), how);
    const auto busy = asio::make_work_guard(context);
    context.run();
    return 0;
}

int run(const actor_words& words) {
    if (words.size() == 5 && words[3] == "process")
        return process(words);
    asio::io_context context(1);
    consuming actor(context, words);
    return run_to_end_of(context, actor.run());
}

}  // namespace
}  // namespace mortise::test

int main(int argc, char** argv) {
    return mortise::test::actor_main(argc, argv, &mortise::test::run);
}
