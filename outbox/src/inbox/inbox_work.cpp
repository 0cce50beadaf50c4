// SPDX-License-Identifier: BSL-1.0
#include "inbox/inbox_work.hpp"

#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/outbox/append.hpp"
#include "wall_clock.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::outbox::inbox_detail {
namespace {

constexpr const char* begin_message = "SAVEPOINT mortise_message";
constexpr const char* undo_message = "ROLLBACK TO mortise_message";
constexpr const char* keep_message = "RELEASE mortise_message";

constexpr std::size_t tried_at_once = 500;
// How long other writers wait for one transaction of the inbox, plus the one handler that runs when
// the time is over.
constexpr std::chrono::milliseconds portion_max{20};
constexpr const char* compensates_header = "mortise-compensates";

std::int64_t micros(std::chrono::milliseconds span) noexcept {
    return std::chrono::duration_cast<std::chrono::microseconds>(span).count();
}

void tell(
    report& into,
    inbox_event::kind kind,
    const std::string& id,
    std::uint32_t attempt,
    std::string text = {}
) {
    inbox_event event;
    event.type = kind;
    event.message = id;
    event.attempt = attempt;
    event.text = std::move(text);
    into.events.push_back(std::move(event));
}

bool leaves_foreign_keys_open(db::connection& on) noexcept {
    int open = 0;
    int unused = 0;
    const int code =
        ::sqlite3_db_status(on.handle(), SQLITE_DBSTATUS_DEFERRED_FKS, &open, &unused, 0);
    return code == SQLITE_OK && open != 0;
}

// Ends a savepoint. The handler may have removed it, or SQLite may have removed all savepoints.
void leave(db::connection& on, const char* how, trial& tries) {
    try {
        on.run(how);
    } catch (...) {
        tries.loses("its handler ended the savepoint that it is called in");
        throw;
    }
}

}  // namespace

inbox_work::inbox_work(const inbox_config& config, std::uint64_t seed)
    : config_(config), tables_(config.name), jitter_(seed) {}

report inbox_work::receive(db::connection& on, delivery& delivery) {
    make(on);
    report result;
    delivery.tries.begin();
    std::size_t at = delivery.done;
    const auto until = clock::now() + portion_max;
    for (; at < delivery.messages.size() && !delivery.tries.is_full(); ++at) {
        if (at > delivery.done && clock::now() >= until)
            break;
        received& each = delivery.messages[at];
        if (is_new(on, each, delivery, result.next)) {
            take(on, each, static_cast<std::int64_t>(at), delivery.tries, result);
        } else {
            ++result.counts.repeated;
            tell(result, inbox_event::kind::repeated, each.message.id, 0);
        }
    }
    for (const auto& [source, offset] : result.next)
        tables_.set_next_offset(on, source, offset);
    if (goes_by_ids(config_.by))
        tables_.forget_ids(on, wall_now() - micros(config_.window), 2 * (at - delivery.done));
    result.reached = at;
    MORTISE_CRASH_POINT("inbox.handled");
    return result;
}

bool inbox_work::is_new(db::connection& on, const received& received, delivery& of, offsets& next) {
    if (goes_by_offsets(config_.by) && !is_place_new(on, received, of, next))
        return false;
    // Ignore an id made from a place: the place may come again after the topic was made anew.
    if (config_.by == inbox_config::kind::offsets_and_ids && received.id_is_place)
        return true;
    return !goes_by_ids(config_.by) ||
           tables_.note_id(on, received.message.id, wall_now(), micros(config_.window));
}

bool inbox_work::is_place_new(
    db::connection& on, const received& received, delivery& of, offsets& next
) {
    auto known = next.find(received.source);
    if (known == next.end()) {
        const auto stored = tables_.next_offset(on, received.source).value_or(0);
        if (!of.finds(received.source, stored))
            throw error(
                mortise::errc::rolled_back, received.source, "deliver a source by one only"
            );
        known = next.emplace(received.source, stored).first;
    }
    if (received.offset < known->second)
        return false;
    known->second = received.offset + 1;
    return true;
}

void inbox_work::take(
    db::connection& on, received& received, std::int64_t place, trial& tries, report& into
) {
    if (tables_.is_blocked(on, received.message)) {
        tables_.hold(on, received, behind, 0, {});
        ++into.counts.waited;
        tell(into, inbox_event::kind::waits, received.message.id, 0);
        return;
    }
    number(received, 1);
    auto failed = attempt(on, received, place, tries, into);
    if (!failed)
        return;
    judge(into, *failed, 1, received.message.id);
    const auto due = wall_now() + pause_after(1);
    tables_.hold(on, received, failed->park ? parked : retried, due, failed->why);
    into.held = true;
}

void inbox_work::number(received& received, std::uint32_t attempt) const {
    received.attempt = attempt;
    received.attempts_max = config_.attempts_max;
}

