// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_CONSUMER_GROUP_CONSUMER_HPP
#define MORTISE_KAFKA_SRC_CONSUMER_GROUP_CONSUMER_HPP

#include "consumer/consumer_core.hpp"
#include "consumer/group_offset.hpp"
#include "mortise/coro/backoff.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/background_core.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/worker.hpp"
#include "mortise/kafka/consumer_config.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::kafka::detail {

/// The base of the consumers. One coroutine lets the member of the group, which has a thread, take
/// its turns. Beside it, one batch at a time is worked on; the derived class defines that work.
///
/// @par Threads The strand, except where a comment says any.
class group_consumer : public coro::detail::background_core<group_consumer> {
public:
    ~group_consumer() override;

protected:
    using kind = consumer_event::kind;
    using records = std::vector<consumed_record>;

    /// @param tell_after How often the group is told the position; zero: never.
    /// @throws mortise::error (`bad_config`)
    group_consumer(
        asio::any_io_executor executor, consumer_config config, std::chrono::milliseconds tell_after
    );

    /// Finds the offsets at which to read partitions. On an error, `why` gets further text.
    virtual asio::awaitable<error_code>
    find(std::vector<start_offset>& starts, std::string& why) = 0;
    /// Begins to work on the records, which stay valid until one of the four functions below is
    /// called.
    virtual void work(const records& batch) = 0;
    /// Whether this error ends all work for ever.
    virtual bool is_final(error_code code) const = 0;
    /// Called once nothing is under way.
    virtual asio::awaitable<void> finish();

    /// Reports that the records were handled, must be tried again later, or must be tried again at
    /// once.
    void worked();
    void work_failed(error_code code, const char* at_what, const std::string& why = {});
    void work_dropped();
    /// Reports an unknown outcome: all partitions are read again from where `find` says.
    void work_lost(error_code code, const char* at_what);
    /// Whether the work should be dropped.
    bool hurry() const { return stopping_ || change_waits(); }

    /// Stops work on that partition. Call it while working.
    void refuse(const topic_partition& partition, error_code code, std::string text);
    /// The offset to report to the group once everything before `dealt_with` is handled.
    std::int64_t next_after(const topic_partition& partition, std::int64_t dealt_with) const;
    void tell(
        kind type,
        const topic_partition& at,
        error_code code = {},
        std::string text = {},
        std::int64_t offset = -1
    );
    asio::awaitable<void> pause(clock::duration span, bool whole = false);
    asio::awaitable<error_code> identify();
    std::uint64_t draw_seed() const;
    /// Sets the name under which the group is told the position.
    void set_owner(std::string owner) { owner_ = std::move(owner); }
    const std::string& owner() const noexcept { return owner_; }

    const std::shared_ptr<consumer_core>& member() const noexcept { return member_; }
    coro::worker& thread() noexcept { return *worker_; }
    const std::string& cluster_id() const noexcept { return cluster_id_; }
    const consumer_config& settings() const noexcept { return config_; }

private:
    friend class coro::detail::background_core<group_consumer>;
    using progress = partition_progress;

    /// A change to make to the partitions, in the order of arrival.
    struct change {
        enum class kind : std::uint8_t { take, take_anew, release };
        kind type;
        std::vector<topic_partition> partitions;
    };

    void start();
    void begin_stop(bool at_once);
    void drop() noexcept;
    asio::awaitable<void> run();
    asio::awaitable<void> take_part();
    asio::awaitable<void> take_turn();
    asio::awaitable<void> make_changes();
    asio::awaitable<void> take(const change& next);
    asio::awaitable<void> announce();
    asio::awaitable<void> release(const change& next);
    asio::awaitable<void> leave();
    asio::awaitable<void> until_idle();

    void digest(consumer_report report);
    void digest_change(group_change assignment);
    void take_anew();
    void let_go_of_all(change& into);
    void keep(consumed_record record);
    void taken(const start_offset& start);
    bool is_read(const topic_partition& partition) const;
    void sweep();
    void forget_all();
    bool change_waits() const;
    std::vector<topic_partition> unannounced() const;
    void begin_work();
    void failed(error_code code, const char* at_what, const std::string& why = {});
    std::vector<group_offset> news();
    void call();
    void end_stop();
    void tell_end(const std::exception_ptr& because);

    const consumer_config config_;
    const std::chrono::milliseconds tell_after_;
    const std::shared_ptr<coro::time_source> time_;

    std::shared_ptr<consumer_core> member_;
    std::unique_ptr<coro::worker> worker_;
    std::string cluster_id_;
    std::string owner_;
    std::map<topic_partition, progress> partitions_;
    std::deque<change> changes_;
    records waiting_;  ///< The next batch.
    std::size_t waiting_bytes_ = 0;
    records batch_;         ///< Records not yet handled.
    bool working_ = false;  ///< The batch is being worked on.
    bool delayed_ = false;  ///< A failed step waits for its retry.
    bool lost_ = false;
    bool over_ = false;  ///< No work will be done any longer.
    coro::backoff pauses_;
    clock::time_point tell_at_{};

    std::optional<coro::event> stir_;
    coro::detail::alarm retry_alarm_;
    bool running_ = false;
    bool stopping_ = false;
};

}  // namespace mortise::kafka::detail

#endif
