// SPDX-License-Identifier: BSL-1.0
#include "store/redlock/redlock_requests.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "store/hex_id.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

redlock_requests::redlock_requests(std::shared_ptr<node_group> nodes, const token_domain& tokens)
    : nodes_(std::move(nodes)), tokens_(tokens), returns_(std::make_shared<vote_returns>(nodes_)) {}

void redlock_requests::attach(
    asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
) {
    strand_ = strand;
    events_ = &events;
    nodes_->attach(std::move(strand), std::move(time), *this, weak_from_this());
}

void redlock_requests::detach() noexcept {
    events_ = nullptr;
    nodes_->detach();
}

error_code redlock_requests::check_session() const noexcept {
    if (is_over_)
        return errc::session_lost;
    return has_session_ ? error_code() : errc::store_unavailable;
}

asio::awaitable<result<resumed>> redlock_requests::resume(session_start start) {
    const auto kept = shared_from_this();
    if (start.number != 0) {
        wanted_[start.number] = now();
        co_return prove_set(start.number);
    }
    const auto meant = start.id;
    auto resuming = resume_first(std::move(start));
    if (const auto failed = co_await std::move(resuming))
        co_return failed;
    if (session_.id != meant)
        co_return error_code(errc::outcome_unknown);
    co_return prove_set(0);
}

asio::awaitable<error_code> redlock_requests::resume_first(session_start start) {
    if (session_.id == start.id) {
        if (is_over_ || start.generation <= session_.generation)
            co_return errc::session_lost;
        session_.generation = start.generation;
        auto beating = beat(0);
        const auto proof = co_await std::move(beating);
        co_return proof ? error_code() : proof.error();
    }
    lose_entries(all_entries());
    returns_->forget_all();
    wanted_.clear();
    session_ = start;
    owner_ = short_name(start.id);
    incarnation_ = random_id::draw();
    has_session_ = is_over_ = false;
    auto beginning = nodes_->begin(start);
    const auto failed = co_await std::move(beginning);
    if (session_.id != start.id)
        co_return errc::outcome_unknown;
    retire_sets();
    has_session_ = !failed;
    co_return failed;
}

// Proves a set by what its nodes have acknowledged so far.
result<resumed> redlock_requests::prove_set(proof_number number) const {
    const auto base = nodes_->sets().base(number);
    if (is_over_ || !base)
        return error_code(errc::session_lost);
    resumed reply;
    reply.sent = *base;
    reply.incarnation = incarnation_;
    reply.domain = tokens_;
    reply.view.changes = changes_;
    reply.quarantine = nodes_->quarantine();
    return reply;
}

asio::awaitable<result<heartbeat>> redlock_requests::beat(proof_number number) {
    const auto kept = shared_from_this();
    if (const auto wrong = check_session())
        co_return wrong;
    const auto meant = session_.id;
    wanted_[number] = now();
    auto beating = nodes_->beat(number);
    const auto sent = co_await std::move(beating);
    if (session_.id != meant || is_over_)
        co_return error_code(errc::session_lost);
    if (nodes_->is_lost()) {
        lose_session();
        co_return error_code(errc::session_lost);
    }
    retire_sets();
    notice_unwanted();
    const auto base = nodes_->sets().base(number);
    if (!base)
        co_return error_code(errc::session_lost);
    if (!nodes_->sets().is_proved_since(number, sent))
        co_return error_code(errc::store_unavailable);
    heartbeat reply;
    reply.sent = sent;
    reply.base = base;
    reply.incarnation = incarnation_;
    reply.changes = changes_;
    reply.next_deadline = nodes_->next_deadline();
    reply.quarantine = nodes_->quarantine();
    co_return reply;
}

// Has the client look again if it does not prove a set that keeps grants: it has given the set up,
// and withdraws what it does not know, which heartbeats for others would keep.
void redlock_requests::notice_unwanted() {
    for (auto& [number, at] : wanted_) {
        if (number == 0 || now() - at <= session_.ttl)
            continue;
        at = now();
        changes_ += std::any_of(entries_.begin(), entries_.end(), [of = number](const auto& each) {
            return each.second->at == stage::held && each.second->number == of;
        });
    }
}

void redlock_requests::lose_session() {
    is_over_ = true;
    lose_entries(all_entries());
    retire_sets();
    tell_lost(0);
}

