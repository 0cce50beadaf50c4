// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_HANDLE_HPP
#define MORTISE_KAFKA_SRC_HANDLE_HPP

#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/kafka/kafka_config.hpp"
#include "mortise/kafka/kafka_observer.hpp"
#include "owned.hpp"
#include "settings.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace mortise::kafka::detail {

/// How long a blocking call of librdkafka may take. librdkafka itself goes on between two calls,
/// and a stop is noticed between them.
inline constexpr int slice_ms = 100;

/// Receives the messages of librdkafka. Its threads may call until the handle is destroyed, which
/// may be after anybody listens.
class voice {
public:
    explicit voice(const kafka_config& config);

    /// `wake` is called when events wait to be polled. It must be quick and never block.
    void on_waiting(std::function<void()> wake);

    /// Ends all calls to listeners, after waiting for a running one. Does nothing in a forked
    /// child, where no thread calls.
    void silence() noexcept;

    void tell(kafka_event::kind kind, int level, error_code code, std::string_view text) noexcept;
    void wake() noexcept;
    const secrets& hidden() const noexcept { return secrets_; }

    /// Returns the code of the last failure of a connection or login, and clears it.
    int take_failure() noexcept { return failure_.exchange(0); }
    void note_failure(int code, bool connection_lost) noexcept {
        failure_ = code;
        if (connection_lost)
            connection_lost_ = true;
    }
    /// The last failure, for people and without secrets; empty if something has worked since.
    std::string trouble() const;
    void note_trouble(std::string_view text) noexcept;
    void forget_trouble() noexcept;
    /// Whether a working connection was ever lost. Never reset, because librdkafka reports the same
    /// loss only once in half a minute: one report may stand for two losses.
    bool connection_lost() const noexcept { return connection_lost_; }

    /// Receives delivery reports, on the thread that polls.
    std::function<void(const rd_kafka_message_t&)> on_report;

    /// Called when the group gives or takes partitions, on the thread that polls. It must answer
    /// librdkafka. Without it, partitions are given back at once.
    std::function<void(int code, const rd_kafka_topic_partition_list_t& partitions)> on_rebalance;

private:
    const coro::detail::fork_guard process_;
    const secrets secrets_;
    std::mutex mutex_;
    kafka_observer* observer_;
    std::function<void()> wake_;
    mutable std::mutex trouble_mutex_;
    std::string trouble_;
    std::atomic<int> failure_{0};
    std::atomic<bool> connection_lost_{false};
};

/// A handle of librdkafka. Destroying it takes time, because threads must end: the destructor uses
/// a thread for that, `close` does it on this one. In a forked child neither does anything.
class handle {
public:
    /// Checks the settings only; there is nothing to `get` yet. `id` is as for `make_settings`.
    /// @throws mortise::error (`bad_config`)
    handle(const kafka_config& config, purpose what_for, const std::string& id = {});
    ~handle();
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;

    /// Creates the handle, unless it exists: reads certificates and keys, starts threads. Takes
    /// tens of milliseconds, so do not call it on an event loop. Connects to nobody yet. After an
    /// exception it can be called again.
    /// @throws mortise::error (`bad_config`); `trouble` then has the same text
    void open();

    rd_kafka_t* get() const noexcept { return handle_; }
    voice& says() noexcept { return *voice_; }

    /// Calls `on_waiting` for events in that queue, too.
    void listen_to(rd_kafka_queue_t& queue) noexcept;

    /// Destroys the handle. Blocks.
    void close() noexcept;

private:
    coro::detail::fork_guard process_;
    const purpose purpose_;
    std::shared_ptr<voice> voice_;
    owned<rd_kafka_conf_t> settings_;  ///< Used up by `open`.
    rd_kafka_t* handle_ = nullptr;
};

}  // namespace mortise::kafka::detail

#endif
