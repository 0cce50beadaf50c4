// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/lock_operations.hpp"

#include "core/lock_engine.hpp"
#include "store/drawn_bases.hpp"

#include <algorithm>
#include <cstddef>

namespace mortise::store_detail {

using core::lock_engine;
using core::session_key;

// Commits a request that is refused with an error, too: it may have removed dead holders, or
// granted the lock to others.
void request_operation::apply(
    lock_engine& engine, session_key session, const token_domain& domain
) {
    const auto result = engine.request(session, request_);
    out.code = result ? error_code() : result.error();
    out.value = result ? *result : answer();
    if (out.value.token)
        out.value.token.domain = domain.of_slot(out.value.slot);
}

bool request_operation::grants(request_id id) const noexcept {
    return id == request_.id && !out.code && out.value.type == answer::kind::granted;
}

request_in_order_operation::request_in_order_operation(std::vector<lock_request> requests) {
    for (auto& each : requests)
        requests_.emplace_back(std::move(each));
}

void request_in_order_operation::apply(
    lock_engine& engine, session_key session, const token_domain& domain
) {
    out.value.clear();
    for (auto& each : requests_) {
        each.apply(engine, session, domain);
        const auto& reply = each.out;
        out.value.push_back(reply.code ? result<answer>(reply.code) : result<answer>(reply.value));
        if (reply.code || reply.value.type != answer::kind::granted)
            break;
    }
}

bool request_in_order_operation::grants(request_id id) const noexcept {
    return std::any_of(
        requests_.begin(),
        requests_.begin() + static_cast<std::ptrdiff_t>(out.value.size()),
        [id](const auto& each) { return each.grants(id); }
    );
}

void withdraw_operation::apply(lock_engine& engine, session_key session, const token_domain&) {
    engine.withdraw(session, name_, id_);
}

void release_operation::apply(
    lock_engine& engine, session_key session, const token_domain& domain
) {
    const auto slot = held_.token.domain.slot_in(domain);
    out.value = slot && engine.release(session, {held_.name, held_.id, held_.token.value, *slot});
}

void release_and_request_operation::apply(
    lock_engine& engine, session_key session, const token_domain& domain
) {
    release_.apply(engine, session, domain);
    request_.apply(engine, session, domain);
    out.value.released = release_.out.value;
    out.value.asked = request_.out.value;
    if (request_.out.code)
        out.value.asked = request_.out.code;
}

bool release_and_request_operation::grants(request_id id) const noexcept {
    return !out.code && request_.grants(id);
}

void extend_operation::apply(lock_engine& engine, session_key session, const token_domain& domain) {
    const auto slot = held_.token.domain.slot_in(domain);
    const auto kept =
        slot ? engine.extend(session, {held_.name, held_.id, held_.token.value, *slot}, hold_max_)
             : error_code(errc::lease_lost);
    out.code = kept ? error_code() : kept.error();
    if (kept)
        out.value = *kept;
}

void draw_operation::apply(lock_engine& engine, session_key session, const token_domain& domain) {
    const auto slot = held_.token.domain.slot_in(domain);
    const auto first =
        slot ? engine.draw(session, {held_.name, held_.id, held_.token.value, *slot}, bases_drawn)
             : error_code(errc::lease_lost);
    out.code = first ? error_code() : first.error();
    if (first && *first == 0)
        out.code = errc::store_full;  // Unless the rows failed, which the transaction reports.
    else if (first)
        out.value = tokens_of(*first, held_.token.domain);
}

}  // namespace mortise::store_detail