void redlock_requests::lose_entries(const std::vector<entry_ptr>& lost) {
    for (const auto& entry : lost)
        drop(entry);
    ++changes_;
}

// Its set is not of use to it any longer.
void redlock_requests::drop(const entry_ptr& entry) {
    if (std::exchange(entry->is_kept, false))
        nodes_->sets().release(entry->number);
    if (find(entry->id) == entry)
        entries_.erase(entry->id);
}

// Gives up the sets that are lost, with the grants that they kept, and those that are of no use.
void redlock_requests::retire_sets() {
    for (const proof_number number : nodes_->sets().retired()) {
        std::vector<entry_ptr> lost;
        for (const auto& [id, entry] : entries_) {
            if (!entry->is_kept || entry->number != number)
                continue;
            if (entry->at == stage::held)
                lost.push_back(entry);
            else
                entry->is_kept = false;  // It is being released, where its votes are still there.
        }
        if (!lost.empty())
            lose_entries(lost);
        tell_lost(number, lost);
    }
}

// The number of a set stands for another one only after the client was told that it is lost.
void redlock_requests::tell_lost(proof_number number, const std::vector<entry_ptr>& with) {
    asio::post(strand_, [weak = weak_from_this(), id = session_.id, event = loss_of(number), with] {
        const auto self = weak.lock();
        if (!self)
            return;
        auto& sets = self->nodes_->sets();
        const auto retired = sets.retired();
        const bool is_retired =
            std::find(retired.begin(), retired.end(), event.number) != retired.end();
        if (is_retired)
            sets.forget(event.number);
        if (self->events_ && (event.number == 0 ? self->session_.id == id : is_retired))
            self->events_->on_store_event(event);
        self->free_all(with);
    });
}

void redlock_requests::tell(const store_event& event, const std::vector<entry_ptr>& with) {
    asio::post(strand_, [weak = weak_from_this(), id = session_.id, event, with] {
        const auto self = weak.lock();
        if (self && self->events_ && self->session_.id == id)
            self->events_->on_store_event(event);
        if (self)
            self->free_all(with);
    });
}

// Frees grants that the client knows to be lost: before, it still believes in its leases.
void redlock_requests::free_all(const std::vector<entry_ptr>& lost) {
    for (const auto& entry : lost)
        returns_->free_later(entry->at_node());
}

asio::awaitable<result<session_view>> redlock_requests::look(proof_number number) {
    const auto kept = shared_from_this();
    const auto meant = session_.id;
    auto catching_up = catch_up();
    co_await std::move(catching_up);
    const auto wrong = session_.id == meant ? check_session() : errc::session_lost;
    if (wrong || !nodes_->sets().is_kept(number))
        co_return wrong ? wrong : error_code(errc::session_lost);
    session_view seen;
    seen.changes = changes_;
    for (const auto& [id, entry] : entries_) {
        const bool held = entry->at == stage::held;
        if ((!held && entry->at != stage::waiting) || (number != 0 && entry->number != number))
            continue;
        seen.entries.push_back(entry->view(now()));
    }
    co_return seen;
}

// Waits for what a gap in the words of nodes has made us ask for, and for the ballots that follow:
// whoever looks after a heartbeat sees what a lost word would have told. No heartbeat waits for it.
asio::awaitable<void> redlock_requests::catch_up() {
    while (!looks_.empty()) {
        const auto round = looks_.back();
        looks_.pop_back();
        auto waiting = round->wait_until([] { return false; });
        co_await std::move(waiting);
    }
    const auto waiting = entries_;
    for (const auto& [id, entry] : waiting) {
        if (entry->at != stage::waiting || !entry->driven)
            continue;
        auto ending = entry->driven_to_end.async_wait(coro::detail::with_code);
        co_await std::move(ending);
    }
}

asio::awaitable<error_code> redlock_requests::end() {
    const auto kept = shared_from_this();
    lose_entries(all_entries());
    auto ending = nodes_->end();
    const auto failed = co_await std::move(ending);
    if (!failed) {
        is_over_ = true;
        returns_->forget_all();
    }
    co_return failed;
}

std::vector<redlock_requests::entry_ptr> redlock_requests::all_entries() const {
    std::vector<entry_ptr> all;
    for (const auto& [id, entry] : entries_)
        all.push_back(entry);
    return all;
}

redlock_requests::entry_ptr redlock_requests::find(request_id id) const {
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : found->second;
}

