// SPDX-License-Identifier: BSL-1.0
#include "store/redis/queue_link.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "store/redis/redis_answers.hpp"
#include "store/redis/stored_entry.hpp"
#include "store/redis/words.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

namespace mortise::store_detail {
namespace {

std::uint64_t micros(std::chrono::milliseconds time) {
    return static_cast<std::uint64_t>(std::chrono::microseconds(time).count());
}

}  // namespace

queue_link::queue_link(link_settings settings, redis_wire_factory wires)
    : redis_link(std::move(settings), std::move(wires)), keys_(prefix()) {}

std::string queue_link::argument(std::string_view more) const {
    std::string text = std::to_string(session().generation);
    if (!more.empty()) {
        text += ' ';
        text += more;
    }
    return text;
}

written_grants
queue_link::one_grant(request_id id, const fencing_token& token, const std::string& name) const {
    written_grants one(1);
    one.front().id = id;
    one.front().base = token.base();
    one.front().lock = keys_.lock(name);
    one.front().crowd = keys_.crowd(name);
    return one;
}

void queue_link::note_request(request_id id, const std::string& name) {
    if (quorum_)
        requests_.insert_or_assign(id, name);
}

void queue_link::note_crowd(const std::string& name) {
    constexpr std::size_t crowded_max = 1'024;
    if (crowded_.size() == crowded_max)
        crowded_.clear();
    crowded_.insert(name);
}

asio::awaitable<result<redis_value>> queue_link::act_at(lock_call call) {
    const auto kept = shared_from_this();
    ++acting_;
    auto acting = act_in_steps(std::move(call));
    auto reply = co_await std::move(acting);
    acted();
    co_return reply;
}

asio::awaitable<result<redis_value>>
queue_link::act_in_order(std::vector<std::string> locks, std::vector<std::string> texts) {
    const auto kept = shared_from_this();
    ++acting_;
    auto keys = keys_.rules(session_name());
    for (std::size_t i = 0; i < locks.size(); ++i)
        keys_.add_lock(keys, locks[i]);
    texts.insert(texts.begin(), argument({}));
    auto asking =
        act(script_call(redis_script::request_in_order, std::move(keys), std::move(texts)));
    auto reply = co_await std::move(asking);
    acted();
    co_return reply;
}

void queue_link::acted() {
    if (--acting_ != 0)
        return;
    if (const auto idle = std::exchange(acted_last_, nullptr))
        idle->set();
}

std::vector<std::string> queue_link::arguments_of(const lock_call& call) const {
    std::vector<std::string> arguments;
    arguments.reserve(2);
    arguments.push_back(argument(call.text));
    if (!call.released.empty())
        arguments.push_back(call.released);
    return arguments;
}

asio::awaitable<result<redis_value>> queue_link::act_in_steps(lock_call call) {
    const auto meant = session().id;
    const bool has_short_way = call.first != call.rules;
    if (has_short_way && !crowded_.contains(call.name)) {
        auto keys = keys_.brief(session_name(), call.name);
        if (settings().cluster)
            keys.push_back(keys_.never());
        auto trying = act(script_call(call.first, std::move(keys), arguments_of(call)));
        auto reply = co_await std::move(trying);
        // A server whose memory is full refuses the first write of the short way. The rules still
        // answer a request that the store has already.
        const bool undecided =
            reply ? is_out_of_ordinary(*reply) : reply.error() == errc::store_full;
        if (!undecided)
            co_return reply;
        if (session().id != meant)
            co_return error_code(errc::outcome_unknown);
        if (reply)
            note_crowd(call.name);
    }
    auto keys = keys_.rules(session_name());
    keys_.add_lock(keys, call.name);
    auto asking = act(script_call(call.rules, std::move(keys), arguments_of(call)));
    auto reply = co_await std::move(asking);
    if (has_short_way && reply && leaves_ordinary(*reply))
        crowded_.erase(call.name);
    co_return reply;
}

asio::awaitable<result<lock_turn>> queue_link::session_turn(std::string name) {
    const auto kept = shared_from_this();
    const auto meant = session().id;
    auto waiting = turns_->take(strand(), std::move(name));
    auto turn = co_await std::move(waiting);
    if (session().id != meant)
        co_return error_code(errc::outcome_unknown);
    co_return result<lock_turn>(std::move(turn));
}

// In the order of their names: so two of these calls cannot wait for each other.
asio::awaitable<result<std::vector<lock_turn>>>
queue_link::session_turns(std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::vector<lock_turn> turns;
    turns.reserve(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        auto waiting = session_turn(std::move(names[i]));
        auto turn = co_await std::move(waiting);
        if (!turn)
            co_return turn.error();
        turns.push_back(std::move(*turn));
    }
    co_return result<std::vector<lock_turn>>(std::move(turns));
}

void queue_link::attach(
    asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
) {
    redis_link::attach(std::move(strand), events, std::move(time));
    const auto replicas = settings().min_replicas;
    if (replicas != 0) {
        quorum_ = std::make_shared<replica_quorum>(
            redis_link::strand(),
            redis_link::time(),
            replicas,
            scripts()[redis_script::confirm],
            settings().confirming_wires ? settings().confirming_wires : wires()
        );
    }
}

void queue_link::dropped() noexcept {
    if (quorum_)
        quorum_->close();
}

asio::awaitable<redis_failure> queue_link::prepare(wire_ptr wire) {
    return wire->subscribe(keys_.inbox(session_name()));
}

asio::awaitable<result<resumed>> queue_link::prove() {
    const auto sent = now();
    if (session().generation == 1)
        requests_.clear();
    auto resuming = resume_session();
    const auto raw = co_await std::move(resuming);
    if (!raw)
        co_return raw.error();
    auto session = parse_resumed(*raw);
    if (!session && is_spread(*raw))
        remember(
            {errc::bad_config,
             "the store is spread over the cluster in buckets: leave out buckets=1, or give this "
             "one another prefix"}
        );
    if (const auto parts = other_parts(*raw); !session && !parts.empty())
        remember(
            {errc::bad_config,
             "the locks are in " + parts + " buckets here, and " +
                 std::to_string(settings().parts) + " are named: say buckets=" + parts}
        );
    if (!session)
        co_return session.error();
    note_state(std::move(session->run), session->now + micros(redis_link::session().ttl));
    auto confirming = confirm(written_grants());
    if (const auto failed = co_await std::move(confirming))
        co_return failed;
    seen_ = true;
    set_domain(session->domain);
    resumed reply;
    reply.sent = sent;
    reply.incarnation = session->incarnation;
    reply.domain = session->domain;
    reply.view.changes = session->changes;
    reply.quarantine = session->quarantine;
    co_return reply;
}

// A store that is not here may be one of format 1, which no cluster can have.
asio::awaitable<result<redis_value>> queue_link::resume_session() {
    for (bool looked = settings().cluster;; looked = true) {
        auto keys = keys_.all(session_name());
        auto arguments = resume_arguments(looked);
        auto resuming = evaluate(
            newest_wire(), script_call(redis_script::resume, std::move(keys), std::move(arguments))
        );
        auto raw = co_await std::move(resuming);
        if (!raw || looked || !is_missing(*raw))
            co_return raw;
        auto taking = take_over();
        if (const auto failed = co_await std::move(taking))
            co_return failed;
    }
}

// Has programs of format 1 refuse to use this store, and takes one of theirs over.
asio::awaitable<error_code> queue_link::take_over() {
    store_keys::list record;
    record.push_back(keys_.old_record());
    auto retiring = evaluate(
        newest_wire(), script_call(redis_script::retire, std::move(record), store_keys::list())
    );
    const auto found = co_await std::move(retiring);
    if (!found)
        co_return found.error();
    if (found->text != "1")
        co_return error_code();
    auto keys = keys_.migration();
    auto migrating = evaluate(
        newest_wire(), script_call(redis_script::migrate, std::move(keys), store_keys::list())
    );
    const auto done = co_await std::move(migrating);
    if (!done)
        co_return done.error();
    if (done->text == "b")
        co_return remember(
            {errc::store_unavailable, "programs of an older version still use this store"}
        );
    co_return error_code();
}

std::vector<std::string> queue_link::resume_arguments(bool looked) const {
    std::vector<std::string> arguments;
    arguments.push_back(session().id.text());
    arguments.push_back(std::to_string(session().generation));
    arguments.push_back(std::to_string(session().ttl.count()));
    arguments.push_back(session().host);
    arguments.push_back(session().label);
    arguments.push_back(std::to_string(session().pid));
    arguments.push_back(random_id::draw().text());
    arguments.push_back(settings().domain);
    // A client that had a session at this store knows that the store is not new.
    arguments.push_back(settings().assume_new && !seen_ ? "1" : "0");
    arguments.push_back(std::to_string(settings().longest_ttl.count()));
    arguments.push_back(looked ? "1" : "0");
    const auto& common = settings().common_domain;
    arguments.push_back(common ? *common : std::string());
    arguments.push_back(std::to_string(settings().parts));
    return arguments;
}

void queue_link::note_state(std::string run, std::uint64_t deadline) {
    run_ = std::move(run);
    deadline_ = deadline;
    write_accepted();
}

asio::awaitable<error_code> queue_link::confirm(written_grants grants) {
    constexpr std::size_t at_once = 256;
    if (!quorum_)
        co_return error_code();
    const auto kept = shared_from_this();
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(patience());
    do {
        const auto first = grants.size() - std::min(grants.size(), at_once);
        written_state state;
        state.keys = keys_.own(session_name());
        state.session = argument(run_) + ' ' + std::to_string(deadline_);
        state.grants.assign(grants.begin() + static_cast<std::ptrdiff_t>(first), grants.end());
        grants.resize(first);
        const auto asked = state.grants;
        auto reaching = quorum_->reach(std::move(state), limit);
        const auto answer = co_await std::move(reaching);
        if (const auto failed = judge(answer, asked))
            co_return failed;
    } while (!grants.empty());
    co_return error_code();
}

asio::awaitable<error_code> queue_link::confirm(const session_view& view) {
    written_grants grants;
    for (const auto& each : view.entries) {
        if (each.granted && run_ == "-")
            grants.push_back(one_grant(each.id, each.token, each.name).front());
    }
    return confirm(std::move(grants));
}

error_code queue_link::judge(const quorum_answer& answer, const written_grants& asked) {
    if (answer.elsewhere) {
        leave_server({answer.code, "the address leads to another server by now"});
        return answer.code;
    }
    if (answer.code == errc::not_enough_replicas) {
        const std::string text = "waiting for replicas: " + answer.code.message();
        if (now() - too_few_since_.value_or(now()) >= session().ttl)
            leave_server({answer.code, text});
        else
            remember({answer.code, text});
        too_few_since_ = too_few_since_.value_or(now());
        return answer.code;
    }
    if (answer.code)
        return remember({answer.code, "waiting for replicas: " + answer.code.message()});
    too_few_since_.reset();
    for (const auto id : answer.missing) {
        const auto is_it = [id](const auto& each) { return each.id == id; };
        if (std::any_of(asked.begin(), asked.end(), is_it))
            return remember(
                {errc::outcome_unknown,
                 "a grant is not at the server that has the "
                 "replicas"}
            );
    }
    return error_code();
}

// Needs no connection of the session: an end whose answer was lost leaves a session that is dead
// and gets none any more, with some of its entries.
asio::awaitable<result<std::string>> queue_link::end() {
    const auto kept = shared_from_this();
    auto settling = settle();
    co_await std::move(settling);
    const std::string name = session_name();
    if (name.empty())
        co_return error_code(errc::store_unavailable);
    if (acting_ != 0) {
        if (!acted_last_)
            acted_last_ = std::make_shared<coro::event>(strand());
        const auto idle = acted_last_;
        auto waiting = idle->async_wait(coro::detail::with_code);
        co_await std::move(waiting);
    }
    auto keys = keys_.rules(name);
    auto ending = ask(script_call(redis_script::end, std::move(keys), store_keys::list()));
    const auto reply = co_await std::move(ending);
    if (!reply)
        co_return reply.error();
    if (const auto failed = parse_ended(*reply))
        co_return failed;
    co_return name;
}

void queue_link::ended(const std::string& name) {
    if (name == session_name())
        end_session();
}

void queue_link::on_message(const std::string& text) {
    if (const auto event = parse_push(text, domain()))
        hear(*event);
}

// Tells a grant only when the replicas have it, too: before that it does not count.
void queue_link::hear(const store_event& event) {
    if (event.type == store_event::kind::look_again)
        requests_.erase(event.id);
    if (quorum_ && event.type == store_event::kind::granted)
        asio::co_spawn(strand(), tell_confirmed(shared_from_this(), event), asio::detached);
    else
        tell_now(event);
}

asio::awaitable<void>
queue_link::tell_confirmed([[maybe_unused]] std::shared_ptr<session_link> self, store_event event) {
    const auto meant = session().id;
    const auto asked = requests_.find(event.id);
    if (asked == requests_.end() && run_ == "-") {
        tell(store_event::kind::look_again);  // A look confirms each grant.
        co_return;
    }
    auto confirming = confirm(
        asked == requests_.end() ? written_grants()
                                 : one_grant(event.id, event.token, asked->second)
    );
    const auto failed = co_await std::move(confirming);
    if (!failed)
        requests_.erase(event.id);
    if (!failed && session().id == meant)
        tell_now(event);  // If not, the next heartbeat that is confirmed finds the grant.
}

std::optional<store_event> parse_push(std::string_view message, const token_domain& domain) {
    words reader(message);
    const auto kind = reader.next();
    store_event event;
    std::uint64_t base = 0;
    if (kind == "g" || kind == "t") {
        event.type = kind == "g" ? store_event::kind::granted : store_event::kind::contended;
        event.id = reader.number();
        base = reader.base();
        event.slot = reader.number<std::uint32_t>();
        event.contended = kind == "t" || reader.flag();
        event.change = reader.number();
    } else if (kind == "a") {
        event.type = store_event::kind::look_again;
        if (!reader.at_end()) {
            event.id = reader.number();
            event.change = reader.number();
        }
    } else if (kind == "c") {
        event.type = store_event::kind::changed;
    } else {
        return std::nullopt;
    }
    if (reader.failed() || !reader.at_end() || event.slot > lock_mode::capacity_max)
        return std::nullopt;
    if (base != 0)  // A slot beyond the limit would not fit into a domain.
        event.token = token_of(base, event.slot, domain);
    return event;
}

}  // namespace mortise::store_detail
