// SPDX-License-Identifier: BSL-1.0
#include "store/redlock/node_group.hpp"

#include "mortise/coro/detail/with_code.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

node_group::node_group(std::vector<link_ptr> nodes)
    : nodes_(std::move(nodes)), sets_(nodes_.size()) {}

void node_group::attach(
    asio::any_io_executor strand,
    std::shared_ptr<coro::time_source> time,
    node_watcher& requests,
    std::weak_ptr<void> owner
) {
    strand_ = std::move(strand);
    time_ = std::move(time);
    requests_ = &requests;
    owner_ = std::move(owner);
    for (const auto& each : nodes_)
        each->bind(strand_, time_, *this, owner_);
}

void node_group::detach() noexcept {
    for (const auto& each : nodes_)
        each->detach();
}

asio::awaitable<error_code> node_group::begin(session_start start) {
    const auto kept = shared_from_this();
    start_ = std::move(start);
    wrong_ = {};
    repeated_.clear();
    ++begins_;
    sets_.lose_all();
    for (const auto& each : nodes_)
        each->end_here();
    const auto round = make_round();
    begin_missing(round);
    // Worth a little more time than other rounds: a node that is missing now is missing in the sets
    // of the first grants.
    const auto grace = std::min<clock::duration>(start_.ttl / 20, std::chrono::milliseconds(100));
    auto waiting = round->wait([this] { return !is_lost() || wrong_; }, grace);
    co_await std::move(waiting);
    if (wrong_)
        co_return wrong_;
    co_return is_lost() ? errc::store_unavailable : error_code();
}

void node_group::begin_missing(const round_ptr& round) {
    for (std::size_t index = 0; index < size(); ++index) {
        if (!nodes_[index]->is_idle() || repeated_.contains(index))
            continue;
        round->sent();
        asio::co_spawn(strand_, begin_at(shared_from_this(), index, round), asio::detached);
    }
}

asio::awaitable<void> node_group::begin_at(
    [[maybe_unused]] std::shared_ptr<node_group> self, std::size_t index, round_ptr round
) {
    auto beginning = nodes_[index]->begin(start_);
    const error_code failed = co_await std::move(beginning);
    if (failed == errc::bad_config || failed == errc::newer_format || failed == errc::not_a_store)
        wrong_ = failed;
    if (repeated_.contains(index)) {
        nodes_[index]->end_here();
        wrong_ = nodes_[index]->refuse_repeated();
    }
    round->answered();
}

// Two names of one server: its vote would count twice.
bool node_group::is_repeated(std::size_t index) const {
    for (std::size_t other = 0; other < size(); ++other) {
        if (other != index && sets_.lives(other) &&
            nodes_[other]->state().start == nodes_[index]->state().start)
            return true;
    }
    return false;
}

// Heartbeats of a client that reaches too few nodes must not keep what its waiters have at those
// that it reaches: others may need just these. Its leases have ended by then.
bool node_group::is_lost() const {
    const auto base = sets_.base(0);
    const bool is_proved = base && now() - *base <= start_.ttl;
    const auto newest = sets_.newest();
    const bool keeps_some = newest && now() - *newest <= start_.ttl;
    return !base || (!is_proved && keeps_some);
}

std::size_t node_group::reached() const {
    std::size_t count = 0;
    for (std::size_t index = 0; index < size(); ++index)
        count += reaches(index);
    return count;
}

void node_group::call(
    const round_ptr& round, std::size_t index, script_call wanted, const reply_taker& take
) {
    round->sent();
    asio::co_spawn(
        strand_, call_one(shared_from_this(), round, index, std::move(wanted), take), asio::detached
    );
}

