// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_BENCH_WORKER_HPP
#define MORTISE_TOOLS_BENCH_BENCH_WORKER_HPP

#include "bench/bench_crew.hpp"
#include "common/settings.hpp"
#include "mortise/lock_client.hpp"

#include <boost/asio/awaitable.hpp>

#include <span>
#include <string>

namespace mortise::tool {

/// The objects that one process of a measurement uses.
struct bench_work {
    lock_client& locks;
    const bench_worker_settings& settings;
    bench_board::counters& shared;
    std::span<contend_record> records;
};

/// Acquires `name`, with no limit on the wait. @throws failure
asio::awaitable<lease> acquire_for_bench(lock_client& locks, const std::string& name);

/// Releases the lock. @throws failure
asio::awaitable<void> release_for_bench(lock_client& locks, lease& held);

/// Pins this process, and the threads that it starts later, to one processor: the next one for each
/// index. Otherwise the scheduler puts two processes that wait for each other on one processor or
/// on two. The limit of the two cases differs by a factor of twenty.
void keep_to_one_processor(unsigned index);

/// Runs two coroutines that acquire and release one lock in a loop. Counts the grants that came
/// from another process.
asio::awaitable<void> pass_to_and_fro(bench_work work);

/// Sends datagrams to and fro for a second, without locks, in blocking calls: the limit of this
/// machine.
void ping_to_and_fro(const bench_work& work);

/// The same through messages of the store's server; nothing if that is no single server.
void publish_to_and_fro(const bench_work& work, const std::string& store);

/// Acquires and releases one lock, which lingers, in a loop. Counts the rounds.
asio::awaitable<void> acquire_again_and_again(bench_work work);

/// The channels from and to the lingering process, once it only echoes.
std::string echo_channel_from(const std::string& lock);
std::string echo_channel_to(const std::string& lock);

/// Sends back each message that comes over the store's server, until the end mark.
void echo_messages(const bench_work& work, const std::string& store);

/// Runs all tasks of one process of `bench contend` until all acquisitions are done.
asio::awaitable<void> contend_for_lock(bench_work work);

/// The name of the lock that this process measures; no other process uses it. It always has 17
/// bytes, because its size counts among the bytes sent.
std::string bench_lock_name();

}  // namespace mortise::tool

#endif
