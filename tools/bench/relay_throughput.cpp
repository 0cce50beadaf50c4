// SPDX-License-Identifier: BSL-1.0
#include "bench/bare_kafka.hpp"
#include "bench/bench_files.hpp"
#include "bench/relay_phases.hpp"
#include "bench/relay_site.hpp"
#include "bench/run_control.hpp"
#include "common/await_main.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/coro/clock.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::tool {
namespace {

constexpr unsigned turns = 4;
constexpr std::uint64_t first_rows = 2'000;

/// A producer for each shard, each with its share of the rows.
class bare_crew {
public:
    bare_crew(const relay_bench& at, std::size_t shards) : records_(at.bare_topic(), at.size) {
        for (std::size_t i = 0; i < shards; ++i)
            crew_.push_back(
                std::make_unique<bare_producer>(at.servers, at.name + ".bare." + std::to_string(i))
            );
    }

    /// @throws failure
    void send(std::uint64_t rows, std::uint64_t batch_max) {
        std::vector<std::exception_ptr> failed(crew_.size());
        std::vector<std::thread> threads;
        const std::uint64_t share = rows / crew_.size();
        for (std::size_t i = 0; i < crew_.size(); ++i) {
            threads.emplace_back([&, i] {
                try {
                    for (std::uint64_t sent = 0; sent < share; sent += batch_max)
                        crew_[i]->send(
                            records_, i * share + sent, std::min(batch_max, share - sent)
                        );
                } catch (...) {
                    failed[i] = std::current_exception();
                }
            });
        }
        for (auto& each : threads)
            each.join();
        for (const auto& each : failed) {
            if (each)
                std::rethrow_exception(each);
        }
    }

private:
    const bench_records records_;
    std::vector<std::unique_ptr<bare_producer>> crew_;
};

double seconds_of(clock::duration span) {
    return std::chrono::duration<double>(span).count();
}

asio::awaitable<clock::duration> drain(relay_site& site, std::uint64_t rows) {
    co_await site.settle();
    co_await site.append(rows);
    const auto begin = clock::now();
    co_await site.relay().async_drained();
    co_return clock::now() - begin;
}

}  // namespace

relay_throughput measure_throughput(const relay_bench& at) {
    const passing_file file(bench_file(at.folder, "relay"));
    relay_throughput found;
    asio::io_context context(1);
    relay_site site(context.get_executor(), at, file.path());
    const std::uint64_t rows = at.rows / turns;
    const auto work = [&]() -> asio::awaitable<void> {
        co_await drain(site, first_rows);
        const auto before = site.sums();
        bare_crew bare(at, before.shards);
        bare.send(first_rows, first_rows);
        progress shown("bench relay, turns");
        clock::duration took{};
        clock::duration took_bare{};
        for (unsigned turn = 0; turn < turns; ++turn) {
            shown.show(turn, turns);
            interruption::check();
            took += co_await drain(site, rows);
            const auto begin = clock::now();
            bare.send(rows, site.batch_rows());
            took_bare += clock::now() - begin;
        }
        const auto after = site.sums();
        found.rows = after.messages - before.messages;
        found.batches = after.batches - before.batches;
        found.writes = after.writes - before.writes;
        found.purges = after.purges - before.purges;
        if (found.rows != rows * turns)
            throw failure(
                exit_code::unavailable,
                "the relay has not sent all of its rows",
                std::to_string(found.rows) + " of " + std::to_string(rows * turns),
                "see what the broker says of the topic"
            );
        found.rows_per_s = static_cast<double>(found.rows) / seconds_of(took);
        found.bare_per_s = static_cast<double>(rows * turns) / seconds_of(took_bare);
    };
    await_main(context, site.run(work()));
    found.purged_per_s = static_cast<double>(site.sums().purged) / seconds_of(site.stop_took());
    return found;
}

}  // namespace mortise::tool
