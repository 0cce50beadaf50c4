// SPDX-License-Identifier: BSL-1.0
#include "store/redis/single_key_link.hpp"

#include "store/redis/single_key_values.hpp"
#include "store/redis/words.hpp"

#include <algorithm>
#include <utility>

namespace mortise::store_detail {
namespace {

using stage = single_key_entry::stage;

// How many keys one call of a script names: the server does nothing else meanwhile.
constexpr std::size_t portion = 250;

}  // namespace

single_key_link::single_key_link(
    link_settings settings, redis_wire_factory wires, const token_domain& tokens
)
    : redis_link(std::move(settings), std::move(wires)), tokens_(tokens), lines_(*this, prefix()) {
    set_domain(tokens_);
}

void single_key_link::attach(
    asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
) {
    redis_link::attach(std::move(strand), events, std::move(time));
    lines_.attach(redis_link::strand(), redis_link::time(), wires(), weak_from_this());
}

std::string single_key_link::counter() const {
    return key_of(std::string(single_key_counter));
}

bool single_key_link::is_counter(const std::string& name) const {
    return name == single_key_counter;
}

std::string single_key_link::id_of(request_id id) const {
    return single_key_id(session().id, id);
}

void single_key_link::begin_session() {
    lines_.begin_session();
    entries_.begin_session();
    generation_ = 0;
    set_incarnation(random_id::draw());
}

asio::awaitable<result<resumed>> single_key_link::resume(session_start start) {
    const auto kept = shared_from_this();
    auto opening = open(std::move(start));
    auto reply = co_await std::move(opening);
    if (reply)
        lines_.go();
    co_return reply;
}

// Renews all keys before it answers: a grant that was lost meanwhile must not seem to be proved.
asio::awaitable<result<resumed>> single_key_link::prove() {
    if (session().generation < generation_)
        co_return error_code(errc::session_lost);
    generation_ = session().generation;
    resumed reply;
    reply.sent = now();
    auto renewing = renew(newest_wire());
    if (const auto failed = co_await std::move(renewing))
        co_return failed;
    reply.incarnation = incarnation();
    reply.domain = tokens_;
    reply.view = view();
    co_return reply;
}

void single_key_link::came_back(const random_id& before) {
    redis_link::came_back(before);
    lines_.go();
}

asio::awaitable<result<answer>> single_key_link::request(lock_request request) {
    if (is_counter(request.name))
        co_return cannot("the key " + counter() + " counts tokens: it cannot be a lock");
    if (request.mode.type() != lock_mode::kind::exclusive ||
        request.hold_max != std::chrono::milliseconds::max())
        co_return error_code(errc::unsupported);
    const auto* const known = entries_.find(request.id);
    const bool repeated = known != nullptr && known->at == stage::unanswered;
    if (known != nullptr && !repeated)
        co_return single_key_entries::again(*known);
    if (!wire())
        co_return error_code(errc::store_unavailable);
    const auto others_until = lines_.gave_way_until(request.name);
    const bool may_take =
        !lines_.contains(request.name) && (!request.queue || others_until <= now());
    if (repeated || may_take) {
        auto trying = first_attempt(std::move(request));
        co_return co_await std::move(trying);
    }
    if (!request.queue)
        co_return answer();
    entries_.add(request.id, request.name);
    const answer queued = join(request.id, request.name);
    lines_.hold_back(request.name, others_until);
    co_return queued;
}

asio::awaitable<result<answer>> single_key_link::first_attempt(lock_request request) {
    const auto kept = shared_from_this();
    const auto meant = session().id;
    const bool plainly = entries_.is_newest(request.id) && tokens_.empty();
    const bool repeated = entries_.find(request.id) != nullptr;
    single_key_entry& asked = entries_.add(request.id, request.name);
    asked.at = stage::asking;
    asked.maybe_set = true;
    auto taking = take(request.name, request.id, plainly);
    const auto reply = co_await std::move(taking);
    single_key_entry* const entry = session().id == meant ? entries_.find(request.id) : nullptr;
    if (entry == nullptr || entry->at != stage::asking)  // Withdrawn: it is freed behind this.
        co_return error_code(errc::outcome_unknown);
    if (!reply && (repeated || reply.error() == errc::outcome_unknown)) {
        entry->at = stage::unanswered;  // An earlier attempt may have taken it.
        co_return reply.error();
    }
    if (!reply) {
        entries_.erase(request.id);
        co_return reply.error();
    }
    if (reply->taken)
        co_return entries_.granted(request.id, reply->token, now());
    entry->maybe_set = false;
    if (request.queue)
        co_return join(request.id, request.name);
    entries_.erase(request.id);
    co_return answer();
}

// Queues a request in the line of its lock. Its position counts the holder and this session's
// requests ahead of it; nobody knows how many requests wait elsewhere.
answer single_key_link::join(request_id id, const std::string& name) {
    entries_.at(id).at = stage::waiting;
    answer reply;
    reply.type = answer::kind::queued;
    reply.position = lines_.join(id, name);
    return reply;
}

// Takes the lock by a plain SET, as clients of any make do, or by a script. A plain SET cannot tell
// that an earlier attempt of the same request has already taken the lock.
asio::awaitable<result<single_key_attempt>>
single_key_link::take(std::string name, request_id id, bool plainly) {
    if (!plainly) {
        auto by_script = take_by_script(std::move(name), id);
        co_return co_await std::move(by_script);
    }
    redis_command set{"SET", key_of(name), id_of(id), "NX", "PX"};
    set.push_back(std::to_string(session().ttl.count()));
    auto asking = command(wire(), std::move(set));
    const auto reply = co_await std::move(asking);
    if (!reply)
        co_return reply.error();
    if (reply->type == redis_value::kind::error)
        co_return refused(wire(), *reply);
    write_accepted();  // A server that lacks replicas refuses the command, whoever has the lock.
    single_key_attempt fresh;
    fresh.taken = reply->type == redis_value::kind::text;
    fresh.token = single_key_mark(id_of(id));
    co_return fresh;
}

asio::awaitable<result<single_key_attempt>>
single_key_link::take_by_script(std::string name, request_id id) {
    std::vector<std::string> arguments;
    arguments.push_back(key_of(name));
    arguments.push_back(id_of(id));
    arguments.push_back(std::to_string(session().ttl.count()));
    arguments.push_back(tokens_.empty() ? std::string() : counter());
    auto asking =
        evaluate(wire(), script_call(redis_script::single_key_take, std::move(arguments)));
    const auto reply = co_await std::move(asking);
    if (!reply)
        co_return reply.error();
    if (reply->items.size() != 2)
        co_return error_code(errc::store_corrupt);
    single_key_attempt fresh;
    fresh.taken = reply->items[0].text == "g";
    fresh.free_in_ms = reply->items[1].number;
    if (fresh.taken && tokens_.empty()) {
        fresh.token = single_key_mark(id_of(id));
    } else if (fresh.taken) {
        words base(reply->items[1].text);
        fresh.token = {base.base() << fencing_token::sequence_bits, tokens_};
        if (base.failed())
            co_return error_code(errc::store_corrupt);
    }
    co_return fresh;
}

asio::awaitable<result<single_key_attempt>>
single_key_link::try_take(std::string name, request_id id) {
    entries_.at(id).maybe_set = true;
    return take_by_script(std::move(name), id);
}

void single_key_link::tried(request_id id, const single_key_attempt& outcome) {
    if (!outcome.taken) {
        entries_.at(id).maybe_set = false;
        return;
    }
    entries_.granted(id, outcome.token, now());
    store_event event;
    event.type = store_event::kind::granted;
    event.id = id;
    event.token = outcome.token;
    tell_now(event);
}

asio::awaitable<error_code> single_key_link::withdraw(std::string name, request_id id) {
    const auto kept = shared_from_this();
    const auto* const entry = entries_.find(id);
    const bool nowhere = entry != nullptr && !entry->maybe_set;
    lines_.leave(id, name);
    if (nowhere) {
        entries_.erase(id);
        co_return error_code();
    }
    single_key_entry& leaving = entries_.add(id, name);
    leaving.at = stage::leaving;
    leaving.maybe_set = true;
    auto freeing = free(std::move(name), id);
    const auto freed = co_await std::move(freeing);
    co_return freed ? error_code() : freed.error();
}

// Frees the key if the request has it, and forgets the request then. Without an answer it stays
// known: the end of the session frees it.
asio::awaitable<result<bool>> single_key_link::free(std::string name, request_id id) {
    const auto meant = session().id;
    std::vector<std::string> arguments;
    arguments.push_back(key_of(name));
    arguments.push_back(id_of(id));
    auto freeing =
        evaluate(wire(), script_call(redis_script::single_key_free, std::move(arguments)));
    const auto reply = co_await std::move(freeing);
    if (!reply)
        co_return reply.error();
    if (session().id == meant)
        entries_.erase(id);
    co_return reply->number > 0;
}

asio::awaitable<result<bool>> single_key_link::release(grant held) {
    const auto kept = shared_from_this();
    single_key_entry* const entry = entries_.find(held.id);
    if (entry == nullptr || entry->token != held.token || entry->name != held.name || !held.token)
        co_return false;
    entry->at = stage::leaving;
    if (entry->contended)
        lines_.give_way(held.name);
    auto freeing = free(std::move(held.name), held.id);
    co_return co_await std::move(freeing);
}

asio::awaitable<result<heartbeat>> single_key_link::beat() {
    const auto kept = shared_from_this();
    heartbeat reply;
    reply.sent = now();
    auto renewing = renew(wire());
    if (const auto failed = co_await std::move(renewing))
        co_return failed;
    reply.incarnation = incarnation();
    entries_.describe(reply);
    co_return reply;
}

asio::awaitable<error_code> single_key_link::renew(wire_ptr by) {
    const auto kept = shared_from_this();
    const auto meant = session().id;
    const auto all = entries_.to_renew();
    if (all.empty()) {
        auto asking = command(by, {"PING"});
        const auto reply = co_await std::move(asking);
        co_return reply ? error_code() : reply.error();
    }
    for (std::size_t from = 0; from < all.size(); from += portion) {
        const std::size_t count = std::min(portion, all.size() - from);
        std::vector<request_id> ids;
        std::vector<std::string> arguments;
        arguments.push_back(std::to_string(session().ttl.count()));
        for (std::size_t at = from; at < from + count; ++at) {
            const auto* const entry = entries_.find(all[at]);
            if (entry == nullptr)
                continue;
            ids.push_back(all[at]);
            arguments.push_back(key_of(entry->name));
            arguments.push_back(id_of(all[at]));
        }
        auto asking =
            evaluate(by, script_call(redis_script::single_key_renew, std::move(arguments)));
        const auto reply = co_await std::move(asking);
        if (!reply)
            co_return reply.error();
        write_accepted();
        if (session().id != meant)
            co_return errc::outcome_unknown;
        if (const auto wrong = judge_renewed(ids, *reply))
            co_return wrong;
    }
    co_return error_code();
}

// Erases the grants that are lost, and tells which others are contended. A lost grant changes the
// incarnation, which makes all leases of the client unsure until it has looked: this heartbeat must
// not prove the lost one.
error_code
single_key_link::judge_renewed(const std::vector<request_id>& ids, const redis_value& reply) {
    if (reply.items.size() != ids.size())
        return errc::store_corrupt;
    bool lost = false;
    for (std::size_t at = 0; at < ids.size(); ++at) {
        single_key_entry* const entry = entries_.find(ids[at]);
        if (entry == nullptr || entry->at != stage::held)
            continue;
        const auto listening = reply.items[at].number;
        if (listening < 0) {
            entries_.lose(ids[at]);
            lost = true;
            continue;
        }
        const bool own = lines_.hears(entry->name);
        if (listening > (own ? 1 : 0) && !std::exchange(entry->contended, true)) {
            store_event event;
            event.type = store_event::kind::contended;
            event.id = ids[at];
            tell(event);
        }
    }
    if (lost)
        set_incarnation(random_id::draw());
    return error_code();
}

asio::awaitable<result<token_range>> single_key_link::draw(grant held) {
    const auto kept = shared_from_this();
    single_key_entry* const entry = entries_.find(held.id);
    if (entry == nullptr || entry->token != held.token || entry->at != stage::held)
        co_return error_code(errc::lease_lost);
    constexpr std::uint64_t block = std::uint64_t{1} << fencing_token::sequence_bits;
    token_range range;
    range.count = block;
    range.first = held.token;
    if (tokens_.empty()) {
        range.first.value += block * ++entry->drawn;
        co_return range;
    }
    std::vector<std::string> arguments;
    arguments.push_back(key_of(held.name));
    arguments.push_back(id_of(held.id));
    arguments.push_back(counter());
    auto asking =
        evaluate(wire(), script_call(redis_script::single_key_draw, std::move(arguments)));
    const auto reply = co_await std::move(asking);
    if (!reply)
        co_return reply.error();
    if (reply->type != redis_value::kind::text)
        co_return error_code(errc::lease_lost);
    words base(reply->text);
    range.first.value = base.base() << fencing_token::sequence_bits;
    if (base.failed())
        co_return error_code(errc::store_corrupt);
    co_return range;
}

asio::awaitable<error_code> single_key_link::free_all(std::vector<request_id> ids) {
    for (std::size_t from = 0; from < ids.size(); from += portion) {
        const std::size_t end = std::min(from + portion, ids.size());
        std::vector<std::string> arguments;
        for (std::size_t at = from; at < end; ++at) {
            const auto* const entry = entries_.find(ids[at]);
            if (entry == nullptr)
                continue;
            arguments.push_back(key_of(entry->name));
            arguments.push_back(id_of(ids[at]));
        }
        auto freeing =
            evaluate(wire(), script_call(redis_script::single_key_free, std::move(arguments)));
        const auto reply = co_await std::move(freeing);
        if (!reply)
            co_return reply.error();
    }
    co_return error_code();
}

asio::awaitable<error_code> single_key_link::end() {
    const auto kept = shared_from_this();
    auto settling = settle();
    if (!co_await std::move(settling))
        co_return errc::store_unavailable;
    // Empties the lines first, so that no waiting request is granted while the keys are freed.
    lines_.disband();
    auto freeing = free_all(entries_.maybe_set());
    if (const auto failed = co_await std::move(freeing))
        co_return failed;
    entries_.clear();
    end_session();
    co_return error_code();
}

}  // namespace mortise::store_detail
