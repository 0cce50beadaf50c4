// SPDX-License-Identifier: BSL-1.0
#include "db/server_finish.hpp"

#include <utility>

namespace mortise::db::detail {

server_finish::server_finish(
    std::shared_ptr<server_session> session,
    std::shared_ptr<finish_wait> wait,
    prepared_name name,
    prepared_end how
)
    : server_task(std::move(session), wait->executor()),
      wait_(wait),
      name_(std::move(name)),
      how_(how) {}

void server_finish::begin() {
    connection_ = session_->take_prepared(name_);
    if (connection_ && connection_->check())
        return got_connection();
    give_back_connection();
    server_task::begin();
}

void server_finish::got_connection() {
    if (cancelled_)
        return fail(aborted());
    limit(session_->limits().answer_max);
    connection_->end_prepared(
        name_,
        how_,
        [self = std::static_pointer_cast<server_finish>(shared_from_this()
         )](const server_reply& reply) { self->answered(reply); }
    );
}

void server_finish::answered(const server_reply& reply) {
    const bool missing = session_->place().is_missing(reply.failure.code);
    if (!reply.failure || missing)
        return deliver({}, !missing);
    if (reply.lost) {
        return deliver(
            {errc::outcome_unknown, reply.failure.text, "ask for the same end again"}, false
        );
    }
    deliver(reply.failure, false);
}

void server_finish::fail(const server_failure& why) {
    deliver(why, false);
}

void server_finish::deliver(const server_failure& why, bool found) {
    alarm_.cancel();
    give_back_connection();
    caller_->settle(wait_, [&](finish_wait& wait) {
        wait.deliver(why ? exception_of(why) : nullptr, found);
    });
    end();
}

// What was sent goes on, and is awaited for a while.
void server_finish::on_cancel(asio::cancellation_type_t) {
    if (std::exchange(cancelled_, true))
        return;
    if (connection_)
        limit(session_->limits().cancel_max);
    else if (withdraw())
        refuse();
}

void server_finish::limit(std::chrono::milliseconds most) {
    auto& time = session_->time();
    alarm_.set(
        time,
        session_->strand(),
        time.now() + most,
        [self = std::static_pointer_cast<server_finish>(shared_from_this())] {
            if (const auto kept = self->connection_)
                kept->close({errc::store_unavailable, "the server did not answer in time"});
        }
    );
}

void server_finish::drop() noexcept {
    alarm_.cancel();
    server_task::drop();
}

}  // namespace mortise::db::detail
