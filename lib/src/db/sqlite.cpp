// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/sqlite.hpp"

#include "db/session_state.hpp"
#include "db/sqlite_session.hpp"

#include <boost/asio/cancellation_type.hpp>

#include <memory>
#include <utility>

namespace mortise::db {

namespace detail {

asio::any_io_executor executor_of(const sqlite_session& session) noexcept {
    return session.executor();
}

void submit(
    const std::shared_ptr<sqlite_session>& session,
    session_side side,
    std::shared_ptr<session_job> job
) {
    session->submit(side, std::move(job));
}

}  // namespace detail

sqlite::sqlite(executor_type executor, sqlite_config config)
    : session_(std::make_shared<detail::sqlite_session>(std::move(executor), std::move(config))) {}

sqlite::sqlite(sqlite&&) noexcept = default;
sqlite& sqlite::operator=(sqlite&& other) noexcept {
    sqlite taken(std::move(other));
    session_.swap(taken.session_);
    return *this;
}

sqlite::~sqlite() {
    if (session_)
        session_->stop();  // here, since operations that never started may keep the session alive
}

sqlite::executor_type sqlite::get_executor() const noexcept {
    MORTISE_ASSERT(session_);
    return session_->executor();
}

const std::filesystem::path& sqlite::path() const noexcept {
    MORTISE_ASSERT(session_);
    return session_->config().path;
}

void sqlite::start_stop(
    coro::detail::completion<void(error_code)> done, std::shared_ptr<detail::sqlite_session> session
) {
    session->stop();
    auto& helper = session->helper();
    auto close = [session = std::move(session)] { session->close(); };
    using job = coro::detail::awaited_job<decltype(close), void>;
    auto slot = done.release_slot();
    const auto closing = std::make_shared<job>(std::move(done), std::move(close));
    if (slot.is_connected()) {
        slot.assign([weak = std::weak_ptr(closing)](asio::cancellation_type_t type) {
            using kind = asio::cancellation_type;
            const auto says = [type](kind part) { return (type & part) != kind::none; };
            // Ignore `total`: the session is stopped already, so "nothing has happened" is not
            // true.
            const auto waiting =
                says(kind::terminal) || says(kind::partial) ? weak.lock() : nullptr;
            if (waiting)
                waiting->cancel();
        });
    }
    helper.submit(closing);
}

sqlite_stats sqlite::stats() const noexcept {
    MORTISE_ASSERT(session_);
    return session_->stats();
}

bool sqlite::poisoned() const noexcept {
    MORTISE_ASSERT(session_);
    return session_->state().poisoned;
}

}  // namespace mortise::db
