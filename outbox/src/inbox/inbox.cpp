// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/inbox.hpp"

#include "inbox/inbox_core.hpp"
#include "mortise/coro/assert.hpp"

#include <utility>

namespace mortise::outbox {

inbox::inbox(executor_type executor, std::shared_ptr<db::sqlite> session, inbox_config config)
    : core_(std::make_shared<detail::inbox_core>(
          std::move(executor), std::move(session), std::move(config)
      )) {
    core_->attach();
}

inbox::~inbox() {
    if (core_)
        core_->close();
}

inbox::inbox(inbox&&) noexcept = default;

inbox& inbox::operator=(inbox&& other) noexcept {
    if (const auto before = std::exchange(core_, std::move(other.core_)))
        before->close();
    return *this;
}

inbox::executor_type inbox::get_executor() const noexcept {
    MORTISE_ASSERT(core_);
    return core_->executor();
}

inbox_config::kind inbox::by() const noexcept {
    return core_->by();
}

inbox_stats inbox::stats() const noexcept {
    return core_->stats();
}

std::string_view to_string(inbox_event::kind kind) noexcept {
    switch (kind) {
    case inbox_event::kind::handled:
        return "handled";
    case inbox_event::kind::repeated:
        return "repeated";
    case inbox_event::kind::failed:
        return "failed";
    case inbox_event::kind::refused:
        return "refused";
    case inbox_event::kind::parked:
        return "parked";
    case inbox_event::kind::waits:
        return "waits";
    }
    return "?";
}

namespace detail {

void start_receive(
    coro::detail::completion<void(error_code)> handler,
    std::shared_ptr<inbox_core> core,
    std::vector<received> messages
) {
    core->receive(std::move(messages), std::move(handler));
}

void start_positions(
    coro::detail::completion<void(error_code, positions)> handler, std::shared_ptr<inbox_core> core
) {
    core->where(std::move(handler));
}

void start_identity(
    coro::detail::completion<void(error_code, std::string)> handler,
    std::shared_ptr<inbox_core> core
) {
    core->identify(std::move(handler));
}

void start_stop_inbox(
    coro::detail::completion<void(error_code)> handler, std::shared_ptr<inbox_core> core
) {
    core->stop(std::move(handler));
}

}  // namespace detail
}  // namespace mortise::outbox
