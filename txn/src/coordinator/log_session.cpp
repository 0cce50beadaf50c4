// SPDX-License-Identifier: BSL-1.0
// Opens the log, opens it anew when it is broken, and closes it in the end.
#include "coordinator/log_session.hpp"

#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/dispatch.hpp>

#include <algorithm>

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

// The first opening is made here: its failure is an error of the constructor.
log_session::log_session(coordinator_core& core, coordinator_context& context)
    : coordinator_part(core, context),
      log_(std::make_unique<log::decision_log>(context.strand(), context.config())) {}

error_code log_session::reason_of(error_code failed) const {
    return failed == asio::error::operation_aborted ? core_.partitions.unusable() : failed;
}

// Opening may wait for other processes, or repair what a crash left: keep it off the event loop.
coro::worker& log_session::opener() {
    if (!opener_) {
        coro::worker_config config;
        config.name = "txn-open";
        opener_ = std::make_unique<coro::worker>(context_.strand(), std::move(config));
    }
    return *opener_;
}

void log_session::open() {
    if (context_.closed() || context_.stopping())
        return;
    if (log_)
        return prepare();
    opener().async_run(
        [strand = context_.strand(), place = place_of(context_.config())] {
            return std::make_unique<log::decision_log>(strand, place);
        },
        asio::bind_executor(
            context_.strand(),
            [this, kept = context_.keep(), number = ++number_](
                error_code failed, std::unique_ptr<log::decision_log> fresh
            ) { opened(failed, number, std::move(fresh)); }
        )
    );
}

void log_session::opened(
    error_code failed, std::uint64_t number, std::unique_ptr<log::decision_log> fresh
) {
    if (number != number_ || context_.closed() || context_.stopping())
        return close_beside(std::move(fresh));
    if (failed)
        return fail(failed);
    log_ = std::move(fresh);
    prepare();
}

void log_session::prepare() {
    log_->prepare(
        context_.config().partitions,
        asio::bind_executor(
            context_.strand(),
            [this,
             kept = context_.keep(),
             number = ++number_](error_code failed, const log::log_facts& found) {
                if (number == number_ && !context_.closed())
                    prepared(failed, found);
            }
        )
    );
}

// Closes the old log's files on the opener's thread, because that is I/O, before it is reopened.
void log_session::close_beside(std::unique_ptr<log::decision_log> old) {
    if (old && opener_)
        opener_->post([old = std::move(old)]() mutable { old.reset(); });
}

// Lets go of a log that can no longer be written. The outcome of what is under way is unknown here.
// The next opening finds it: here or, because the locks are released, elsewhere.
void log_session::fail(error_code why) {
    txn_event failed;
    failed.type = txn_event::kind::log_failed;
    failed.code = why;
    context_.report(failed);
    core_.partitions.retire(why);
    ++number_;
    core_.runs.drop_all(why);
    if (log_) {
        opener();
        close_beside(std::exchange(log_, nullptr));
    }
    if (!context_.stopping() && !context_.closed()) {
        context_.set_timer(reopen_timer_, context_.now() + reopen_pause_, [this] { open(); });
        reopen_pause_ = std::min<clock::duration>(reopen_pause_ * 2, reopen_max);
    }
    context_.arm();
    core_.end_stop_later();
}

void log_session::stats(coro::detail::completion<void(error_code, db::sqlite_stats)> handler) {
    if (context_.deserted())
        return handler.complete(errc::stopped, {});
    asio::dispatch(
        context_.strand(),
        [this, kept = context_.keep(), handler = std::move(handler)]() mutable {
            if (context_.closed() || !log_)
                return handler.complete(core_.partitions.unusable(), {});
            handler.complete({}, log_->stats());
        }
    );
}

bool log_session::had_no_effect(error_code failed) noexcept {
    return failed != mortise::errc::poisoned && failed != mortise::errc::commit_unknown &&
           failed != boost::asio::error::operation_aborted;
}

void log_session::prepared(error_code failed, const log::log_facts& found) {
    if (failed)
        return fail(failed);
    id_ = found.id;
    core_.partitions.open(found);
}

}  // namespace mortise::txn::detail
