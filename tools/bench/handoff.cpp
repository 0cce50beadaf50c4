// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_crew.hpp"
#include "bench/bench_worker.hpp"
#include "bench/measure.hpp"
#include "bench/run_control.hpp"
#include "bench/server_meter.hpp"
#include "common/default_store.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/task_scope.hpp"

#include <boost/asio/this_coro.hpp>

#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace mortise::tool {
namespace {

constexpr std::chrono::seconds ping_time{1};
constexpr char ping = 'p';
constexpr char last_ping = 'q';

void send_ping(int socket, char byte) {
    if (::send(socket, &byte, 1, MSG_NOSIGNAL) != 1)
        throw failure::of_errno("the other process of the measurement is gone");
}

char receive_ping(int socket) {
    char byte = 0;
    ssize_t got = 0;
    do {
        got = ::recv(socket, &byte, 1, 0);
    } while (got < 0 && errno == EINTR);
    if (got != 1)
        throw failure::of_errno("the other process of the measurement is gone");
    return byte;
}

}  // namespace

void keep_to_one_processor(unsigned index) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;  // too many processors for the set: let the scheduler choose
    const auto count = static_cast<unsigned>(CPU_COUNT(&allowed));
    unsigned place = index % count;
    for (std::size_t processor = 0; processor < CPU_SETSIZE; ++processor) {
        if (!CPU_ISSET(processor, &allowed) || place-- != 0)
            continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        ::sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

namespace {

asio::awaitable<void> pass_on(const bench_work& work) {
    const std::uint32_t me = work.settings.index + 1;
    while (work.shared.stop.load(std::memory_order_relaxed) == 0) {
        lease held = co_await acquire_for_bench(work.locks, work.settings.lock);
        if (work.shared.last_holder.exchange(me, std::memory_order_relaxed) != me)
            work.shared.handoffs.fetch_add(1, std::memory_order_relaxed);
        co_await release_for_bench(work.locks, held);
    }
}

}  // namespace

asio::awaitable<void> pass_to_and_fro(bench_work work) {
    // Two tasks: after a release the other one keeps this process in the queue.
    constexpr unsigned tasks = 2;
    const auto executor = co_await asio::this_coro::executor;
    coro::task_scope workers(executor);
    for (unsigned i = 0; i < tasks; ++i)
        workers.spawn(pass_on(work));
    co_await workers.join();
}

void ping_to_and_fro(const bench_work& work) {
    const int socket = work.settings.peer;
    // Time out if the peer dies: a datagram socket has no end to read.
    const timeval patience{10, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (work.settings.index != 0) {
        for (char byte = ping; byte != last_ping;) {
            byte = receive_ping(socket);
            send_ping(socket, byte);
        }
        return;
    }
    send_ping(socket, ping);  // the peer may still be stopping its client
    receive_ping(socket);
    const clock::time_point begin = clock::now();
    const clock::time_point end = begin + ping_time;
    std::uint64_t pings = 0;
    while (clock::now() < end) {
        send_ping(socket, ping);
        receive_ping(socket);
        pings += 2;
    }
    const clock::duration took = clock::now() - begin;
    send_ping(socket, last_ping);
    receive_ping(socket);
    work.shared.pings.store(pings);
    work.shared.ping_ns.store(took.count());
}

void publish_to_and_fro(const bench_work& work, const std::string& store) {
    const auto meter = server_meter::of(store);
    if (!meter)
        return;  // sentinels: no limit to compare with
    const int socket = work.settings.peer;
    const auto channel_of = [&](unsigned index) {
        return work.settings.lock + ":echo:" + std::to_string(index);
    };
    meter->subscribe(channel_of(work.settings.index));
    send_ping(socket, ping);  // we are subscribed,
    receive_ping(socket);     // and so is the peer
    if (work.settings.index != 0)
        return meter->echo_back(channel_of(0));
    const echo_count found = meter->echo_for(channel_of(1), ping_time);
    work.shared.pings.store(found.one_way);
    work.shared.ping_ns.store(found.took.count());
}

namespace {

using std::chrono::milliseconds;

constexpr milliseconds handoff_warm_up{300};
constexpr milliseconds handoff_end_max{30'000};

double seconds_of(clock::duration time) {
    return std::chrono::duration<double>(time).count();
}

}  // namespace

bench_report measure_handoff(const std::string& store, const bench_settings& settings) {
    const bench_board board = bench_board::create(0);
    bench_board::counters& shared = board.shared();
    bench_crew crew(store, settings, board);
    crew.begin();
    crew.run_for(handoff_warm_up);
    progress shown("bench handoff, seconds");
    const std::uint64_t first = shared.handoffs.load();
    const clock::time_point begin = clock::now();
    for (unsigned second = 0; second < settings.seconds; ++second) {
        shown.show(second, settings.seconds);
        crew.run_for(milliseconds(1'000));
    }
    const std::uint64_t last = shared.handoffs.load();
    const double seconds = seconds_of(clock::now() - begin);
    shared.stop.store(1);
    if (!crew.wait_end(handoff_end_max))
        throw failure(exit_code::unavailable, "the processes of the measurement do not end");
    crew.check();

    const double rate = static_cast<double>(last - first) / seconds;
    std::optional<double> limit;
    if (const std::uint64_t pings = shared.pings.load())
        limit = static_cast<double>(pings) * 1e9 / static_cast<double>(shared.ping_ns.load());
    if (const auto meter = server_meter::of(store))
        meter->clean_up();
    bench_report report;
    report.add("handoffs_per_s", rate, 1, "the lock passed from one process to another");
    report.add(
        "limit_per_s",
        limit,
        1,
        sqlite_path(store) ? "bare datagrams, one way, between two of these processes"
                           : "messages by the same means of the server, one way, likewise"
    );
    report.add("ratio", limit ? std::optional(rate / *limit) : std::nullopt, 3, "of the two");
    return report;
}

}  // namespace mortise::tool
