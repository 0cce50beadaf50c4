// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_HANDLE_HPP
#define MORTISE_KAFKA_SRC_HANDLE_HPP

#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/kafka/kafka_config.hpp"
#include "mortise/kafka/kafka_observer.hpp"
#include "owned.hpp"
#include "secrets.hpp"
#include "settings.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace mortise::kafka {

/// How long a blocking call of librdkafka may take. It goes on by itself between two calls, and a
/// stop is heard between them.
inline constexpr int slice_ms = 100;

/// Where what librdkafka says goes to. Its threads may speak until the handle is destroyed, which
/// may be later than anybody listens.
class voice {
public:
    explicit voice(const kafka_config& config);

    /// Something waits to be polled for: `wake` must be quick and never block.
    void on_waiting(std::function<void()> wake);

    /// Nobody listens from here on. Waits for a call that is under way. In a forked child, where
    /// nobody speaks, it does nothing.
    void silence() noexcept;

    void tell(kafka_event::kind what, int level, error_code code, std::string_view text) noexcept;
    void wake() noexcept;
    const secrets& hidden() const noexcept { return secrets_; }

    /// The last failure of a connection or a login; zero once that was taken.
    int take_failure() noexcept { return failure_.exchange(0); }
    void note_failure(int code, bool connection_lost) noexcept {
        failure_ = code;
        if (connection_lost)
            connection_lost_ = true;
    }
    /// What failed last, for people and without secrets; empty: nothing since something worked.
    std::string trouble() const;
    void note_trouble(std::string_view text) noexcept;
    void forget_trouble() noexcept;
    /// Whether a connection that worked was ever lost. librdkafka tells of the same once in half a
    /// minute, so that once was said may have been twice.
    bool connection_lost() const noexcept { return connection_lost_; }

    /// What gets a delivery report; used on the thread that polls.
    std::function<void(const rd_kafka_message_t&)> on_report;

    /// What hears that a group gives, or takes back, partitions, and has to answer librdkafka; used
    /// on the thread that polls. Without one they are given back at once.
    std::function<void(int code, const rd_kafka_topic_partition_list_t& which)> on_rebalance;

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

/// A handle of librdkafka. Its end takes time, for threads must end: the destructor leaves that to
/// a thread of its own, `close` does it on this one. In a forked child nothing is done.
class handle {
public:
    /// Only looks at the settings: there is nothing to `get` yet. `id` is as for `make_settings`.
    /// @throws mortise::error (`bad_config`)
    handle(const kafka_config& config, purpose what_for, const std::string& id = {});
    ~handle();
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;

    /// Makes it, unless that was done: reads certificates and keys, begins threads. It takes tens
    /// of milliseconds, so it has no place on an event loop. Asks nobody yet. After an exception it
    /// can be called again.
    /// @throws mortise::error (`bad_config`); `trouble` then has the same text
    void open();

    rd_kafka_t* get() const noexcept { return handle_; }
    voice& says() noexcept { return *voice_; }

    /// What comes into that queue, too, is told to `on_waiting`.
    void listen_to(rd_kafka_queue_t& queue) noexcept;

    /// Afterwards there is no handle. Blocks.
    void close() noexcept;

private:
    coro::detail::fork_guard process_;
    const purpose purpose_;
    std::shared_ptr<voice> voice_;
    owned<rd_kafka_conf_t> settings_;  ///< Until it is made.
    rd_kafka_t* handle_ = nullptr;
};

}  // namespace mortise::kafka

#endif
