// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/lock_operations.hpp"

#include "core/lock_engine.hpp"
#include "store/drawn_bases.hpp"

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

request_id request_operation::granted() const noexcept {
    return !out.code && out.value.type == answer::kind::granted ? request_.id : 0;
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

request_id release_and_request_operation::granted() const noexcept {
    return out.code ? 0 : request_.granted();
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