bool redlock_requests::is_current(const entry_ptr& entry) const {
    return !is_over_ && find(entry->id) == entry;
}

asio::awaitable<result<answer>> redlock_requests::request(lock_request request) {
    const auto kept = shared_from_this();
    if (request.mode.type() != lock_mode::kind::exclusive ||
        request.hold_max != std::chrono::milliseconds::max())
        co_return error_code(errc::unsupported);
    if (const auto wrong = check_session())
        co_return wrong;
    auto entry = find(request.id);
    if (entry && (entry->at == stage::held || entry->at == stage::waiting))
        co_return entry->as_answer();
    if (entry && entry->at != stage::unanswered)
        co_return error_code(errc::outcome_unknown);
    if (nodes_->reached() < nodes_->majority())
        co_return error_code(errc::store_unavailable);
    if (!entry) {
        last_order_ = std::max(last_order_ + 1, nodes_->median_time());
        entry = std::make_shared<redlock_entry>(
            strand_,
            request.id,
            request.name,
            ballot(nodes_->size(), order_key(last_order_, owner_, request.id), request.queue)
        );
        entries_.emplace(request.id, entry);
    }
    entry->at = stage::asking;
    auto driving = drive(entry, verdict::again);
    const auto end = co_await std::move(driving);
    if (!is_current(entry) || entry->at != stage::asking)
        co_return error_code(is_over_ ? errc::session_lost : errc::outcome_unknown);
    switch (end) {
    case verdict::granted:
        co_return hold(entry);
    case verdict::wait:
        entry->at = stage::waiting;
        stir(entry);
        co_return entry->as_answer();
    case verdict::refused: {
        auto freeing = withdraw(request.name, request.id);
        const auto failed = co_await std::move(freeing);
        if (failed)
            co_return failed;
        co_return answer();
    }
    default:
        entry->at = stage::unanswered;
        co_return error_code(errc::outcome_unknown);
    }
}

answer redlock_requests::hold(const entry_ptr& entry) {
    entry->at = stage::held;
    entry->token = {entry->asked.guess() << fencing_token::sequence_bits, tokens_};
    entry->voters = entry->asked.voters();
    entry->number = nodes_->sets().grant(entry->voters);
    entry->is_kept = true;
    entry->since = now();
    entry->contended = entry->asked.contended();
    wanted_[entry->number] = now();
    return entry->as_answer();
}

asio::awaitable<result<token_range>> redlock_requests::draw(grant held) {
    const auto kept = shared_from_this();
    const auto entry = find(held.id);
    if (!entry || entry->at != stage::held || entry->token != held.token)
        co_return error_code(is_over_ ? errc::session_lost : errc::lease_lost);
    auto drawing = draw_base(nodes_, entry->at_node(), entry->voters);
    const auto base = co_await std::move(drawing);
    if (!is_current(entry) || entry->at != stage::held)
        co_return error_code(errc::lease_lost);
    if (!base && base.error() == errc::lease_lost)
        note_vote_lost(entry);
    if (!base)
        co_return base.error();
    token_range range;
    range.first = {*base << fencing_token::sequence_bits, tokens_};
    range.count = std::uint64_t{1} << fencing_token::sequence_bits;
    co_return range;
}

void redlock_requests::node_told(std::size_t node, const node_message& message) {
    const auto entry = find(message.request);
    if (!entry)
        return;
    const bool held = entry->at == stage::held;
    switch (message.type) {
    case node_message::kind::freed:
        if (!held)
            entry->asked.freed(node, message.news);
        break;
    case node_message::kind::challenged:
        if (!held)
            entry->asked.challenged(node, message.other);
        else if (message.other.owner != owner_)
            tell_contended(entry);
        break;
    case node_message::kind::tried:
        if (held)
            tell_contended(entry);
        break;
    case node_message::kind::broken:
        if (held && message.base == entry->asked.guess())
            note_vote_lost(entry);
        else if (!held)
            entry->asked.lost(node);
        break;
    }
    stir(entry);
}

// Tells it once: all nodes say so. @return whether it was news.
bool redlock_requests::tell_contended(const entry_ptr& entry) {
    if (std::exchange(entry->contended, true))
        return false;
    tell(entry->as_event(store_event::kind::contended));
    return true;
}

