// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_WORK_HPP
#define MORTISE_TOOLS_BENCH_WORK_HPP

#include "bench/bench_board.hpp"
#include "mortise/lock_client.hpp"
#include "settings.hpp"

#include <boost/asio/awaitable.hpp>

#include <span>
#include <string>

namespace mortise::tool {

/// What one process of a measurement has at hand.
struct bench_work {
    lock_client& locks;
    const bench_worker_settings& settings;
    bench_board::counters& shared;
    std::span<contend_record> records;
};

/// Acquires `name`, waiting for ever. @throws failure.
asio::awaitable<lease> acquire_for_bench(lock_client& locks, const std::string& name);

/// Releases. @throws failure.
asio::awaitable<void> release_for_bench(lock_client& locks, lease& held);

/// Keeps this process, and all threads that it starts later, to one of its processors: the next one
/// for each index. Left alone, the scheduler puts two processes that only wait for each other on
/// one processor or on two, as it likes, and the limit differs by a factor of twenty between the
/// two.
void keep_to_one_processor(unsigned index);

/// Two coroutines acquire and release one lock in a loop, and count the grants that came from
/// another process.
asio::awaitable<void> pass_to_and_fro(bench_work work);

/// Sends datagrams to and fro for a second, without locks, blocking: the limit of this machine.
void ping_to_and_fro(const bench_work& work);

/// The same by publishing at a Redis server, by the store's own client library.
void publish_to_and_fro(const bench_work& work, const std::string& store);

/// Acquires and releases one lock, which lingers, in a loop, and counts.
asio::awaitable<void> acquire_again_and_again(bench_work work);

/// Where the process that lingers is heard, and where it hears, once it only echoes.
std::string echo_channel_from(const std::string& lock);
std::string echo_channel_to(const std::string& lock);

/// Sends back what is published for it at the Redis server of the store, until the end is.
void echo_messages(const bench_work& work, const std::string& store);

/// All tasks of one process of `bench contend`, until all acquisitions are done.
asio::awaitable<void> contend_for_lock(bench_work work);

}  // namespace mortise::tool

#endif
