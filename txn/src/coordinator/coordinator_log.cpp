// SPDX-License-Identifier: BSL-1.0
// Opens the log, opens it anew when it is broken, and closes it in the end.
#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace mortise::txn::detail {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds reopen_max{2'000};

// Copies what the opening needs, and nothing that must not be destroyed on the other thread.
coordinator_config place_of(const coordinator_config& config) {
    coordinator_config place;
    place.log = config.log;
    place.must_exist = config.must_exist;
    place.vfs = config.vfs;
    return place;
}

}  // namespace

// Opening may wait for other processes, or repair what a crash left: keep it off the event loop.
coro::worker& coordinator_core::opener() {
    if (!opener_) {
        coro::worker_config config;
        config.name = "txn-open";
        opener_ = std::make_unique<coro::worker>(seat_.strand(), std::move(config));
    }
    return *opener_;
}

void coordinator_core::open_log() {
    if (closed_ || stopping_)
        return;
    if (log_)
        return prepare_log();
    opener().async_run(
        [strand = seat_.strand(), place = place_of(config_)] {
            return std::make_unique<log::decision_log>(strand, place);
        },
        asio::bind_executor(
            seat_.strand(),
            [self = shared_from_this(),
             number = ++log_number_](error_code failed, std::unique_ptr<log::decision_log> fresh) {
                self->opened(failed, number, std::move(fresh));
            }
        )
    );
}

void coordinator_core::opened(
    error_code failed, std::uint64_t number, std::unique_ptr<log::decision_log> fresh
) {
    if (number != log_number_ || closed_ || stopping_)
        return close_beside(std::move(fresh));
    if (failed)
        return log_failed(failed);
    log_ = std::move(fresh);
    prepare_log();
}

void coordinator_core::prepare_log() {
    log_->prepare(
        config_.partitions,
        asio::bind_executor(
            seat_.strand(),
            [self = shared_from_this(),
             number = ++log_number_](error_code failed, const log::log_facts& found) {
                if (number == self->log_number_ && !self->closed_)
                    self->prepared(failed, found);
            }
        )
    );
}

// Closes the old log's files on the opener's thread, because that is I/O, before it is reopened.
void coordinator_core::close_beside(std::unique_ptr<log::decision_log> old) {
    if (old && opener_)
        opener_->post([old = std::move(old)]() mutable { old.reset(); });
}

// Lets go of a log that can no longer be written. The outcome of what is under way is unknown here.
// The next opening finds it: here or, because the locks are released, elsewhere.
void coordinator_core::log_failed(error_code why) {
    txn_event failed;
    failed.what = txn_event::kind::log_failed;
    failed.code = why;
    tell(failed);
    retire(why);
    no_term_ = why;
    ++log_number_;
    drop_all(why);
    if (log_) {
        opener();
        close_beside(std::exchange(log_, nullptr));
    }
    if (!stopping_ && !closed_) {
        deadlines_.set(reopen_timer_, now() + reopen_pause_, [this] { open_log(); });
        reopen_pause_ = std::min<clock::duration>(reopen_pause_ * 2, reopen_max);
    }
    arm();
    end_stop_later();
}

void coordinator_core::stop(coro::detail::completion<void(error_code)> handler) {
    if (seat_.deserted())
        return handler.complete(errc::stopped);
    asio::dispatch(
        seat_.strand(),
        [self = shared_from_this(), handler = std::move(handler)]() mutable {
            self->stoppers_.push_back(std::move(handler));
            if (self->closed_)
                return self->close_now();
            self->begin_stop();
        }
    );
}

void coordinator_core::begin_stop() {
    if (!std::exchange(stopping_, true)) {
        deadlines_.set(stop_timer_, coro::saturating_add(now(), config_.stop_max), [this] {
            stop_overdue_ = true;
            end_stop();
        });
        arm();
    }
    const auto open = open_;
    for (const auto& [number, transaction] : open)
        abort(*transaction, errc::withdrawn, "the coordinator was stopped");
    end_stop();
}

// Ends the stop once every transaction is decided; the next coordinator finishes the rest. If
// another process keeps the log locked for too long, the undecided ones are left to it as well.
void coordinator_core::end_stop() {
    if (!stopping_ || stoppers_.empty() || closed_)
        return;
    if (owned() != 0 && !decides_nothing() && !stop_overdue_)
        return;
    deadlines_.clear(stop_timer_);
    retire(errc::stopped);
    drop_all(errc::stopped);
    if (standing_ != 0 || log_stopping_)
        return;  // until the locks are released
    if (!log_)
        return close_now();
    log_stopping_ = true;
    log_->stop(asio::bind_executor(seat_.strand(), [self = shared_from_this()](error_code) {
        self->close_now();
    }));
}

// Checks again whether the stop can end: transactions may have been dropped, which calls nobody.
void coordinator_core::end_stop_later() {
    if (stopping_ && !closed_)
        asio::post(seat_.strand(), [self = shared_from_this()] { self->end_stop(); });
}

void coordinator_core::close_now() {
    if (!std::exchange(closed_, true)) {
        coro::detail::wait_service::unlink(*this);
        stopping_ = true;
        retire(errc::stopped);
        drop_all(errc::stopped);
        deadlines_.clear();
        alarm_.cancel();
        bell_.reset();
        log_.reset();
    }
    for (auto& each : std::exchange(stoppers_, {}))
        each.complete(error_code());
}

}  // namespace mortise::txn::detail
