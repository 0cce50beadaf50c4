// SPDX-License-Identifier: BSL-1.0
#include "consumer/group_consumer.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/detail/worker_job.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/detail/defaults.hpp"
#include "mortise/detail/require.hpp"
#include "mortise/kafka/detail/consumer_stop.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>

#include <algorithm>
#include <exception>
#include <tuple>
#include <utility>

namespace mortise::kafka::detail {
namespace {

using coro::detail::with_code;
using mortise::detail::require;
using mortise::detail::require_retry_limits;
using mortise::detail::seed_or_random;
using std::chrono::milliseconds;

consumer_config checked(consumer_config config) {
    require(!config.group.empty() && config.group.size() <= 249, "group", "use 1 to 249 bytes");
    require(!config.topics.empty() && config.topics.size() <= 1'000, "topics", "name 1 to 1,000");
    for (const std::string& topic : config.topics) {
        require(!topic.empty() && topic.size() <= 200, "topics", "use names of 1 to 200 bytes");
        require(topic.front() != '^', "topics", "name each of them: patterns are not understood");
    }
    require(
        config.batch_rows >= 1 && config.batch_rows <= 100'000, "batch_rows", "use 1 to 100,000"
    );
    require(
        config.batch_bytes >= 1 && config.batch_bytes <= std::size_t{1} << 30u,
        "batch_bytes",
        "use 1 byte to 1 GiB"
    );
    require_retry_limits(config.retry_first, config.retry_max);
    return config;
}

coro::backoff pauses_of(const consumer_config& config) {
    return coro::backoff(
        {config.retry_first, config.retry_max}, seed_or_random(config.jitter_seed)
    );
}

std::shared_ptr<consumer_core> make_member(const consumer_config& config) {
    return std::make_shared<consumer_core>(config.cluster, config.group, config.topics);
}

}  // namespace

group_consumer::group_consumer(
    asio::any_io_executor executor, consumer_config config, milliseconds tell_after
)
    : background_core(std::move(executor), coro::detail::strand_seat::work::not_counted),
      config_(checked(std::move(config))),
      tell_after_(tell_after),
      time_(mortise::detail::time_or_real(config_.time, this->executor())),
      member_(make_member(config_)),
      pauses_(pauses_of(config_)) {
    coro::worker_config thread;
    thread.name = "mortise-kafka";
    worker_ = std::make_unique<coro::worker>(this->executor(), std::move(thread));
    stir_.emplace(strand());
}

group_consumer::~group_consumer() = default;

void group_consumer::drop() noexcept {
    stopping_ = true;
    retry_alarm_.cancel();
    if (member_)
        member_->request_stop();
    stir_.reset();
}

void group_consumer::start() {
    if (stopping_)
        return end_stop();
    running_ = true;
    const auto ended = [self = shared_from_this()](const std::exception_ptr& failed) {
        self->running_ = false;
        self->end_stop();
        if (failed)  // The program lacks memory or threads, or its observer threw.
            self->tell_end(failed);
    };
    asio::co_spawn(strand(), run(), ended);
}

void group_consumer::tell_end(const std::exception_ptr& because) {
    try {
        std::rethrow_exception(because);
    } catch (const std::exception& why) {
        tell(kind::ended, {}, coro::detail::code_of_current_exception(), why.what());
    }
}

asio::awaitable<void> group_consumer::run() {
    const auto self = shared_from_this();
    while (!stopping_ && !over_) {
        error_code wrong;
        std::string text = "no consumer can be made: ";
        try {
            if (!member_)
                member_ = make_member(config_);
        } catch (const std::exception& why) {
            wrong = coro::detail::code_of_current_exception();
            text += why.what();
        }
        if (wrong) {
            tell(kind::failed, {}, wrong, std::move(text));
        } else {
            co_await take_part();
            co_await leave();
        }
        if (stopping_ || over_)
            break;
        co_await pause(pauses_.next(), true);
    }
}

asio::awaitable<void> group_consumer::take_part() {
    while (!stopping_ && !over_ && !lost_) {
        co_await take_turn();
        co_await make_changes();
        co_await announce();
        begin_work();
    }
}

asio::awaitable<void> group_consumer::take_turn() {
    const std::size_t rows = config_.batch_rows - std::min(config_.batch_rows, waiting_.size());
    const std::size_t bytes = config_.batch_bytes - std::min(config_.batch_bytes, waiting_bytes_);
    std::vector<group_offset> offsets;
    if (tell_at_ <= time_->now()) {
        offsets = news();
        tell_at_ = time_->now() + tell_after_;
    }
    auto work = [member = member_, offsets = std::move(offsets), rows, bytes] {
        member->commit(offsets);
        return member->turn(rows, bytes);
    };
    auto reply = co_await worker_->async_run(std::move(work), with_code);
    if (const error_code wrong = std::get<0>(reply)) {
        const std::string why = member_->trouble();
        tell(
            kind::failed, {}, wrong, "the group cannot be joined" + (why.empty() ? why : ": " + why)
        );
        co_await pause(pauses_.next(), true);
    } else {
        digest(std::move(std::get<1>(reply)));
    }
}

// Makes the changes in the order of their arrival. While a change must wait, the turns go on.
asio::awaitable<void> group_consumer::make_changes() {
    while (!changes_.empty() && !stopping_ && !over_ && !lost_) {
        if (change_waits() && working_)
            co_return;
        // The member drops everything that it reads. That may be more than when this change was
        // requested, because earlier changes were made since.
        if (changes_.front().type == change::kind::take_anew)
            let_go_of_all(changes_.front());
        const change next = changes_.front();
        if (next.type == change::kind::release) {
            co_await release(next);
            continue;
        }
        if (delayed_)
            co_return;
        co_await take(next);
    }
}

/// Whether no batch may be under way while the next change is made.
bool group_consumer::change_waits() const {
    return !changes_.empty() && changes_.front().type != change::kind::take;
}

asio::awaitable<error_code> group_consumer::identify() {
    if (!cluster_id_.empty())
        co_return error_code();
    auto work = [member = member_] { return member->cluster_id(); };
    auto reply = co_await worker_->async_run(std::move(work), with_code);
    cluster_id_ = std::move(std::get<1>(reply));
    co_return std::get<0>(reply);
}

// A change that fails stays the next one and is tried again later.
asio::awaitable<void> group_consumer::take(const change& next) {
    std::vector<start_offset> wanted;
    for (const topic_partition& each : next.partitions) {
        const auto known = partitions_.find(each);
        if (known != partitions_.end() && known->second.at == progress::state::given)
            wanted.emplace_back(each, std::nullopt);
    }
    std::string why;
    if (const error_code wrong = co_await find(wanted, why))
        co_return failed(wrong, "it is not known where to go on", why);
    const bool anew = next.type == change::kind::take_anew;
    auto work = [member = member_, wanted = std::move(wanted), anew, skip = config_.skip_removed] {
        return member->take(wanted, skip, anew);
    };
    const auto reply = co_await worker_->async_run(std::move(work), with_code);
    if (const error_code wrong = std::get<0>(reply))
        co_return failed(wrong, "the partitions cannot be read");
    for (const start_offset& each : std::get<1>(reply))
        taken(each);
    changes_.pop_front();
    pauses_.reset();
}

// Tells the group whose its partitions are. No record of them is worked on before the group knows:
// this process may die in the middle of the work.
asio::awaitable<void> group_consumer::announce() {
    const std::vector<topic_partition> fresh = unannounced();
    if (fresh.empty() || delayed_ || stopping_)
        co_return;
    std::vector<group_offset> offsets;
    for (const topic_partition& each : fresh)
        offsets.push_back(partitions_.at(each).position(each, owner_));
    auto work = [member = member_, offsets = std::move(offsets)] { member->announce(offsets); };
    auto announcing = worker_->async_run(std::move(work), with_code);
    const auto reply = co_await std::move(announcing);
    if (const error_code wrong = std::get<0>(reply))
        co_return failed(wrong, "the group cannot be told whose its partitions are");
    for (const topic_partition& each : fresh)
        partitions_.at(each).is_announced = true;
}

asio::awaitable<void> group_consumer::release(const change& next) {
    auto work = [member = member_, offsets = news(), partitions = next.partitions] {
        member->commit(offsets);
        member->release(partitions);
    };
    const auto reply = co_await worker_->async_run(std::move(work), with_code);
    if (const error_code wrong = std::get<0>(reply))
        tell(kind::failed, {}, wrong, "partitions cannot be given back");
    for (const topic_partition& each : next.partitions) {
        const auto known = partitions_.find(each);
        if (known == partitions_.end())
            continue;
        partitions_.erase(known);
        tell(kind::revoked, each);
    }
    changes_.pop_front();
}

asio::awaitable<void> group_consumer::until_idle() {
    while (working_) {
        stir_->reset();
        co_await stir_->async_wait(with_code);
    }
}

// Leaves the group once nothing is under way.
asio::awaitable<void> group_consumer::leave() {
    co_await until_idle();
    co_await finish();
    auto work = [member = member_, offsets = news()] {
        member->commit(offsets);
        member->close();
    };
    co_await worker_->async_run(std::move(work), with_code);
    for (const auto& [partition, each] : partitions_)
        tell(kind::revoked, partition);
    forget_all();
}

// Ends early on a stop and, unless `whole`, also when the current work should be dropped.
asio::awaitable<void> group_consumer::pause(clock::duration span, bool whole) {
    coro::detail::alarm alarm;
    bool over = false;
    alarm.set(*time_, strand(), time_->now() + span, [this, &over] {
        over = true;
        stir_->set();
    });
    while (!over && !(whole ? stopping_ : hurry())) {
        stir_->reset();
        co_await stir_->async_wait(with_code);
    }
}

asio::awaitable<void> group_consumer::finish() {
    co_return;
}

std::uint64_t group_consumer::draw_seed() const {
    return seed_or_random(config_.jitter_seed);
}

void group_consumer::call() {
    if (member_)
        member_->call();
    if (stir_)
        stir_->set();
}

void group_consumer::begin_stop(bool) {
    stopping_ = true;
    call();
    end_stop();
}

void group_consumer::end_stop() {
    if (!stopping_ || running_)
        return;
    retry_alarm_.cancel();
    answer_stoppers();
}

void start_stop_consumer(
    coro::detail::completion<void(error_code)> handler, std::shared_ptr<group_consumer> core
) {
    core->stop(std::move(handler));
}

}  // namespace mortise::kafka::detail
