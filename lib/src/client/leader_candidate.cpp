// SPDX-License-Identifier: BSL-1.0
#include "mortise/leader_candidate.hpp"

#include "client/client_core.hpp"
#include "mortise/coro/detail/strand_seat.hpp"
#include "mortise/election.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>

#include <mutex>
#include <utility>
#include <vector>

namespace mortise::detail {

coro::backoff_options pauses_of(const election_options& options) {
    constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 365);
    if (options.pause_first >= std::chrono::milliseconds(1) &&
        options.pause_max >= options.pause_first && options.pause_max <= longest)
        return {options.pause_first, options.pause_max, 2};
    throw error(
        errc::bad_config,
        "pause_first = " + std::to_string(options.pause_first.count()) +
            " ms, pause_max = " + std::to_string(options.pause_max.count()) + " ms",
        "use at least 1 ms for the first, at least that for the largest, and at most a year"
    );
}

/// A candidate from its construction to its resignation. Lives on a strand of its own, kept alive
/// by whatever it waits for.
///
/// acquire -> lead until the loss is near -> release -> pause -> acquire ... -> resigned, or ended
/// by a failure that is final
class candidacy final : public std::enable_shared_from_this<candidacy>,
                        public coro::detail::shutdown_hook {
public:
    using elected_handler = coro::detail::completion<void(error_code, lease_view)>;

    candidacy(core_ptr core, std::string name, const election_options& options)
        : seat_(core->context.executor()),
          core_(core),
          time_(core->context.time()),
          name_(std::move(name)),
          pauses_(pauses_of(options), random_id::draw().low) {}

    ~candidacy() override { coro::detail::wait_service::unlink(*this); }

    /// Call once, after construction: it needs `shared_from_this`.
    void start() {
        if (seat_.take(shared_from_this()))
            asio::dispatch(seat_.strand(), [self = shared_from_this()] { self->stand(); });
        else
            shut_down();
    }

    // Any thread.
    const asio::any_io_executor& executor() const noexcept { return seat_.executor(); }

    lease_view term() const {
        const std::lock_guard guard(elected_.mutex());
        return term_;
    }

    void wait_elected(elected_handler handler) {
        error_code why;
        lease_view term;
        const auto outcome = elected_.wait_unless(handler, [&] {
            why = ended_;
            term = term_;
            return why || !term.check();
        });
        if (outcome != coro::detail::wait_outcome::waits)
            handler.complete(why, why ? lease_view() : term);
    }

    // Begins the wait before the check, so that no loss falls between the two.
    void wait_deposed(lease_handler handler) {
        deposed_.add(std::move(handler));
        if (const error_code why = term().check())
            deposed_.complete_all(why);
    }

    void resign(lease_handler handler) {
        if (seat_.deserted()) {
            if (handler)
                handler.complete(seat_.forked() ? errc::forked : errc::client_stopped);
            return;
        }
        asio::dispatch(
            seat_.strand(),
            [self = shared_from_this(), handler = std::move(handler)]() mutable {
                self->resign_now(std::move(handler));
            }
        );
    }

private:
    enum class stage : std::uint8_t { standing, leading, releasing, pausing, over };

    // The context is being destroyed, and with it all handlers.
    void shut_down() noexcept override {
        stage_ = stage::over;
        const lease gone = std::move(held_);
        const auto nobody = std::exchange(resigning_, {});
        seat_.leave();
    }

    void stand() {
        const auto core = core_.lock();
        if (!core)
            return end(errc::client_stopped);
        if (resigned_)
            return end(errc::lease_released);
        stage_ = stage::standing;
        core->locals.acquire(
            name_,
            lock_options(),
            true,
            local_waiter::acquire_handler(
                asio::bind_cancellation_slot(
                    stop_.slot(),
                    asio::bind_executor(
                        seat_.strand(),
                        [self = shared_from_this()](error_code code, lease held) {
                            self->acquired(code, std::move(held));
                        }
                    )
                ),
                seat_.strand()
            )
        );
    }

    void acquired(error_code code, lease held) {
        if (resigned_) {
            held_ = std::move(held);
            return held_ ? release() : end(errc::lease_released);
        }
        if (code)
            return stands_again(code) ? pause() : end(code);
        held_ = std::move(held);
        stage_ = stage::leading;
        pauses_.reset();
        const auto number = ++terms_;
        held_.async_wait_lost(asio::bind_executor(
            seat_.strand(),
            [self = shared_from_this(), number](error_code why) {
                if (self->stage_ == stage::leading && self->terms_ == number)
                    self->depose(why);
            }
        ));
        const lease_view won = held_.view();
        elected_.complete_all_after([&] { term_ = won; }, {}, won);
    }

    void depose(error_code why) {
        if (why == errc::client_stopped || why == errc::forked)
            final_ = why;
        {
            const std::lock_guard guard(elected_.mutex());
            term_ = lease_view();
        }
        deposed_.complete_all(why);
        release();
    }

    void release() {
        stage_ = stage::releasing;
        held_.async_release(asio::bind_executor(
            seat_.strand(),
            [self = shared_from_this()](error_code code) {
                self->released_ = code;
                if (self->final_ && !self->resigned_)
                    self->end(self->final_);
                else
                    self->pause();
            }
        ));
    }

    void pause() {
        if (resigned_)
            return end(errc::lease_released);
        stage_ = stage::pausing;
        released_ = {};
        time_->async_wait_until(
            coro::saturating_add(time_->now(), pauses_.next()),
            asio::bind_cancellation_slot(
                stop_.slot(),
                asio::bind_executor(
                    seat_.strand(), [self = shared_from_this()](error_code) { self->stand(); }
                )
            )
        );
    }

    void resign_now(lease_handler handler) {
        resigned_ = true;
        if (stage_ == stage::over) {
            if (handler)
                handler.complete({});
            return;
        }
        if (handler)
            resigning_.push_back(std::move(handler));
        if (stage_ == stage::leading)
            depose(errc::lease_released);
        else if (stage_ != stage::releasing)
            stop_.emit(asio::cancellation_type::total);
    }

    void end(error_code why) {
        stage_ = stage::over;
        elected_.complete_all_after([&] { ended_ = why; }, why, lease_view());
        for (auto& each : std::exchange(resigning_, {}))
            each.complete(released_);
    }

    coro::detail::strand_seat seat_;
    const std::weak_ptr<client_core> core_;  // weak: its queue may hold this candidate
    const std::shared_ptr<coro::time_source> time_;
    const std::string name_;
    coro::backoff pauses_;
    lease held_;
    asio::cancellation_signal stop_;  // cancels the acquire and the pause
    stage stage_ = stage::standing;
    std::uint64_t terms_ = 0;
    bool resigned_ = false;
    error_code released_;  // the result of the last release
    error_code final_;     // why it cannot stand again
    std::vector<lease_handler> resigning_;
    coro::detail::wait_list<lease_view> elected_;  // its mutex guards `term_` and `ended_`
    lease_view term_;
    error_code ended_;
    coro::detail::wait_list<> deposed_;
};

