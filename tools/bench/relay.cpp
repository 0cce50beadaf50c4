// SPDX-License-Identifier: BSL-1.0
#include "bench/bare_kafka.hpp"
#include "bench/measure.hpp"
#include "bench/relay_phases.hpp"
#include "common/await_main.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/kafka/cluster.hpp"
#include "mortise/store_types.hpp"

#include <boost/asio/io_context.hpp>

#include <string>
#include <system_error>
#include <utility>

namespace mortise::tool {
namespace {

void make_topics(const relay_bench& at) {
    asio::io_context context(1);
    kafka::cluster cluster(context.get_executor(), kafka::kafka_config(at.servers));
    const auto make = [&]() -> asio::awaitable<int> {
        for (const auto& name : {at.topic(), at.bare_topic()}) {
            auto making = cluster.async_ensure_topic(kafka::topic_wish(name, at.partitions));
            co_await std::move(making);
        }
        co_return exit_code::success;
    };
    await_main(context, make());
}

/// Creates the topics of a run, and removes them at its end.
class passing_topics {
public:
    explicit passing_topics(const relay_bench& at) : at_(at) { make_topics(at); }
    ~passing_topics() {
        remove_topics(at_.servers, {at_.topic(), at_.bare_topic(), at_.progress()});
    }
    passing_topics(const passing_topics&) = delete;
    passing_topics& operator=(const passing_topics&) = delete;

private:
    const relay_bench& at_;
};

void report_append(bench_report& to, const append_costs& found) {
    to.add("append_us", found.lazy.us, 1, "that a message adds to a transaction of two statements");
    to.add("append_ratio", found.lazy.ratio, 3, "of the time with it to that without");
    to.add("append_forced_us", found.forced.us, 1, "the same, waiting for the disk");
    to.add("append_forced_ratio", found.forced.ratio, 3, "the same, waiting for the disk");
}

void report_throughput(bench_report& to, const relay_throughput& found) {
    const auto rows = static_cast<double>(found.rows);
    to.add("rows_per_s", found.rows_per_s, 1, "out of a table that is full, by all shards");
    to.add("raw_per_s", found.bare_per_s, 1, "by librdkafka alone, as many producers and batches");
    to.add("ratio", found.rows_per_s / found.bare_per_s, 3, "of the two");
    to.add("rows_per_batch", rows / static_cast<double>(found.batches), 1, "that a relay sends");
    to.add(
        "writes_per_row",
        static_cast<double>(found.writes - found.purges) / rows,
        6,
        "transactions of the relay with its database, purges apart"
    );
    to.add("purged_per_s", found.purged_per_s, 1, "rows that it forgets, when it is stopped");
}

void report_inbox(bench_report& to, const inbox_speed& found) {
    to.add(
        "inbox_per_s", found.per_s, 1, "messages that an inbox by offsets receives, 500 a batch"
    );
    to.add("consumed_per_s", found.alone_per_s, 1, "the same by a consumer of librdkafka alone");
    to.add("inbox_ratio", found.per_s / found.alone_per_s, 3, "of the two");
}

void report_latency(bench_report& to, const relay_latency& found) {
    to.add("latency_ms.p50", found.p50_ms, 2, "from a commit to a read_committed consumer, 100/s");
    to.add("latency_ms.p99", found.p99_ms, 2, "the same, one in a hundred is slower");
    to.add("bare_ms", found.bare_ms, 2, "a transaction of librdkafka with one record, median");
    to.add("latency_ratio", found.p50_ms / found.bare_ms, 2, "of the median to that");
    to.add_fault("missing", static_cast<double>(found.missing), "rows that did not arrive");
    to.add_fault("repeated", static_cast<double>(found.repeated), "rows that arrived twice");
}

}  // namespace

bench_report measure_relay(const bench_settings& settings) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(settings.folder, ignored))
        throw failure(
            exit_code::usage, "there is no such folder", settings.folder, "name one by --dir"
        );
    relay_bench at;
    at.servers = settings.kafka;
    at.folder = settings.folder;
    at.name = "mortise-bench-" + random_id::draw().text();
    at.rows = settings.rows;
    at.size = settings.size;
    at.seconds = settings.seconds;
    bench_report report;
    report_append(
        report, measure_append(at.folder, bench_records(at.topic(), at.size), at.seconds)
    );
    const passing_topics topics(at);
    report_throughput(report, measure_throughput(at));
    report_inbox(report, measure_inbox(at));
    report_latency(report, measure_latency(at));
    return report;
}

}  // namespace mortise::tool
