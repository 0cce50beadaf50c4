// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_INBOX_INBOX_CORE_HPP
#define MORTISE_OUTBOX_SRC_INBOX_INBOX_CORE_HPP

#include "inbox/inbox_work.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/background_core.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/db/bell.hpp"
#include "mortise/outbox/inbox.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mortise::outbox::detail {

/// The implementation of an `inbox`: the user's session, and a coroutine that retries failed
/// messages.
///
/// @par Threads The strand, except where a comment says any.
class inbox_core final : public coro::detail::background_core<inbox_core> {
public:
    using code_handler = coro::detail::completion<void(error_code)>;
    using positions_handler = coro::detail::completion<void(error_code, positions)>;
    using identity_handler = coro::detail::completion<void(error_code, std::string)>;

    inbox_core(
        asio::any_io_executor executor, std::shared_ptr<db::sqlite> session, inbox_config config
    );
    ~inbox_core() override;

    // Any thread.
    inbox_config::kind by() const noexcept { return config_.by; }
    void receive(std::vector<received> messages, code_handler handler);
    void where(positions_handler handler);
    void identify(identity_handler handler);
    void stop(code_handler handler);
    void close() noexcept;
    inbox_stats stats() const noexcept;

private:
    friend class coro::detail::background_core<inbox_core>;
    using report = inbox_detail::report;
    using delivery = inbox_detail::delivery;

    void start();
    void begin_stop(bool at_once);
    void drop() noexcept;
    asio::awaitable<void> keep();
    asio::awaitable<void> keep_once();
    void note(const report& result);
    void
    deliver(std::shared_ptr<delivery> batch, asio::cancellation_slot slot, code_handler handler);
    void delivered(
        std::shared_ptr<delivery> batch,
        error_code failed,
        const report& result,
        code_handler handler
    );
    void received_one();
    void end_stop();
    error_code fault_of(const received& received) const;

    const inbox_config config_;
    const std::shared_ptr<coro::time_source> time_;
    const std::shared_ptr<db::sqlite> session_;
    const std::shared_ptr<inbox_detail::inbox_work> work_;
    const std::shared_ptr<inbox_detail::trial> retries_;

    std::optional<coro::event> wake_;
    std::optional<db::bell> bell_;
    coro::detail::alarm alarm_;
    asio::cancellation_signal stop_keeping_;
    bool keeping_ = false;
    std::atomic<bool> stopping_{false};
    std::atomic<std::size_t> receiving_{0};  ///< Calls that may still call the handler.

    struct counters {
        std::atomic<std::uint64_t> handled{0};
        std::atomic<std::uint64_t> repeated{0};
        std::atomic<std::uint64_t> refused{0};
        std::atomic<std::uint64_t> failed{0};
        std::atomic<std::uint64_t> parked{0};
        std::atomic<std::uint64_t> retried{0};
        std::atomic<std::uint64_t> waited{0};
    } count_;
};

}  // namespace mortise::outbox::detail

#endif
