// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_ACTOR_PROCESS_HPP
#define MORTISE_TESTS_CHAOS_ACTOR_PROCESS_HPP

#include "chaos/actor_place.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test {

/// A `lock_actor` beside the test. It uses the SQLite store and the resource in a folder, or the
/// store of a URL.
class actor_process {
public:
    actor_process(
        const std::filesystem::path& folder,
        std::chrono::milliseconds ttl,
        actor_place where = actor_place::here
    );
    actor_process(
        const std::string& store_url,
        const std::filesystem::path& folder,
        std::chrono::milliseconds ttl
    );
    ~actor_process();
    actor_process(const actor_process&) = delete;
    actor_process& operator=(const actor_process&) = delete;

    pid_t pid() const noexcept { return pid_; }

    void tell(const std::string& line);

    /// The next line that begins with these words, if it comes in time; skips earlier lines. The
    /// delay that the machine causes meanwhile is added to the limit, once.
    std::optional<std::string>
    hear(const std::string& begins, std::chrono::milliseconds limit = std::chrono::seconds(20));

    /// Tells the actor to acquire, and waits until it holds the lock. @return the token.
    std::uint64_t acquire(const std::string& name);

    void send(int signal) const;
    /// Kills the actor and waits until it is gone. @return the time, in nanoseconds of
    /// CLOCK_BOOTTIME.
    std::int64_t kill();
    /// Waits until the actor has died by itself. @return the signal that killed it, or zero.
    int await_death();
    /// Waits until the actor has stopped itself.
    void await_stop() const;

private:
    void
    start(std::string store, const std::filesystem::path& folder, std::chrono::milliseconds ttl);
    pid_t inner() const;
    int await_change(int how) const;
    std::optional<std::string> take_line(std::chrono::milliseconds limit);

    actor_place where_;
    pid_t pid_ = -1;
    int to_ = -1;
    int from_ = -1;
    std::string buffer_;
};

/// Splits a line into words.
std::vector<std::string> words_of(const std::string& line);

}  // namespace mortise::test

#endif