asio::awaitable<void> node_group::call_one(
    [[maybe_unused]] std::shared_ptr<node_group> self,
    round_ptr round,
    std::size_t index,
    script_call wanted,
    reply_taker take
) {
    const auto owner = owner_.lock();
    const auto serial = sets_.serial(index);
    auto arguments = std::move(wanted.arguments);
    auto acting =
        nodes_[index]->act_for_session(wanted.script, std::move(wanted.keys), std::move(arguments));
    result<redis_value> reply = co_await std::move(acting);
    if (serial == 0 || sets_.serial(index) != serial)
        reply = error_code(errc::session_lost);
    if (owner)
        take(reply);
    round->answered();
}

// --- Heartbeats -------------------------------------------------------------------------------

asio::awaitable<clock::time_point> node_group::beat(proof_number number) {
    const auto kept = shared_from_this();
    const auto round = beats();
    auto waiting = round->wait_until([this, number, sent = round->began()] {
        return !sets_.is_kept(number) || sets_.is_proved_since(number, sent);
    });
    co_await std::move(waiting);
    co_return round->began();
}

// The heartbeats of all sets are due at one time: one round of them is enough.
node_group::round_ptr node_group::beats() {
    if (beating_ && beating_->is_open() && now() - beating_->began() <= start_.ttl / 20)
        return beating_;
    forget_unreachable();
    begin_missing(make_round());
    beating_ = make_round();
    for (std::size_t index = 0; index < size(); ++index) {
        if (reaches(index))
            beat_at(beating_, index);
    }
    return beating_;
}

// A session at a node that has not heard of us for so long is dead, whatever the node says later.
void node_group::forget_unreachable() {
    for (std::size_t index = 0; index < size(); ++index) {
        const auto heard = sets_.acknowledged_at(index);
        if (sets_.lives(index) && !nodes_[index]->connected() && now() - heard > 3 * start_.ttl)
            note_gone(index);
    }
}

void node_group::beat_at(const round_ptr& round, std::size_t index) {
    std::vector<std::string> arguments;
    arguments.push_back(std::to_string(start_.ttl.count()));
    call(
        round,
        index,
        script_call(
            redis_script::redlock_beat, nodes_[index]->keys().common(), std::move(arguments)
        ),
        [this, index, sent = round->began()](const auto& reply) { take_beat(index, sent, reply); }
    );
}

void node_group::take_beat(
    std::size_t index, clock::time_point sent, const result<redis_value>& reply
) {
    if (!reply)
        return;
    auto state = parse_node_state(*reply);
    if (!state && state.error() == errc::session_lost)
        return note_gone(index);
    if (!state)
        return;
    sets_.acknowledged(index, sent);
    node_link& from = *nodes_[index];
    const bool voted = from.votes();
    const auto news = state->news;
    from.note_state(std::move(*state));
    if (news > from.news()) {
        from.note_news(news);
        requests_->look_at(index);
    }
    if (!voted && from.votes())
        requests_->node_votes(index);
    requests_->node_proved(index);
    tend(index);
}

// Sees to what a heartbeat has told.
void node_group::tend(std::size_t index) {
    const auto& state = nodes_[index]->state();
    if (!state.dead.empty() && expelling_.insert(index).second)
        asio::co_spawn(strand_, expel(shared_from_this(), index, state.dead), asio::detached);
    // By the word of the node: what is read before the end of the quarantine is worth nothing.
    const bool forgot = !state.knows_counters && state.closed <= clock::duration::zero();
    if (forgot && restoring_.insert(index).second)
        asio::co_spawn(strand_, restore(shared_from_this(), index, state.start), asio::detached);
}

asio::awaitable<void> node_group::expel(
    [[maybe_unused]] std::shared_ptr<node_group> self,
    std::size_t index,
    std::vector<std::string> sessions
) {
    for (const auto& session : sessions) {
        auto burying = bury(index, session);
        if (const auto failed = co_await std::move(burying))
            break;
    }
    expelling_.erase(index);
}