void start_wait_elected(candidacy::elected_handler handler, candidacy_ptr candidate) {
    candidate->wait_elected(std::move(handler));
}

void start_wait_deposed(lease_handler handler, candidacy_ptr candidate) {
    candidate->wait_deposed(std::move(handler));
}

void start_resign(lease_handler handler, candidacy_ptr candidate) {
    candidate->resign(std::move(handler));
}

bool stands_again(const error_code& why) noexcept {
    if (why == errc::client_stopped || why == errc::forked)
        return false;
    return why == condition::not_held || why == condition::retryable;
}

std::shared_ptr<coro::time_source> time_of(const lock_client& client) noexcept {
    return client.core_->context.time();
}

std::shared_ptr<client_core> core_of(const lock_client& client) noexcept {
    return client.core_;
}

}  // namespace mortise::detail

namespace mortise {

leader_candidate::leader_candidate(lock_client& client, std::string name, election_options options)
    : candidacy_(
          std::make_shared<detail::candidacy>(detail::core_of(client), std::move(name), options)
      ) {
    candidacy_->start();
}

leader_candidate::~leader_candidate() {
    if (candidacy_)
        candidacy_->resign({});
}

leader_candidate& leader_candidate::operator=(leader_candidate&& other) noexcept {
    if (this != &other) {
        if (candidacy_)
            candidacy_->resign({});
        candidacy_ = std::move(other.candidacy_);
    }
    return *this;
}

lease_view leader_candidate::term() const {
    return candidacy_->term();
}

asio::any_io_executor leader_candidate::executor() const noexcept {
    return candidacy_->executor();
}

}  // namespace mortise