// Calls the handler in a savepoint. @return why to try again or to park the message.
std::optional<inbox_work::failure> inbox_work::attempt(
    db::connection& on, const received& received, std::int64_t place, trial& tries, report& into
) {
    failure failed;
    if (const std::string* const why = tries.verdict(place)) {
        failed.why = *why;
        return failed;
    }
    const std::size_t calls = on.calls();
    on.run(begin_message);
    tries.tries(place);
    answer decision = ask(on, received, failed);
    on.reset_statements();
    if (::sqlite3_get_autocommit(on.handle()) != 0) {
        tries.loses(
            failed.why.empty() ? "the transaction was rolled back in its handler" : failed.why
        );
        throw error(
            mortise::errc::rolled_back, received.message.id, "let the handler undo its part only"
        );
    }
    // Check now: at the end of the transaction nobody would know which message left it open.
    if (failed.why.empty() && decision.type == answer::kind::done && leaves_foreign_keys_open(on))
        failed.why = "its handler leaves a row whose foreign key refers to nothing";
    if (failed.why.empty() && decision.type == answer::kind::done) {
        leave(on, keep_message, tries);
        ++into.counts.handled;
        if (config_.observer)  // Most messages end here, so skip the event if nobody hears it.
            tell(into, inbox_event::kind::handled, received.message.id, received.attempt);
        return std::nullopt;
    }
    leave(on, undo_message, tries);
    on.forget_calls(calls);
    if (failed.why.empty() && decision.type == answer::kind::refused &&
        received.message.find_header(compensates_header) != nullptr) {
        // Park it: two inboxes would otherwise compensate each other's refusals for ever.
        decision.type = answer::kind::parked;
        decision.text = "its handler refuses a compensating message, which people have to settle";
    }
    if (failed.why.empty() && decision.type == answer::kind::refused) {
        try {
            refuse(on, received, decision);
        } catch (const std::exception& wrong) {
            failed.why = std::string("the compensating message: ") + wrong.what();
        }
        if (failed.why.empty()) {
            on.run(keep_message);
            ++into.counts.refused;
            tell(into, inbox_event::kind::refused, received.message.id, received.attempt);
            return std::nullopt;
        }
        leave(on, undo_message, tries);
        on.forget_calls(calls);
    }
    on.run(keep_message);
    if (failed.why.empty()) {
        failed.park = true;
        failed.why =
            decision.text.empty() ? "its handler says that it cannot be dealt with" : decision.text;
    }
    return failed;
}

answer inbox_work::ask(db::connection& on, const received& received, failure& failed) {
    try {
        return config_.handler(on, received);
    } catch (const std::exception& wrong) {
        failed.why = *wrong.what() == '\0' ? "an exception without a text" : wrong.what();
    } catch (...) {
        failed.why = "an exception of an unknown type";
    }
    return answer::done();
}

void inbox_work::refuse(db::connection& on, const received& received, answer& decision) {
    if (decision.compensation.find_header(compensates_header) == nullptr)
        decision.compensation.headers.emplace_back(compensates_header, received.message.id);
    append(on, decision.compensation);
}

report inbox_work::retry(db::connection& on, trial& tries) {
    report result;
    tries.begin();
    const auto now = wall_now();
    quota left{tried_at_once, clock::now() + portion_max};
    for (const auto& each : tables_.due(on, now, tried_at_once))
        retry_key(on, each, now, left, tries, result);
    MORTISE_CRASH_POINT("inbox.retried");
    return result;
}

// Retries a due message and those that wait behind it, until one fails. With a commit for each of
// them, a busy key would never catch up.
void inbox_work::retry_key(
    db::connection& on,
    const inbox_tables::held_row& first,
    std::int64_t now,
    quota& left,
    trial& tries,
    report& into
) {
    std::optional<inbox_tables::held_row> next = first;
    while (next && left.messages > 0 && !tries.is_full()) {
        if (left.messages < tried_at_once && clock::now() >= left.until)
            break;
        --left.messages;
        if (!retry_one(on, *next, now, tries, into))
            break;
        const auto behind = release(on, next->row, now);
        next = behind ? tables_.find_held(on, *behind) : std::nullopt;
    }
}

// Retries one held message. @return whether it was handled.
bool inbox_work::retry_one(
    db::connection& on, inbox_tables::held_row& held, std::int64_t now, trial& tries, report& into
) {
    std::optional<failure> failed;
    if (held.received) {
        number(*held.received, held.attempts + 1);
        into.counts.retried += held.attempts > 0 ? 1u : 0u;
        failed = attempt(on, *held.received, held.row, tries, into);
    } else {
        failed.emplace();
        failed->park = true;
        failed->why = "its row contradicts itself";
    }
    if (!failed)
        return true;
    judge(
        into, *failed, held.attempts + 1, held.received ? held.received->message.id : std::string()
    );
    const auto again = now + pause_after(held.attempts + 1);
    tables_.postpone(on, held, failed->park ? parked : retried, again, failed->why);
    return false;
}

std::optional<std::int64_t> inbox_work::next_due(db::connection& on) const {
    return are_made(on) ? tables_.next_due(on) : std::nullopt;
}

std::map<std::string, std::int64_t> inbox_work::positions(db::connection& on) const {
    return are_made(on) ? tables_.positions(on) : std::map<std::string, std::int64_t>();
}

std::string inbox_work::identity(db::connection& on) const {
    make(on);
    return id_of(on) + '/' + tables_.name();
}

// Decides whether this was the last attempt.
void inbox_work::judge(
    report& into, failure& failed, std::uint32_t attempts, const std::string& id
) {
    ++into.counts.failed;
    failed.park = failed.park || attempts >= config_.attempts_max;
    into.counts.parked += failed.park ? 1u : 0u;
    const auto kind = failed.park ? inbox_event::kind::parked : inbox_event::kind::failed;
    tell(into, kind, id, attempts, failed.why);
}

std::int64_t inbox_work::pause_after(std::uint32_t attempts) {
    const auto bound = coro::backoff_bound({config_.retry_first, config_.retry_max}, attempts);
    const auto pause = jitter_.draw(clock::duration::zero(), bound);
    return std::chrono::duration_cast<std::chrono::microseconds>(pause).count();
}

}  // namespace mortise::outbox::inbox_detail
