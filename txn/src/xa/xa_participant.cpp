// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/xa_participant.hpp"

#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/detail/require.hpp"
#include "mortise/txn/error.hpp"

#include <string>
#include <utility>

namespace mortise::txn {
namespace {

using db::prepared_end;
using manager_ptr = std::shared_ptr<resource_manager>;
using replying = asio::awaitable<result<reply>>;

std::string hexadecimal(std::uint64_t value) {
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4)
        text += digits[value >> shift & 0xf];
    return text;
}

// An earlier attempt may have been prepared, with its answer lost on the way. Nothing is decided
// yet, so it can be rolled back.
replying try_branch(manager_ptr manager, call request) {
    MORTISE_CRASH_POINT("xa.try");
    auto name = prepared_name_of(request);
    if (request.attempt > 1) {
        auto undoing = manager->finish(name, prepared_end::roll_back);
        const auto undone = co_await std::move(undoing);
        if (!undone)
            co_return undone.error();
    }
    auto preparing = manager->prepare(std::move(name), std::move(request));
    auto voted = co_await std::move(preparing);
    MORTISE_CRASH_POINT("xa.prepared");
    co_return voted;
}

replying confirm_branch(manager_ptr manager, call request) {
    MORTISE_CRASH_POINT("xa.finish");
    auto ending = manager->finish(prepared_name_of(request), prepared_end::commit);
    const auto found = co_await std::move(ending);
    MORTISE_CRASH_POINT("xa.finished");
    if (!found)
        co_return found.error();
    if (*found)
        co_return reply::done();
    auto looking = manager->look(std::move(request), false);
    const auto note = co_await std::move(looking);
    if (!note)
        co_return note.error();
    if (*note == branch_note::worked)
        co_return reply::done();
    co_return error_code(*note == branch_note::closed ? errc::conflict : errc::unknown_branch);
}

// Closes the branch also if its transaction was there: another attempt of the try may be late.
replying cancel_branch(manager_ptr manager, call request) {
    auto ending = manager->finish(prepared_name_of(request), prepared_end::roll_back);
    const auto found = co_await std::move(ending);
    if (!found)
        co_return found.error();
    MORTISE_CRASH_POINT("xa.rolled_back");
    auto looking = manager->look(std::move(request), true);
    const auto note = co_await std::move(looking);
    MORTISE_CRASH_POINT("xa.closed");
    if (!note)
        co_return note.error();
    if (*note == branch_note::worked)
        co_return error_code(errc::conflict);
    co_return reply::done();
}

}  // namespace

db::prepared_name prepared_name_of(const call& of) {
    return {"mortise:" + of.gid.text(), hexadecimal(of.term) + "." + std::to_string(of.branch)};
}

xa_participant::xa_participant(std::shared_ptr<resource_manager> manager, std::size_t calls_at_once)
    : manager_(std::move(manager)), calls_at_once_(calls_at_once) {
    using mortise::detail::require;
    require(manager_ != nullptr, "manager", "name a database");
    require(calls_at_once_ >= 1, "calls_at_once", "allow at least one");
}

asio::awaitable<result<reply>> xa_participant::carry_out(call request) {
    switch (request.type) {
    case operation::try_:
        return try_branch(manager_, std::move(request));
    case operation::confirm:
        return confirm_branch(manager_, std::move(request));
    case operation::cancel:
        break;
    }
    return cancel_branch(manager_, std::move(request));
}

}  // namespace mortise::txn
