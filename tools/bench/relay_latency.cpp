// SPDX-License-Identifier: BSL-1.0
#include "bench/bare_kafka.hpp"
#include "bench/bench_files.hpp"
#include "bench/bench_report.hpp"
#include "bench/relay_phases.hpp"
#include "bench/relay_site.hpp"
#include "bench/run_control.hpp"
#include "common/await_main.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::tool {
namespace {

constexpr int look_ms = 50;

/// Reads the records committed to a topic from now on, on its own thread, and notes when each
/// arrived.
class arrivals {
public:
    /// @throws failure
    arrivals(const std::string& servers, const std::string& topic, int partitions);
    ~arrivals();
    arrivals(const arrivals&) = delete;
    arrivals& operator=(const arrivals&) = delete;

    std::size_t count() const;
    /// The arrival times by the records' numbers. For a record that came twice: the first time.
    std::map<std::uint64_t, clock::time_point> take();
    std::size_t repeated() const;

private:
    void read();

    const bare_kafka handle_;
    mutable std::mutex mutex_;
    std::map<std::uint64_t, clock::time_point> times_;
    std::size_t repeated_ = 0;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

arrivals::arrivals(const std::string& servers, const std::string& topic, int partitions)
    : handle_(open_bare_kafka(
          RD_KAFKA_CONSUMER, servers, {{"group.id", topic}, {"enable.auto.commit", "false"}}
      )) {
    rd_kafka_topic_partition_list_t* const all =
        ::rd_kafka_topic_partition_list_new(std::max(partitions, 1));
    for (int each = 0; each < partitions; ++each) {
        auto* const added = ::rd_kafka_topic_partition_list_add(all, topic.c_str(), each);
        std::int64_t first = 0;
        std::int64_t end = 0;
        ::rd_kafka_query_watermark_offsets(
            handle_.get(), topic.c_str(), each, &first, &end, kafka_patience_ms
        );
        added->offset = end;
    }
    const auto failed = ::rd_kafka_assign(handle_.get(), all);
    ::rd_kafka_topic_partition_list_destroy(all);
    check_kafka(failed);
    ::rd_kafka_poll_set_consumer(handle_.get());
    thread_ = std::thread([this] { read(); });
}

arrivals::~arrivals() {
    stopping_ = true;
    thread_.join();
    ::rd_kafka_consumer_close(handle_.get());
}

void arrivals::read() {
    while (!stopping_) {
        rd_kafka_message_t* const message = ::rd_kafka_consumer_poll(handle_.get(), look_ms);
        const auto when = clock::now();
        if (message == nullptr)
            continue;
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            const char* const text = static_cast<const char*>(message->payload);
            std::uint64_t number = 0;
            std::from_chars(text, text + message->len, number);
            const std::lock_guard hold(mutex_);
            repeated_ += !times_.emplace(number, when).second;
        }
        ::rd_kafka_message_destroy(message);
    }
}

std::size_t arrivals::count() const {
    const std::lock_guard hold(mutex_);
    return times_.size();
}

std::size_t arrivals::repeated() const {
    const std::lock_guard hold(mutex_);
    return repeated_;
}

std::map<std::uint64_t, clock::time_point> arrivals::take() {
    const std::lock_guard hold(mutex_);
    return std::exchange(times_, {});
}

using std::chrono::milliseconds;

constexpr std::uint64_t rows_per_second = 100;
constexpr milliseconds pace(1'000 / rows_per_second);
constexpr std::uint64_t warm_up_rows = 100;
constexpr int bare_transactions = 100;
// The broker ends a transaction after it has acknowledged the end, and begins the next one only
// then. This pause keeps that work out of the measured time.
constexpr milliseconds bare_pause{50};
constexpr milliseconds last_max{30'000};

double ms_of(clock::duration span) {
    return std::chrono::duration<double, std::milli>(span).count();
}

double bare_transaction_ms(const relay_bench& at) {
    bare_producer alone(at.servers, at.name + ".one");
    const bench_records records(at.bare_topic(), at.size);
    std::vector<double> took;
    for (int i = 0; i < bare_transactions; ++i) {
        interruption::check();
        std::this_thread::sleep_for(bare_pause);
        const auto begin = clock::now();
        alone.send(records, static_cast<std::uint64_t>(i), 1);
        took.push_back(ms_of(clock::now() - begin));
    }
    took.erase(took.begin(), took.begin() + bare_transactions / 10);
    return quantile(took, 0.5);
}

/// Commits each row at its planned time, however long the previous commit took.
asio::awaitable<void> append_in_time(
    relay_site& site, std::uint64_t rows, std::map<std::uint64_t, clock::time_point>& committed
) {
    const auto time = coro::make_boot_time_source(co_await asio::this_coro::executor);
    auto next = time->now();
    for (std::uint64_t i = 0; i < rows; ++i) {
        interruption::check();
        next += pace;
        co_await coro::sleep_until(*time, next);
        const std::uint64_t number = site.appended();
        co_await site.append(1);
        committed.emplace(number, clock::now());
    }
}

}  // namespace

relay_latency measure_latency(const relay_bench& at) {
    const passing_file file(bench_file(at.folder, "latency"));
    relay_latency found;
    progress shown("bench relay, latency");
    shown.show(0, 1);
    found.bare_ms = bare_transaction_ms(at);
    asio::io_context context(1);
    relay_site site(context.get_executor(), at, file.path());
    std::map<std::uint64_t, clock::time_point> committed;
    const auto work = [&]() -> asio::awaitable<void> {
        co_await site.append(warm_up_rows);
        co_await site.relay().async_drained();
        arrivals seen(at.servers, at.topic(), at.partitions);
        std::map<std::uint64_t, clock::time_point> ignored;
        co_await append_in_time(site, warm_up_rows, ignored);
        co_await append_in_time(site, at.seconds * rows_per_second, committed);
        co_await await_so(
            [&] { return seen.count() >= ignored.size() + committed.size(); }, last_max
        );
        std::vector<double> took;
        const auto arrival_times = seen.take();
        for (const auto& [number, when] : committed) {
            const auto arrived = arrival_times.find(number);
            if (arrived == arrival_times.end())
                ++found.missing;
            else
                took.push_back(ms_of(arrived->second - when));
        }
        found.p50_ms = quantile(took, 0.5);
        found.p99_ms = quantile(took, 0.99);
        found.repeated = seen.repeated();
    };
    await_main(context, site.run(work()));
    return found;
}

}  // namespace mortise::tool
