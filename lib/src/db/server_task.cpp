// SPDX-License-Identifier: BSL-1.0
#include "db/server_task.hpp"

#include "mortise/coro/detail/cancel_proxy.hpp"

#include <utility>

namespace mortise::db::detail {

server_task::server_task(std::shared_ptr<server_session> session, asio::any_io_executor caller)
    : session_(std::move(session)), caller_(std::make_shared<caller_hold>(std::move(caller))) {}

void server_task::submit(std::shared_ptr<caller_share> share, asio::cancellation_slot slot) {
    if (session_->deserted() || !caller_->add(share))
        return;
    share.reset();
    const auto ended = [weak = weak_from_this()] {
        if (const auto self = weak.lock())
            self->session_->post([self] { self->caller_ended(); });
    };
    if (!caller_->attach(ended))
        return caller_->let_go();
    coro::detail::install_cancel_proxy(slot, weak_from_this());
    session_->begin(shared_from_this());
}

void server_task::begin() {
    wait_for_connection(server_pool::rank::last);
}

void server_task::wait_for_connection(server_pool::rank where) {
    auto taken =
        [self = shared_from_this()](const server_failure& why, server_pool::connection connection) {
            if (why)
                return self->fail(why);
            self->connection_ = std::move(connection);
            self->got_connection();
        };
    ticket_ = session_->pool().take(std::move(taken), where);
}

void server_task::give_back_connection() {
    if (const auto used = std::exchange(connection_, nullptr))
        session_->pool().give_back(used);
}

void server_task::end() {
    caller_->leave();
    session_->ended(shared_from_this());
}

void server_task::drop() noexcept {
    caller_->let_go();
    const auto used = std::exchange(connection_, nullptr);
}

}  // namespace mortise::db::detail