// A vote that was taken away is not given back, and the heartbeats of its node would go on to prove
// the set of the grant: so the grant is given up.
void redlock_requests::note_vote_lost(const entry_ptr& entry) {
    const std::vector<entry_ptr> lost(1, entry);
    lose_entries(lost);
    auto event = entry->as_event(store_event::kind::look_again);
    event.change = changes_;
    tell(event, lost);
}

void redlock_requests::node_forgot(std::size_t node) {
    returns_->forget(node);
    for (const auto& [id, entry] : entries_) {
        if (entry->at == stage::held)
            std::erase(entry->voters, node);  // Its set does without that session, too.
        else
            entry->asked.lost(node);
    }
    if (nodes_->is_lost() && has_session_ && !is_over_)
        return lose_session();
    retire_sets();
}

// A request that waits and was not heard by a node, or was refused there, is asked for again.
void redlock_requests::node_proved(std::size_t node) {
    returns_->pay(node);
    const auto round = nodes_->make_round();
    for (const auto& [id, entry] : entries_) {
        const bool is_open = entry->asked.is_unknown(node) && !entry->asked.is_asked(node);
        if (entry->at == stage::waiting && !entry->driven && is_open)
            ask_one(round, entry, node);
    }
}

void redlock_requests::node_votes(std::size_t node) {
    const auto all = entries_;
    for (const auto& [id, entry] : all) {
        entry->asked.opened(node);
        stir(entry);
    }
}

// Asks for what is open at a node, since messages of it may be lost.
void redlock_requests::look_at(std::size_t node) {
    if (!has_session_ || is_over_ || !nodes_->reaches(node))
        return;
    returns_->pay(node);
    const auto round = nodes_->make_round();
    std::erase_if(looks_, [](const auto& each) { return !each->is_open(); });
    looks_.push_back(round);
    ++changes_;  // Whoever looks sees what was lost.
    for (const auto& [id, entry] : entries_) {
        if ((entry->at != stage::waiting && entry->at != stage::asking) ||
            !entry->asked.has_asked())
            continue;
        entry->asked.lost(node);  // Until it says so again: the vote may have been taken away.
        ask_one(round, entry, node);
    }
    check_grants(round, node);
}

void redlock_requests::check_grants(const node_group::round_ptr& round, std::size_t node) {
    std::vector<request_at_node> held;
    for (const auto& [id, entry] : entries_) {
        const auto& voters = entry->voters;
        if (entry->at == stage::held &&
            std::find(voters.begin(), voters.end(), node) != voters.end())
            held.push_back(entry->at_node());
    }
    const auto take = [this](const request_at_node& checked, checked_votes::vote found) {
        const auto entry = find(checked.key.id);
        if (!entry || entry->at != stage::held || entry->asked.guess() != checked.guess)
            return;
        if (found == checked_votes::vote::missing)
            note_vote_lost(entry);
        else if (found == checked_votes::vote::contended && tell_contended(entry))
            ++changes_;
    };
    store_detail::check_votes(*nodes_, round, node, held, take);
}

asio::awaitable<error_code> redlock_requests::withdraw(std::string, request_id id) {
    const auto kept = shared_from_this();
    if (const auto wrong = check_session())
        co_return wrong;
    const auto entry = find(id);
    if (!entry)
        co_return error_code();
    entry->at = stage::leaving;
    auto freeing = returns_->free(entry->at_node());
    const auto count = co_await std::move(freeing);
    if (count.done < nodes_->majority())
        co_return errc::outcome_unknown;
    if (is_current(entry))
        drop(entry);
    co_return error_code();
}

asio::awaitable<result<bool>> redlock_requests::release(grant held) {
    const auto kept = shared_from_this();
    if (const auto wrong = check_session())
        co_return wrong;
    const auto entry = find(held.id);
    const bool again = entry && entry->at == stage::leaving;
    if (!entry || (entry->at != stage::held && !again) || entry->token != held.token ||
        entry->name != held.name || !held.token)
        co_return false;
    entry->at = stage::leaving;
    auto freeing = returns_->free(entry->at_node(), nodes_->majority());
    const auto count = co_await std::move(freeing);
    if (count.done < nodes_->majority())
        co_return error_code(errc::outcome_unknown);
    if (is_current(entry))
        drop(entry);
    co_return count.had + count.owed >= nodes_->majority() || again;
}

}  // namespace mortise::store_detail
