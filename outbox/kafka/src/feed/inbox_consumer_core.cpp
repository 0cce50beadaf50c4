// SPDX-License-Identifier: BSL-1.0
#include "feed/inbox_consumer_core.hpp"

#include "feed/received_of.hpp"
#include "mortise/coro/detail/untracked_executor.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/store_types.hpp"
#include "settings.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace mortise::kafka::detail {
namespace {

using std::chrono::milliseconds;

constexpr auto with_code = asio::as_tuple(asio::deferred);

void require(bool right, const char* name, const char* remedy) {
    if (!right)
        refuse_setting(name, remedy);
}

void check_times(const inbox_consumer_config& config) {
    constexpr milliseconds day = std::chrono::hours(24);
    require(
        config.tell_group_after >= milliseconds(1) && config.tell_group_after <= day,
        "tell_group_after",
        "use one millisecond to one day"
    );
    require(
        config.retry_first >= milliseconds(1) && config.retry_max >= config.retry_first &&
            config.retry_max <= day,
        "retry_first, retry_max",
        "use one millisecond to one day, the first not above the last"
    );
}

inbox_consumer_config checked(inbox_consumer_config config) {
    require(!config.group.empty() && config.group.size() <= 249, "group", "use 1 to 249 bytes");
    require(!config.topics.empty() && config.topics.size() <= 1'000, "topics", "name 1 to 1,000");
    for (const std::string& topic : config.topics) {
        require(!topic.empty() && topic.size() <= 200, "topics", "use names of 1 to 200 bytes");
        require(topic.front() != '^', "topics", "name each of them: patterns are not understood");
    }
    require(config.id_header.size() <= 255, "id_header", "use at most 255 bytes");
    require(
        config.batch_rows >= 1 && config.batch_rows <= 100'000, "batch_rows", "use 1 to 100,000"
    );
    require(
        config.batch_bytes >= 1 && config.batch_bytes <= std::size_t{1} << 30u,
        "batch_bytes",
        "use 1 byte to 1 GiB"
    );
    check_times(config);
    return config;
}

coro::backoff pauses_of(const inbox_consumer_config& config) {
    coro::backoff_options limits;
    limits.first = config.retry_first;
    limits.max = config.retry_max;
    return coro::backoff(
        limits, config.jitter_seed != 0 ? config.jitter_seed : random_id::draw().low
    );
}

std::shared_ptr<outbox::inbox> checked(std::shared_ptr<outbox::inbox> to) {
    require(
        to != nullptr && to->by() == outbox::inbox_config::kind::offsets,
        "inbox",
        "give it one by offsets: it is read from where that is"
    );
    return to;
}

std::shared_ptr<consumer_core> make_member(const inbox_consumer_config& config) {
    return std::make_shared<consumer_core>(config.cluster, config.group, config.topics);
}

}  // namespace

inbox_consumer_core::inbox_consumer_core(
    asio::any_io_executor executor, std::shared_ptr<outbox::inbox> to, inbox_consumer_config config
)
    : executor_(std::move(executor)),
      strand_(coro::detail::untracked_executor(asio::any_io_executor(asio::make_strand(executor_)))
      ),
      config_(checked(std::move(config))),
      time_(config_.time ? config_.time : coro::make_boot_time_source(executor_)),
      inbox_(checked(std::move(to))),
      member_(make_member(config_)),
      pauses_(pauses_of(config_)) {
    coro::worker_config thread;
    thread.name = "mortise-kafka";
    worker_ = std::make_unique<coro::worker>(executor_, std::move(thread));
    stir_.emplace(*strand_);
}

inbox_consumer_core::~inbox_consumer_core() = default;

void inbox_consumer_core::attach() {
    auto& service =
        coro::detail::wait_service::of(asio::query(executor_, asio::execution::context));
    context_ended_ = service.ended();
    if (!service.link(shared_from_this()))
        return shut_down();
    asio::dispatch(*strand_, [self = shared_from_this()] { self->start(); });
}

// The context is being destroyed: let go of every handler, post nothing, ask nobody.
void inbox_consumer_core::shut_down() noexcept {
    if (process_.forked())
        return;
    stopping_ = true;
    const auto stoppers = std::exchange(stoppers_, {});
    retry_alarm_.cancel();
    pause_alarm_.cancel();
    if (member_)
        member_->request_stop();
    stir_.reset();
    strand_.reset();
}

void inbox_consumer_core::start() {
    if (stopping_)
        return end_stop();
    running_ = true;
    asio::co_spawn(*strand_, run(), [self = shared_from_this()](const std::exception_ptr&) {
        self->running_ = false;
        self->end_stop();
    });
}

asio::awaitable<void> inbox_consumer_core::run() {
    const auto self = shared_from_this();
    while (!stopping_ && !over_) {
        error_code wrong;
        try {
            if (!member_)
                member_ = make_member(config_);
        } catch (const boost::system::system_error& why) {
            wrong = why.code();
        }
        if (wrong) {
            tell(kind::failed, {}, wrong, "no consumer can be made");
        } else {
            auto taking_part = take_part();
            co_await std::move(taking_part);
            auto leaving = leave();
            co_await std::move(leaving);
        }
        if (stopping_ || over_)
            break;
        auto resting = pause(pauses_.next());
        co_await std::move(resting);
    }
}

asio::awaitable<void> inbox_consumer_core::take_part() {
    while (!stopping_ && !over_ && !lost_) {
        auto turn = take_turn();
        co_await std::move(turn);
        auto changing = make_changes();
        co_await std::move(changing);
        deliver();
    }
}

asio::awaitable<void> inbox_consumer_core::take_turn() {
    const std::size_t rows = config_.batch_rows - std::min(config_.batch_rows, waiting_.size());
    const std::size_t bytes = config_.batch_bytes - std::min(config_.batch_bytes, waiting_bytes_);
    std::vector<group_offset> told;
    if (tell_at_ <= time_->now()) {
        told = news();
        tell_at_ = time_->now() + config_.tell_group_after;
    }
    auto work = [member = member_, told = std::move(told), rows, bytes] {
        member->commit(told);
        return member->turn(rows, bytes);
    };
    auto turning = worker_->async_run(std::move(work), with_code);
    auto came = co_await std::move(turning);
    if (const error_code wrong = std::get<0>(came)) {
        tell(kind::failed, {}, wrong, "the group cannot be joined");
        auto resting = pause(pauses_.next());
        co_await std::move(resting);
    } else {
        digest(std::move(std::get<1>(came)));
    }
}

// In the order in which they came. While one has to wait, the turns go on.
asio::awaitable<void> inbox_consumer_core::make_changes() {
    while (!changes_.empty() && !stopping_ && !over_ && !lost_) {
        const change next = changes_.front();
        if (change_waits() && delivering_)
            co_return;
        if (next.what == change::kind::release) {
            auto releasing = release(next);
            co_await std::move(releasing);
            continue;
        }
        if (delayed_)
            co_return;
        auto taking = take(next);
        co_await std::move(taking);
    }
}

/// Whether nothing may be with the inbox while the next change is made.
bool inbox_consumer_core::change_waits() const {
    return !changes_.empty() && changes_.front().what != change::kind::take;
}

asio::awaitable<error_code> inbox_consumer_core::identify() {
    if (!cluster_id_.empty())
        co_return error_code();
    auto work = [member = member_] { return member->cluster_id(); };
    auto asking = worker_->async_run(std::move(work), with_code);
    auto came = co_await std::move(asking);
    cluster_id_ = std::move(std::get<1>(came));
    co_return std::get<0>(came);
}

// If it does not succeed it stays the next change, and is tried again later.
asio::awaitable<void> inbox_consumer_core::take(const change& what) {
    auto identifying = identify();
    if (const error_code wrong = co_await std::move(identifying))
        co_return failed(wrong, "the cluster does not say which it is");
    auto asking = inbox_->async_positions(with_code);
    const auto found = co_await std::move(asking);
    const auto& [unread, positions] = found;
    if (unread)
        co_return inbox_failed(unread);
    std::vector<start_offset> wanted;
    for (const topic_partition& each : what.which) {
        const auto known = partitions_.find(each);
        if (known == partitions_.end() || known->second.at != progress::state::given)
            continue;
        known->second.source = source_of(cluster_id_, each);
        by_source_[known->second.source] = each;
        const auto position = positions.find(known->second.source);
        wanted.emplace_back(each, std::nullopt);
        if (position != positions.end())
            wanted.back().wanted = position->second;
    }
    const bool anew = what.what == change::kind::take_anew;
    auto work = [member = member_, wanted = std::move(wanted), anew, skip = config_.skip_removed] {
        return member->take(wanted, skip, anew);
    };
    auto taking = worker_->async_run(std::move(work), with_code);
    const auto came = co_await std::move(taking);
    if (const error_code wrong = std::get<0>(came))
        co_return failed(wrong, "the partitions cannot be read");
    for (const start_offset& each : std::get<1>(came))
        taken(each);
    changes_.pop_front();
    pauses_.reset();
}

asio::awaitable<void> inbox_consumer_core::release(const change& what) {
    auto work = [member = member_, told = news(), which = what.which] {
        member->commit(told);
        member->release(which);
    };
    auto releasing = worker_->async_run(std::move(work), with_code);
    const auto came = co_await std::move(releasing);
    if (const error_code wrong = std::get<0>(came))
        tell(kind::failed, {}, wrong, "partitions cannot be given back");
    for (const topic_partition& each : what.which) {
        const auto known = partitions_.find(each);
        if (known == partitions_.end())
            continue;
        by_source_.erase(known->second.source);
        partitions_.erase(known);
        tell(kind::revoked, each);
    }
    changes_.pop_front();
}

asio::awaitable<void> inbox_consumer_core::until_idle() {
    while (delivering_) {
        stir_->reset();
        auto waiting = stir_->async_wait(with_code);
        co_await std::move(waiting);
    }
}

// When nothing is under way any more.
asio::awaitable<void> inbox_consumer_core::leave() {
    auto ending = until_idle();
    co_await std::move(ending);
    auto work = [member = member_, told = news()] {
        member->commit(told);
        member->close();
    };
    auto closing = worker_->async_run(std::move(work), with_code);
    co_await std::move(closing);
    for (const auto& [which, each] : partitions_)
        tell(kind::revoked, which);
    forget_all();
}

asio::awaitable<void> inbox_consumer_core::pause(clock::duration span) {
    bool over = false;
    pause_alarm_.set(*time_, *strand_, time_->now() + span, [this, &over] {
        over = true;
        stir_->set();
    });
    while (!over && !stopping_) {
        stir_->reset();
        auto waiting = stir_->async_wait(with_code);
        co_await std::move(waiting);
    }
    pause_alarm_.cancel();
}

void inbox_consumer_core::call() {
    if (member_)
        member_->call();
    if (stir_)
        stir_->set();
}

void inbox_consumer_core::stop(code_handler handler) {
    if (*context_ended_ || process_.forked())
        return;
    asio::dispatch(*strand_, [self = shared_from_this(), handler = std::move(handler)]() mutable {
        self->stoppers_.push_back(std::move(handler));
        self->begin_stop();
    });
}

void inbox_consumer_core::close() noexcept {
    coro::detail::wait_service::unlink(*this);
    if (*context_ended_ || process_.forked())
        return;
    asio::dispatch(*strand_, [self = shared_from_this()] { self->begin_stop(); });
}

void inbox_consumer_core::begin_stop() {
    stopping_ = true;
    call();
    end_stop();
}

void inbox_consumer_core::end_stop() {
    if (!stopping_ || running_)
        return;
    retry_alarm_.cancel();
    for (auto& each : std::exchange(stoppers_, {}))
        each.complete(error_code());
}

}  // namespace mortise::kafka::detail
