// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_MEMORY_HPP
#define MORTISE_STORE_MEMORY_HPP

#include "mortise/store.hpp"

#include <cstddef>
#include <memory>
#include <string_view>

namespace mortise {

namespace detail {
class memory_state;
}

/// Locks in the memory of this process, for tests and for programs of one process.
///
/// Several clients, also on several threads and execution contexts, share one server. It can be
/// told to misbehave as a distant store does, so that a service can be tested against it.
///
/// @par Threads Any thread.
class memory_server {
public:
    /// @param time the server's clock, which must live as long as the server; null: those of its
    ///     clients, while they live.
    explicit memory_server(std::shared_ptr<coro::time_source> time = nullptr);

    /// A store for one client. It keeps the server alive.
    std::unique_ptr<store> make_store() const;

    /// The next `count` calls take effect, but their callers are told `outcome_unknown`.
    void lose_replies(std::size_t count);

    /// The next `count` pushed events do not arrive.
    void lose_pushes(std::size_t count);

    /// While set, every call fails with `store_unavailable` and has no effect.
    void set_unavailable(bool unavailable);

    /// While set, grants skip this session: it keeps its place in the queue.
    void set_unreachable(const session_id& session, bool unreachable);

    /// As if the server had been restarted: with its memory, or without (then every session is
    /// gone, tokens still grow, and nothing is granted for the longest TTL that is relied on).
    void restart(bool with_memory);

    /// How many sessions and entries there are: both zero when nothing was left behind.
    std::size_t sessions() const;
    std::size_t entries() const;

private:
    std::shared_ptr<detail::memory_state> state_;
};

/// A store on the server that all users of this name share in this process; an empty name makes one
/// that nobody shares.
std::unique_ptr<store> make_memory_store(std::string_view name = {});

}  // namespace mortise

#endif