// Frees what a dead session has at a node, in portions.
asio::awaitable<error_code> node_group::bury(std::size_t index, std::string session) {
    const auto link = nodes_[index];
    const auto& keys_of = link->keys();
    std::string cursor = "0";
    bool removes = false;
    for (;;) {
        redis_command scan{"HSCAN", keys_of.index(session), cursor, "COUNT", "64"};
        auto scanning = link->send(std::move(scan));
        const auto page = co_await std::move(scanning);
        if (!page)
            co_return page.error();
        if (page->items.size() != 2)
            co_return errc::store_corrupt;
        auto keys = keys_of.with_facts();
        keys.push_back(keys_of.index(session));
        std::vector<std::string> arguments;
        arguments.push_back(session);
        const auto& pairs = page->items[1].items;
        for (std::size_t at = 0; at + 1 < pairs.size(); at += 2) {
            arguments.push_back(pairs[at].text);
            keys_of.add_lock(keys, pairs[at + 1].text);
        }
        auto expelling = link->ask(
            script_call(redis_script::redlock_expel, std::move(keys), std::move(arguments))
        );
        const auto left = co_await std::move(expelling);
        if (!left)
            co_return left.error();
        if (left->number <= 0)
            co_return error_code();
        removes = removes || !pairs.empty();
        cursor = page->items[0].text;
        if (cursor == "0" && !std::exchange(removes, false))
            co_return errc::store_corrupt;  // It has entries that no pass over it finds.
    }
}

// Brings a node that has forgotten its counters those of others, which are read now, after its
// quarantine. If too few of them know theirs, all nodes must answer, and their clocks count. They
// also know of TTLs that the node may have forgotten: its quarantine is as long as the longest.
asio::awaitable<void> node_group::restore(
    [[maybe_unused]] std::shared_ptr<node_group> self, std::size_t index, std::string start
) {
    std::uint64_t longest = 0;
    std::size_t known = 0;
    std::size_t answered = 0;
    std::uint64_t top_of_known = 0;
    std::uint64_t top_of_all = 0;
    for (std::size_t other = 0; other < size(); ++other) {
        if (!nodes_[other]->connected())
            continue;
        auto asking = nodes_[other]->ask(script_call(
            redis_script::redlock_counter, nodes_[other]->keys().common(), node_keys::list()
        ));
        const auto reply = co_await std::move(asking);
        const auto counters = reply ? parse_counters(*reply) : reply.error();
        if (!counters)
            continue;
        ++answered;
        longest = std::max(longest, counters->longest);
        top_of_all = std::max({top_of_all, counters->top, counters->time});
        if (other != index && counters->known) {
            ++known;
            top_of_known = std::max(top_of_known, counters->top);
        }
    }
    const bool by_others = known >= majority();
    if (by_others || answered == size()) {
        std::vector<std::string> arguments;
        arguments.push_back(start);
        arguments.push_back(std::to_string(by_others ? top_of_known : top_of_all));
        arguments.push_back(std::to_string(longest));
        auto restoring = nodes_[index]->ask(script_call(
            redis_script::redlock_restore, nodes_[index]->keys().common(), std::move(arguments)
        ));
        const auto reply = co_await std::move(restoring);
        const auto owner = owner_.lock();
        if (owner && reply && reply->number == 1 && nodes_[index]->state().start == start) {
            nodes_[index]->note_restored();
            requests_->node_votes(index);
        }
    }
    restoring_.erase(index);
}

// --- The end ----------------------------------------------------------------------------------

asio::awaitable<error_code> node_group::end() {
    const auto kept = shared_from_this();
    const auto round = make_round();
    const auto ended = std::make_shared<std::size_t>(0);
    ++ending_;
    for (std::size_t index = 0; index < size(); ++index) {
        round->sent();
        asio::co_spawn(strand_, end_at(kept, index, round, ended), asio::detached);
    }
    // A node that is not told keeps what it has for a TTL, so that some time is worth it.
    const clock::duration patience =
        std::min<clock::duration>(start_.ttl / 3, std::chrono::seconds(1));
    auto waiting = round->wait([this, ended] { return *ended >= majority(); }, patience);
    co_await std::move(waiting);
    --ending_;
    if (*ended < majority())
        co_return errc::store_unavailable;
    sets_.lose_all();
    for (const auto& each : nodes_)
        each->end_here();
    co_return error_code();
}

