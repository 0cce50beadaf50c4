// SPDX-License-Identifier: BSL-1.0
#include "store/mysql/bell.hpp"

#include "mortise/db/mysql_error.hpp"
#include "store/mysql/statement_text.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <utility>

namespace mortise::store_detail {
namespace {

// Longer answers would delay every ring: a session with more locks looks again.
constexpr std::size_t locks_told = 64;

// Waits, unless the session was rung meanwhile, then reads the session with its locks, in one
// snapshot. These are two texts, of which the server begins the second one by itself. In one text
// they would hang: a kill between two statements of a text ends it without a word.
constexpr const char* wait_text =
    "SELECT IF(rings<>{rings},-1,GET_LOCK({own},10)) waited FROM mortise_session WHERE id={s}";
// clang-format off
constexpr const char* read_text =
    "SELECT s.changes,s.rings,s.notices,l.* FROM mortise_session s LEFT JOIN ("
    "(SELECT stamp,request id,base*{one} token,0 slot,"
    "queue>0 AND " MORTISE_OTHERS_WAIT("mortise_lock") " contended "
    "FROM mortise_lock WHERE session={s} AND held=1) "
    "UNION ALL (SELECT w.stamp,w.request,w.token,w.slot,"
    "EXISTS(SELECT 1 FROM mortise_waiter o WHERE o.name=w.name AND o.granted=0 AND "
    "o.session<>w.session) FROM mortise_waiter w WHERE w.session={s} AND w.granted=1) "
    "LIMIT 64) l ON 1 WHERE s.id={s}";
// clang-format on

// A kill has hit the statement: the next one reads again.
bool is_rung(const part_answer& answer) {
    constexpr int interrupted = 1317;
    constexpr int out_of_time = 1969;  // max_statement_time
    return answer.failed.code == db::mysql_error(interrupted) ||
           answer.failed.code == db::mysql_error(out_of_time);
}

// The session has ended, and its row is gone. The connection for calls may still be about to answer
// the call that ended it.
bool is_over(const std::vector<part_answer>& answers) {
    return std::any_of(answers.begin(), answers.end(), [](const auto& each) {
        return !each.failed.code && each.results.at(0).empty();
    });
}

}  // namespace

bell::bell(
    const asio::any_io_executor& strand,
    std::shared_ptr<store_connection> connection,
    push_function pushed,
    std::function<void()> ended
)
    : strand_(strand),
      connection_(std::move(connection)),
      pushed_(std::move(pushed)),
      ended_(std::move(ended)) {}

void bell::listen(core::session_key key, std::string own_lock, numbers known) {
    key_ = key;
    own_lock_ = std::move(own_lock);
    seen_ = known;
    notified_ = known.notices;
    asio::co_spawn(strand_, run(shared_from_this()), asio::detached);
}

void bell::close() noexcept {
    closed_ = true;
    connection_->close();
}

bell::numbers bell::numbers::of(const db::row& session) {
    numbers found;
    found.changes = static_cast<std::uint64_t>(session.integer("changes"));
    found.rings = static_cast<std::uint64_t>(session.integer("rings"));
    found.notices = static_cast<std::uint64_t>(session.integer("notices"));
    return found;
}

mysql_parts bell::question() const {
    constexpr std::int64_t one_base = std::int64_t(1) << fencing_token::sequence_bits;
    mysql_parts parts;
    parts.emplace_back(write_statement(
        wait_text, {{"s", key_}, {"rings", seen_.rings}, {"own", as_bytes(own_lock_)}}
    ));
    parts.emplace_back(write_statement(read_text, {{"s", key_}, {"one", one_base}}));
    return parts;
}

asio::awaitable<void> bell::run([[maybe_unused]] std::shared_ptr<bell> self) {
    while (!closed_) {
        std::vector<part_answer> answers;
        auto asking = connection_->run(question(), answers);
        const auto failed = co_await std::move(asking);
        if (closed_)
            co_return;
        if (failed.code)
            break;
        if (is_over(answers))
            co_return;
        if (!hear(answers))
            break;
    }
    ended_();
}

// @return whether the session can be heard of any longer.
bool bell::hear(const std::vector<part_answer>& answers) {
    const auto& wait = answers.at(0);
    const auto& state = answers.at(1);
    if (!is_rung(wait)) {
        if (wait.failed.code)
            return false;
        // Nobody keeps the lock any longer: the command connection has ended, and the wait would
        // end at once each time.
        const auto& waited = wait.results[0].first();
        if (!waited.is_null(0) && waited.integer(0) == 1)
            return false;
    }
    if (is_rung(state))
        return true;
    if (state.failed.code)
        return false;
    const auto& locks = state.results[0].rows;
    const auto found = numbers::of(locks.front());
    const auto explained = tell_of_locks(locks);
    auto news = std::min<std::uint64_t>(found.changes - seen_.changes, locks_told);
    if (locks.size() < locks_told)
        news -= std::min(news, explained);
    else if (news == 0 && found.rings != seen_.rings)
        news = 1;  // rung for something that is not counted
    push(store_event::kind::look_again, news);
    seen_ = found;
    tell_watcher();
    return true;
}

// A change that came before the session watches, and that it has heard of by its heartbeat, would
// else be told late.
void bell::watches(std::uint64_t notices) {
    --beginning_;
    notified_ = std::max(notified_, notices);
    tell_watcher();
}

void bell::tell_watcher() {
    if (beginning_ != 0 || seen_.notices <= notified_)
        return;
    notified_ = seen_.notices;
    push(store_event::kind::changed, 1);
}

void bell::push(store_event::kind kind, std::uint64_t times) {
    for (; times != 0; --times) {
        sql_push event;
        event.type = kind;
        push(event);
    }
}

// Pushes what is new of the locks that the session holds, as the marks tell.
// @return how many changes of the session that explains: at most one for each mark.
std::uint64_t bell::tell_of_locks(const std::vector<db::row>& locks) {
    std::map<request_id, sql_stamp> found;
    std::uint64_t explained = 0;
    for (const auto& each : locks) {
        if (each.is_null("id"))
            continue;
        sql_push event;
        event.id = static_cast<request_id>(each.integer("id"));
        event.token = static_cast<std::uint64_t>(each.integer("token"));
        event.slot = static_cast<std::uint32_t>(each.integer("slot"));
        event.contended = each.integer("contended") != 0;
        const auto stamp = static_cast<sql_stamp>(each.integer("stamp"));
        const auto before = known_.find(event.id);
        const bool known = before != known_.end();
        found[event.id] = stamp;
        if (known && before->second == stamp)
            continue;
        if ((stamp & mark_granted) != 0 && !known) {
            event.type = store_event::kind::granted;
            push(event);
            ++explained;
        }
        if ((stamp & mark_contended) != 0) {
            event.type = store_event::kind::contended;
            event.contended = true;
            push(event);
            ++explained;
        }
    }
    known_ = std::move(found);
    return explained;
}

void bell::push(sql_push event) {
    event.to = key_;
    pushed_(event);
}

}  // namespace mortise::store_detail
