// SPDX-License-Identifier: BSL-1.0
#include "store/sql/short_ways.hpp"

#include <utility>

namespace mortise::store_detail {

asio::awaitable<result<std::optional<answer>>> short_ways::request(lock_request request) {
    const auto link = link_;
    const bool plain = request.mode == lock_mode::exclusive() &&
                       request.hold_max == std::chrono::milliseconds::max();
    const bool first = !link->own().find(request.id);
    auto& known = link->own().note(request.id);
    known.under_way = true;
    known.plain = plain;
    if (!plain || !first)
        co_return std::optional<answer>();
    auto asking = link->of_session(
        link->in_use(),
        link->gateway().take(
            link->actor(), request.name, request.id, request.queue, link->next_stamp()
        )
    );
    const auto taken = co_await std::move(asking);
    if (!taken)
        co_return taken.error();
    if (!taken->apt)
        co_return std::optional<answer>();
    answer reply;
    if (taken->granted) {
        reply.type = answer::kind::granted;
        reply.token = {taken->base << fencing_token::sequence_bits, link->domain()};
        reply.contended = taken->queue != 0;
    } else {
        reply.type = answer::kind::queued;
        reply.position = taken->queue;  // The others in the queue, and the holder.
        reply.contended = taken->queue > 1;
        link->own().note(request.id).ordinal = taken->ordinal;
    }
    co_return std::optional(reply);
}

// A request whose outcome is unknown stays noted: it may be at the server.
void short_ways::note(const lock_request& request, const result<answer>& reply) {
    auto& known = link_->own().note(request.id);
    known.under_way = false;
    if (!reply) {
        if (reply.error() == errc::bad_mode || reply.error() == errc::capacity_differs ||
            reply.error() == errc::database_busy)
            link_->own().erase(request.id);
        return;
    }
    if (reply->type == answer::kind::refused)
        link_->own().erase(request.id);
    else if (reply->type == answer::kind::granted)
        known.contended = reply->contended;
}

asio::awaitable<result<std::optional<bool>>> short_ways::release(grant held) {
    constexpr std::uint64_t sequence = (1u << fencing_token::sequence_bits) - 1;
    const auto link = link_;
    const auto* const known = link->own().find(held.id);
    if (!known || !known->plain || (held.token.value & sequence) != 0 ||
        held.token.domain != link->domain())
        co_return std::optional<bool>();
    if (!known->contended && !known->passed_on) {
        auto asking = link->of_session(
            link->in_use(),
            link->gateway().release(
                link->actor(), held.name, held.id, held.token.base(), link->next_stamp()
            )
        );
        const auto released = co_await std::move(asking);
        if (!released)
            co_return released.error();
        if (*released)
            co_return std::optional(true);
    }
    auto passing = pass_on(held.name, held.id, held.token.base());
    const auto passed = co_await std::move(passing);
    if (!passed)
        co_return passed.error();
    co_return *passed ? std::optional(true) : std::optional<bool>();
}

asio::awaitable<result<bool>>
short_ways::pass_on(std::string name, request_id id, std::uint64_t base) {
    const auto link = link_;
    return link->of_session(
        link->in_use(),
        link->gateway().pass_on(link->actor(), std::move(name), id, base, link->next_stamp())
    );
}

asio::awaitable<result<bool>> short_ways::withdraw(std::string name, request_id id) {
    const auto link = link_;
    const auto* const known = link->own().find(id);
    if (!known || known->ordinal == 0)
        co_return false;
    auto asking = link->of_session(
        link->in_use(),
        link->gateway().withdraw(link->actor(), name, id, known->ordinal, link->next_stamp())
    );
    const auto left = co_await std::move(asking);
    if (!left)
        co_return left.error();
    if (left->erased || !left->granted)
        co_return left->erased;
    auto passing = pass_on(std::move(name), id, left->base);
    co_return co_await std::move(passing);
}

}  // namespace mortise::store_detail
