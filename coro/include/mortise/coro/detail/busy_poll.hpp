// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_BUSY_POLL_HPP
#define MORTISE_CORO_DETAIL_BUSY_POLL_HPP

#include "mortise/coro/fwd.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace mortise::coro::detail {

/// Decides whether busy polling pays: it does if most answers come while the loop is awake.
///
/// Polling that found nothing in its time cost a processor and saved nothing: after a few such
/// times it rests, for ever more of the following answers, and then tries again once.
class poll_judge {
public:
    /// Whether to poll for the next answer.
    bool admits() noexcept;
    /// The answer came while the loop was awake.
    void earned() noexcept;
    /// It did not.
    void wasted() noexcept;
    /// Others are at work, who need the processor more.
    void rest() noexcept;

private:
    static constexpr int credit_max = 8;
    static constexpr int price = 2;  // of a waste, in answers that came in time
    static constexpr std::uint32_t rest_min = 16;
    static constexpr std::uint32_t rest_max = 1'024;

    int credit_ = credit_max;
    std::uint32_t rest_ = rest_min;
    std::uint32_t resting_ = 0;  // answers that it does not poll for
};

/// Keeps an event loop awake for the short time in which an answer is expected.
///
/// A loop with nothing to do sleeps in the kernel. To be woken costs tens of microseconds on an
/// idle machine, as much as the whole answer of a server next door. A handler that posts itself
/// again makes the loop look for events without sleeping, and leaves all other handlers their turn.
///
/// Where that does not pay (`poll_judge`) it does nothing: the server is too far away, or somebody
/// else wants the processor.
///
/// @par Threads The executor, a strand.
/// @par Source  Adaptive mutexes (Solaris, glibc), and `SO_BUSY_POLL` of Linux.
class busy_poll {
public:
    /// @param most the longest time to stay awake for one answer; zero: never.
    busy_poll(const asio::any_io_executor& executor, std::chrono::microseconds most);
    ~busy_poll();
    busy_poll(const busy_poll&) = delete;
    busy_poll& operator=(const busy_poll&) = delete;

    /// An answer is expected.
    void begin() noexcept;
    /// It has come, or is not expected any more.
    void end() noexcept;
    /// Others are at work, and nobody here waits: does nothing for some answers.
    void rest() noexcept;

private:
    class loop;
    const std::shared_ptr<loop> loop_;  // null: never
};

}  // namespace mortise::coro::detail

#endif
