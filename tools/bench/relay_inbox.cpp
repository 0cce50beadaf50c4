// SPDX-License-Identifier: BSL-1.0
#include "bench/bare_kafka.hpp"
#include "bench/bench_files.hpp"
#include "bench/relay_phases.hpp"
#include "bench/run_control.hpp"
#include "common/await_main.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/kafka/inbox_consumer.hpp"
#include "mortise/outbox/inbox.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::chrono::minutes longest(5);
constexpr int poll_ms = 50;

/// Measures the rate of arrivals, from the first to the last.
class stop_watch {
public:
    void saw(std::uint64_t count) {
        const auto now = clock::now();
        if (first_count_ == 0 && count > 0) {
            first_count_ = count;
            first_ = now;
        }
        if (count > last_count_)
            last_ = now;
        last_count_ = count;
    }
    double per_s() const {
        return static_cast<double>(last_count_ - first_count_) /
               std::chrono::duration<double>(last_ - first_).count();
    }

private:
    std::uint64_t first_count_ = 0;
    std::uint64_t last_count_ = 0;
    clock::time_point first_;
    clock::time_point last_;
};

/// Reads the whole topic with a bare librdkafka consumer.
double consume_alone(const relay_bench& at, std::uint64_t rows) {
    const auto handle = open_bare_kafka(
        RD_KAFKA_CONSUMER,
        at.servers,
        {{"group.id", at.name + ".alone"}, {"enable.auto.commit", "false"}}
    );
    rd_kafka_topic_partition_list_t* const all = ::rd_kafka_topic_partition_list_new(at.partitions);
    for (int each = 0; each < at.partitions; ++each)
        ::rd_kafka_topic_partition_list_add(all, at.topic().c_str(), each)->offset =
            RD_KAFKA_OFFSET_BEGINNING;
    const auto failed = ::rd_kafka_assign(handle.get(), all);
    ::rd_kafka_topic_partition_list_destroy(all);
    check_kafka(failed);
    ::rd_kafka_poll_set_consumer(handle.get());
    stop_watch watch;
    const auto end = clock::now() + longest;
    std::uint64_t received = 0;
    while (received < rows && clock::now() < end) {
        rd_kafka_message_t* const next = ::rd_kafka_consumer_poll(handle.get(), poll_ms);
        if (next == nullptr)
            continue;
        if (next->err == RD_KAFKA_RESP_ERR_NO_ERROR)
            ++received;
        ::rd_kafka_message_destroy(next);
        if (received % 500 == 0) {
            interruption::check();
            watch.saw(received);
        }
    }
    ::rd_kafka_consumer_close(handle.get());
    if (received < rows)
        throw failure(exit_code::unavailable, "the topic is not read in time", at.topic());
    return watch.per_s();
}

/// An inbox by offsets with a handler that does nothing, and its consumer.
class reading_site {
public:
    reading_site(const asio::any_io_executor& executor, const relay_bench& at)
        : file_(bench_file(at.folder, "inbox")),
          shop_(std::make_shared<db::sqlite>(executor, database(file_.path()))),
          inbox_(std::make_shared<outbox::inbox>(executor, shop_, handling())),
          consumer_(executor, inbox_, consuming(at)) {}

    std::uint64_t handled() const { return inbox_->stats().handled; }

    asio::awaitable<void> stop() {
        auto leaving = consumer_.async_stop();
        co_await std::move(leaving);
        auto ending = inbox_->async_stop();
        co_await std::move(ending);
        auto closing = shop_->async_stop();
        co_await std::move(closing);
    }

private:
    static db::sqlite_config database(const std::filesystem::path& path) {
        db::sqlite_config config;
        config.path = path;
        return config;
    }
    static outbox::inbox_config handling() {
        outbox::inbox_config config;
        config.handler = [](db::connection&, const outbox::received&) {
            return outbox::answer::done();
        };
        return config;
    }
    static kafka::inbox_consumer_config consuming(const relay_bench& at) {
        kafka::inbox_consumer_config config(
            kafka::kafka_config(at.servers), at.name + ".inbox", {at.topic()}
        );
        config.batch_rows = 500;
        return config;
    }

    const passing_file file_;
    const std::shared_ptr<db::sqlite> shop_;
    const std::shared_ptr<outbox::inbox> inbox_;
    kafka::inbox_consumer consumer_;
};

double receive_all(const relay_bench& at, std::uint64_t rows) {
    asio::io_context context(1);
    reading_site site(context.get_executor(), at);
    stop_watch watch;
    const auto run = [&]() -> asio::awaitable<int> {
        std::exception_ptr failed;
        try {
            co_await await_so(
                [&] {
                    watch.saw(site.handled());
                    return site.handled() >= rows;
                },
                longest
            );
        } catch (...) {
            failed = std::current_exception();
        }
        co_await site.stop();
        if (failed)
            std::rethrow_exception(failed);
        co_return exit_code::success;
    };
    await_main(context, run());
    return watch.per_s();
}

}  // namespace

inbox_speed measure_inbox(const relay_bench& at) {
    progress shown("bench relay, inbox");
    shown.show(0, 1);
    inbox_speed found;
    found.alone_per_s = consume_alone(at, at.rows);
    found.per_s = receive_all(at, at.rows);
    return found;
}

}  // namespace mortise::tool
