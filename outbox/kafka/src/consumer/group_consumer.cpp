// SPDX-License-Identifier: BSL-1.0
#include "consumer/group_consumer.hpp"

#include "mortise/coro/detail/worker_job.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/detail/real_time.hpp"
#include "mortise/store_types.hpp"
#include "settings.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>

#include <algorithm>
#include <exception>
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

void check_times(const consumer_config& config) {
    constexpr milliseconds day = std::chrono::hours(24);
    require(
        config.retry_first >= milliseconds(1) && config.retry_max >= config.retry_first &&
            config.retry_max <= day,
        "retry_first, retry_max",
        "use one millisecond to one day, the first not above the last"
    );
}

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
    check_times(config);
    return config;
}

std::uint64_t seed_of(const consumer_config& config) {
    return config.jitter_seed != 0 ? config.jitter_seed : random_id::draw().low;
}

coro::backoff pauses_of(const consumer_config& config) {
    coro::backoff_options limits;
    limits.first = config.retry_first;
    limits.max = config.retry_max;
    return coro::backoff(limits, seed_of(config));
}

std::shared_ptr<consumer_core> make_member(const consumer_config& config) {
    return std::make_shared<consumer_core>(config.cluster, config.group, config.topics);
}

}  // namespace

group_consumer::group_consumer(
    asio::any_io_executor executor, consumer_config config, milliseconds tell_after
)
    : seat_(std::move(executor), coro::detail::strand_seat::work::not_counted),
      config_(checked(std::move(config))),
      tell_after_(tell_after),
      time_(config_.time ? config_.time : mortise::detail::make_real_time(seat_.executor())),
      member_(make_member(config_)),
      pauses_(pauses_of(config_)) {
    coro::worker_config thread;
    thread.name = "mortise-kafka";
    worker_ = std::make_unique<coro::worker>(seat_.executor(), std::move(thread));
    stir_.emplace(seat_.strand());
}

group_consumer::~group_consumer() = default;

void group_consumer::attach() {
    if (!seat_.take(shared_from_this()))
        return shut_down();
    asio::dispatch(seat_.strand(), [self = shared_from_this()] { self->start(); });
}

// The context is being destroyed: drop every handler without calling it, and post nothing.
void group_consumer::shut_down() noexcept {
    if (seat_.forked())
        return;
    stopping_ = true;
    const auto stoppers = std::exchange(stoppers_, {});
    retry_alarm_.cancel();
    if (member_)
        member_->request_stop();
    stir_.reset();
    seat_.leave();
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
    asio::co_spawn(seat_.strand(), run(), ended);
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
            auto taking_part = take_part();
            co_await std::move(taking_part);
            auto leaving = leave();
            co_await std::move(leaving);
        }
        if (stopping_ || over_)
            break;
        auto resting = pause(pauses_.next(), true);
        co_await std::move(resting);
    }
}

asio::awaitable<void> group_consumer::take_part() {
    while (!stopping_ && !over_ && !lost_) {
        auto turn = take_turn();
        co_await std::move(turn);
        auto changing = make_changes();
        co_await std::move(changing);
        auto announcing = announce();
        co_await std::move(announcing);
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
    auto turning = worker_->async_run(std::move(work), with_code);
    auto reply = co_await std::move(turning);
    if (const error_code wrong = std::get<0>(reply)) {
        const std::string why = member_->trouble();
        tell(
            kind::failed, {}, wrong, "the group cannot be joined" + (why.empty() ? why : ": " + why)
        );
        auto resting = pause(pauses_.next(), true);
        co_await std::move(resting);
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

/// Whether no batch may be under way while the next change is made.
bool group_consumer::change_waits() const {
    return !changes_.empty() && changes_.front().type != change::kind::take;
}

asio::awaitable<error_code> group_consumer::identify() {
    if (!cluster_id_.empty())
        co_return error_code();
    auto work = [member = member_] { return member->cluster_id(); };
    auto asking = worker_->async_run(std::move(work), with_code);
    auto reply = co_await std::move(asking);
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
    auto finding = find(wanted, why);
    if (const error_code wrong = co_await std::move(finding))
        co_return failed(wrong, "it is not known where to go on", why);
    const bool anew = next.type == change::kind::take_anew;
    auto work = [member = member_, wanted = std::move(wanted), anew, skip = config_.skip_removed] {
        return member->take(wanted, skip, anew);
    };
    auto taking = worker_->async_run(std::move(work), with_code);
    const auto reply = co_await std::move(taking);
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
    auto releasing = worker_->async_run(std::move(work), with_code);
    const auto reply = co_await std::move(releasing);
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
        auto waiting = stir_->async_wait(with_code);
        co_await std::move(waiting);
    }
}

// Leaves the group once nothing is under way.
asio::awaitable<void> group_consumer::leave() {
    auto ending = until_idle();
    co_await std::move(ending);
    auto finishing = finish();
    co_await std::move(finishing);
    auto work = [member = member_, offsets = news()] {
        member->commit(offsets);
        member->close();
    };
    auto closing = worker_->async_run(std::move(work), with_code);
    co_await std::move(closing);
    for (const auto& [partition, each] : partitions_)
        tell(kind::revoked, partition);
    forget_all();
}

// Ends early on a stop and, unless `whole`, also when the current work should be dropped.
asio::awaitable<void> group_consumer::pause(clock::duration span, bool whole) {
    coro::detail::alarm alarm;
    bool over = false;
    alarm.set(*time_, seat_.strand(), time_->now() + span, [this, &over] {
        over = true;
        stir_->set();
    });
    while (!over && !(whole ? stopping_ : hurry())) {
        stir_->reset();
        auto waiting = stir_->async_wait(with_code);
        co_await std::move(waiting);
    }
}

asio::awaitable<void> group_consumer::finish() {
    co_return;
}

std::uint64_t group_consumer::draw_seed() const {
    return seed_of(config_);
}

void group_consumer::call() {
    if (member_)
        member_->call();
    if (stir_)
        stir_->set();
}

void group_consumer::stop(code_handler handler) {
    if (seat_.deserted())
        return;
    asio::dispatch(
        seat_.strand(),
        [self = shared_from_this(), handler = std::move(handler)]() mutable {
            self->stoppers_.push_back(std::move(handler));
            self->begin_stop();
        }
    );
}

void group_consumer::close() noexcept {
    coro::detail::wait_service::unlink(*this);
    if (seat_.deserted())
        return;
    asio::dispatch(seat_.strand(), [self = shared_from_this()] { self->begin_stop(); });
}

void group_consumer::begin_stop() {
    stopping_ = true;
    call();
    end_stop();
}

void group_consumer::end_stop() {
    if (!stopping_ || running_)
        return;
    retry_alarm_.cancel();
    for (auto& each : std::exchange(stoppers_, {}))
        each.complete(error_code());
}

}  // namespace mortise::kafka::detail
