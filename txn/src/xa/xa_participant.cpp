// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/xa_participant.hpp"

#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/detail/require.hpp"
#include "mortise/detail/text.hpp"
#include "mortise/txn/branch_work.hpp"
#include "mortise/txn/error.hpp"
#include "planted_bugs.hpp"
#include "xa/note_keeper.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::txn {
namespace {

using db::prepared_end;
using manager_ptr = std::shared_ptr<resource_manager>;
using replying = asio::awaitable<result<reply>>;

constexpr std::string_view prefix = "mortise:";

asio::awaitable<result<bool>> is_prepared(manager_ptr manager, db::prepared_name name) {
    auto listing = manager->list();
    const auto all = co_await std::move(listing);
    if (!all)
        co_return all.error();
    co_return std::any_of(all->begin(), all->end(), [&name](const auto& each) {
        return each.name == name;
    });
}

// An earlier attempt may have been prepared, with its answer lost on the way: it counts. It must
// not be rolled back, because a statement can be slow, and arrive when a later attempt is prepared
// under the same name and has been told to the coordinator.
replying try_branch(manager_ptr manager, call request) {
    MORTISE_CRASH_POINT("xa.try");
    auto name = prepared_name_of(request);
    if (request.one_phase && request.attempt > 1) {
        auto looking = manager->look(request, false);
        const auto note = co_await std::move(looking);
        if (!note)
            co_return note.error();
        if (*note == branch_note::closed)
            co_return error_code(errc::late_try);
        // It is committed, also if nobody knows whose value it is.
        static_cast<void>(
            request.work && *note == branch_note::worked && request.work->choose_only()
        );
        if (*note == branch_note::worked)
            co_return reply::done();
    } else if (request.attempt > 1 && detail::planted_bugs::roll_back_and_retry()) {
        auto undoing = manager->finish(name, prepared_end::roll_back);
        const auto undone = co_await std::move(undoing);
        if (!undone)
            co_return undone.error();
    } else if (request.attempt > 1) {
        auto looking = is_prepared(manager, name);
        const auto prepared = co_await std::move(looking);
        if (!prepared)
            co_return prepared.error();
        // With several attempts that came to their end, nobody knows whose value it is.
        const bool known = !request.work || !*prepared || request.work->choose_only();
        if (*prepared)
            co_return known ? result<reply>(reply::done()) : error_code(errc::call_failed);
    }
    const auto work = request.work;
    const auto attempt = request.attempt;
    auto preparing = manager->prepare(std::move(name), std::move(request));
    auto voted = co_await std::move(preparing);
    MORTISE_CRASH_POINT("xa.prepared");
    if (work && voted && voted->type == reply::verdict::done)
        work->choose(attempt);
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

// Forgets after the work, so that no branch is prepared for longer because of it.
replying
finish_and_forget(manager_ptr manager, std::shared_ptr<detail::note_keeper> notes, call request) {
    const auto wanted = notes->wanted(request);
    auto ending = request.type == operation::confirm ? confirm_branch(manager, std::move(request))
                                                     : cancel_branch(manager, std::move(request));
    const auto answer = co_await std::move(ending);
    if (!wanted)
        co_return answer;
    auto forgetting = notes->forget(manager, *wanted);
    co_await std::move(forgetting);
    co_return answer;
}

}  // namespace

db::prepared_name prepared_name_of(const call& of) {
    return {
        std::string(prefix) + of.gid.text(),
        mortise::detail::hexadecimal(of.term) + "." + std::to_string(of.branch)};
}

std::optional<prepared_branch> branch_named(const db::prepared_name& name) {
    const std::string_view global = name.global();
    const auto gid =
        global.starts_with(prefix) ? gid::parse(global.substr(prefix.size())) : std::nullopt;
    const std::string_view own = name.branch();
    const auto dot = own.find('.');
    const auto term = mortise::detail::parse_hexadecimal(own.substr(0, dot));
    if (!gid || !term || dot == std::string_view::npos)
        return std::nullopt;
    prepared_branch found;
    found.gid = *gid;
    found.term = *term;
    std::from_chars(own.data() + dot + 1, own.data() + own.size(), found.branch);
    call same;
    same.gid = found.gid;
    same.term = found.term;
    same.branch = found.branch;
    // Accept only the spelling that `prepared_name_of` makes: one branch, one name.
    return prepared_name_of(same) == name ? std::optional(found) : std::nullopt;
}

xa_participant::xa_participant(
    std::shared_ptr<resource_manager> manager,
    std::size_t calls_at_once,
    std::chrono::milliseconds notes_kept,
    std::shared_ptr<coro::time_source> time
)
    : manager_(std::move(manager)),
      calls_at_once_(calls_at_once),
      notes_(std::make_shared<detail::note_keeper>(notes_kept, std::move(time))) {
    using mortise::detail::require;
    require(manager_ != nullptr, "manager", "name a database");
    require(calls_at_once_ >= 1, "calls_at_once", "allow at least one");
    require(
        notes_kept >= std::chrono::milliseconds(1) && notes_kept <= std::chrono::hours(24 * 365),
        "notes_kept",
        "use one millisecond to one year"
    );
}

xa_participant::~xa_participant() = default;

asio::awaitable<void> resource_manager::check() {
    auto listing = list();
    const auto listed = co_await std::move(listing);
    if (!listed)
        throw boost::system::system_error(listed.error());
}

asio::awaitable<void> xa_participant::check() {
    return manager_->check();
}

asio::awaitable<result<reply>> xa_participant::carry_out(call request) {
    // A try does not forget: it would keep its locks for longer.
    if (request.type == operation::try_)
        return try_branch(manager_, std::move(request));
    return finish_and_forget(manager_, notes_, std::move(request));
}

asio::awaitable<result<std::vector<prepared_branch>>>
xa_participant::list_prepared(std::uint64_t log) {
    auto listing = manager_->list();
    const auto all = co_await std::move(listing);
    if (!all)
        co_return all.error();
    std::vector<prepared_branch> found;
    for (const auto& each : *all) {
        auto branch = branch_named(each.name);
        if (!branch || (branch->gid.log != log && !detail::planted_bugs::foreign_branches()))
            continue;
        branch->age = each.age;
        found.push_back(*branch);
    }
    co_return found;
}

}  // namespace mortise::txn