asio::awaitable<void> node_group::end_at(
    [[maybe_unused]] std::shared_ptr<node_group> self,
    std::size_t index,
    round_ptr round,
    std::shared_ptr<std::size_t> ended
) {
    const auto begins = begins_;
    auto settling = nodes_[index]->settled();
    co_await std::move(settling);
    if (begins != begins_) {
        // What is there now is a session of the next one.
    } else if (!sets_.lives(index)) {
        ++*ended;  // Nothing of us is there.
    } else if (reaches(index)) {
        auto ending = nodes_[index]->act_for_session(
            redis_script::redlock_end, nodes_[index]->keys().common(), std::vector<std::string>()
        );
        const auto marked = co_await std::move(ending);
        if (marked) {
            auto burying = bury(index, nodes_[index]->session_name());
            const auto failed = co_await std::move(burying);
            *ended += !failed;
        }
    }
    round->answered();
}

// --- News -------------------------------------------------------------------------------------

void node_group::node_opened(std::size_t index, bool is_new, clock::time_point sent) {
    if (is_repeated(index)) {
        repeated_.insert(index);
        return;
    }
    nodes_[index]->note_news(nodes_[index]->state().news);
    if (is_new)
        sets_.opened(index, sent);
    else
        sets_.acknowledged(index, sent);
    requests_->look_at(index);
}

void node_group::node_lost(std::size_t index) {
    sets_.lost(index);
    requests_->node_forgot(index);
}

void node_group::node_told(std::size_t index, const node_message& message) {
    if (nodes_[index]->note_news(message.news))
        requests_->look_at(index);
    requests_->node_told(index, message);
}

// The connection tells that keys were thrown away: perhaps those of the session.
void node_group::node_unsure(std::size_t index) {
    if (reaches(index))
        beat_at(make_round(), index);
}

std::vector<std::uint64_t> node_group::times() const {
    std::vector<std::uint64_t> known;
    for (const auto& each : nodes_) {
        if (const auto time = each->estimated_time(); time != 0)
            known.push_back(time);
    }
    std::sort(known.begin(), known.end());
    return known;
}

std::uint64_t node_group::latest_time() const {
    const auto known = times();
    return known.empty() ? 0 : known.back();
}

std::uint64_t node_group::median_time() const {
    const auto known = times();
    return known.empty() ? 0 : known[(known.size() - 1) / 2];
}

clock::duration node_group::quarantine() const {
    std::vector<clock::duration> left;
    for (std::size_t index = 0; index < size(); ++index) {
        if (sets_.lives(index))
            left.push_back(nodes_[index]->closed_for());
    }
    if (left.size() < majority())
        return {};
    std::sort(left.begin(), left.end());
    return left[majority() - 1];
}

std::optional<clock::duration> node_group::next_deadline() const {
    std::optional<clock::duration> next;
    const auto consider = [&](clock::duration each) { next = std::min(next.value_or(each), each); };
    for (std::size_t index = 0; index < size(); ++index) {
        if (!reaches(index))
            continue;
        const auto& state = nodes_[index]->state();
        if (state.dead.size() >= node_state::portion)
            consider({});  // There may be more of them.
        if (state.next_deadline)
            consider(*state.next_deadline);
        if (const auto closed = nodes_[index]->closed_for(); closed > closed.zero())
            consider(closed);
    }
    return next;
}

token_strength node_group::strength() const noexcept {
    const bool all = std::all_of(nodes_.begin(), nodes_.end(), [](const auto& each) {
        return each->strength() == token_strength::strict;
    });
    return all ? token_strength::strict : token_strength::durable_if_configured;
}

std::string node_group::explain() const {
    std::string text;
    for (const auto& each : nodes_) {
        const auto of_node = each->explain();
        if (of_node.empty())
            continue;
        if (!text.empty())
            text += "; ";
        text += of_node;
    }
    return text;
}

}  // namespace mortise::store_detail
