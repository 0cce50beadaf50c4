// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_FEED_INBOX_CONSUMER_CORE_HPP
#define MORTISE_KAFKA_SRC_FEED_INBOX_CONSUMER_CORE_HPP

#include "consumer/consumer_core.hpp"
#include "feed/partition_progress.hpp"
#include "mortise/coro/backoff.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/coro/detail/wait_service.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/worker.hpp"
#include "mortise/kafka/inbox_consumer.hpp"
#include "mortise/outbox/inbox.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::kafka::detail {

/// What an `inbox_consumer` is. One coroutine lets the member of the group, which has a thread,
/// take its turns; beside it one batch at a time is with the inbox.
///
/// @par Threads The strand, but for what is said to be for any.
class inbox_consumer_core final : public std::enable_shared_from_this<inbox_consumer_core>,
                                  public coro::detail::shutdown_hook {
public:
    using code_handler = coro::detail::completion<void(error_code)>;

    inbox_consumer_core(
        asio::any_io_executor executor,
        std::shared_ptr<outbox::inbox> to,
        inbox_consumer_config config
    );
    ~inbox_consumer_core() override;

    /// Once, after construction, as it needs `shared_from_this`.
    void attach();

    // Any thread.
    const asio::any_io_executor& executor() const noexcept { return executor_; }
    void stop(code_handler handler);
    void close() noexcept;

private:
    using kind = inbox_consumer_event::kind;
    using progress = partition_progress;

    /// Something to be done with the partitions, in the order in which it came.
    struct change {
        enum class kind : std::uint8_t { take, take_anew, release };
        kind what;
        std::vector<topic_partition> which;
    };

    void shut_down() noexcept override;
    void start();
    asio::awaitable<void> run();
    asio::awaitable<void> take_part();
    asio::awaitable<void> take_turn();
    asio::awaitable<void> make_changes();
    asio::awaitable<void> take(const change& what);
    asio::awaitable<void> release(const change& what);
    asio::awaitable<void> leave();
    asio::awaitable<void> pause(clock::duration span);
    asio::awaitable<void> until_idle();
    asio::awaitable<error_code> identify();

    void digest(consumer_report came);
    void digest_change(group_change what);
    void take_anew();
    void keep(consumed_record what);
    void taken(const start_offset& what);
    void sweep();
    void forget_all();
    bool change_waits() const;
    void deliver();
    void delivered(error_code failed);
    void inbox_failed(error_code code);
    void failed(error_code code, const char* at_what);
    void retry_later();
    std::vector<group_offset> news();
    void tell(
        kind what,
        const topic_partition& at,
        error_code code = {},
        std::string text = {},
        std::int64_t offset = -1
    );
    void call();
    void begin_stop();
    void end_stop();

    const asio::any_io_executor executor_;
    std::optional<asio::any_io_executor> strand_;  ///< Empty once the context has ended.
    const coro::detail::fork_guard process_;
    std::shared_ptr<const std::atomic<bool>> context_ended_;
    const inbox_consumer_config config_;
    const std::shared_ptr<coro::time_source> time_;
    const std::shared_ptr<outbox::inbox> inbox_;

    std::shared_ptr<consumer_core> member_;
    std::unique_ptr<coro::worker> worker_;
    std::string cluster_id_;
    std::map<topic_partition, progress> partitions_;
    std::map<std::string, topic_partition> by_source_;
    std::deque<change> changes_;
    std::vector<outbox::received> waiting_;  ///< The next batch.
    std::size_t waiting_bytes_ = 0;
    std::vector<outbox::received> batch_;  ///< What the inbox has not said yes to.
    bool delivering_ = false;              ///< The inbox is at it.
    bool delayed_ = false;                 ///< What failed is not tried yet.
    bool lost_ = false;
    bool over_ = false;  ///< The inbox takes no more.
    coro::backoff pauses_;
    clock::time_point tell_at_{};

    std::optional<coro::event> stir_;
    coro::detail::alarm retry_alarm_;
    coro::detail::alarm pause_alarm_;
    std::vector<code_handler> stoppers_;
    bool running_ = false;
    bool stopping_ = false;
};

}  // namespace mortise::kafka::detail

#endif
