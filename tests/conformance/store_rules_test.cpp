// SPDX-License-Identifier: BSL-1.0
// Checks that every store keeps the rules of core/lock_engine: it answers random wishes as the
// memory store does, which runs the engine itself. A judge that knows no store looks on.
#include "conformance/grant_judge.hpp"
#include "conformance/memory_harness.hpp"
#include "conformance/peer.hpp"
#include "conformance/port_conformance.hpp"
#include "support/amount.hpp"
#include "support/choices.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using std::chrono::milliseconds;

/// With `watched` every change is watched, so that a store with short ways for simple requests does
/// not go them. With `plain` most wishes are such that it does. With `crowds` many hold one lock
/// together.
enum class wishes : std::uint8_t { watched, plain, crowds };

/// Whether each push is told as the engine says, or so, but that several in a row may be told as
/// ones to look, or is a hint, which may be one to look at all.
enum class pushes : std::uint8_t { answers, merged_answers, hints };

/// What a store may lack that walks otherwise ask for.
struct walk_limits {
    bool hold_max = true;
    bool extend = true;
    bool draws_when_contended = true;
    bool release_and_request = true;  ///< In one step.
    bool ends_at_once = true;         ///< Sessions; else others get slots meanwhile.
};

/// The record of a walk, in words.
struct walk_record {
    std::vector<std::string> steps;
    /// The events of each session after each step.
    std::vector<std::vector<std::string>> events;
};

/// Some sessions at one store, and a record of what they did and were told.
class walk {
public:
    /// @param wanted the record of the same walk at another store; null: there is none.
    walk(
        store_harness& harness,
        std::uint64_t seed,
        wishes of,
        pushes how,
        walk_limits limits,
        const walk_record* wanted
    )
        : harness_(harness),
          random_(seed),
          of_(of),
          pushes_(how),
          limits_(limits),
          wanted_(wanted) {}

    asio::awaitable<void> run(unsigned steps) {
        for (unsigned i = 0; i < sessions; ++i) {
            peers_.push_back(std::make_unique<peer>(harness_, std::chrono::seconds(30)));
            co_await peers_.back()->open();
        }
        record_.steps.emplace_back();
        co_await look();
        record_.steps.clear();
        for (unsigned i = 0; i < steps; ++i) {
            record_.steps.emplace_back();
            co_await step();
            co_await look();
            EXPECT_EQ(judge_.objection(views_), "") << record_.steps.back();
        }
        for (const auto& each : peers_)
            EXPECT_FALSE(co_await each->port().end());
    }

    walk_record take_record() { return std::move(record_); }

private:
    static constexpr unsigned sessions = 3;
    static constexpr std::chrono::seconds patience{5};

    struct known_request {
        unsigned session;
        request_id id;
        std::string name;
    };

    void say(const std::string& text) { record_.steps.back() += text + "; "; }

    // Names a token by the order of first appearance: the values differ from store to store, and
    // only which of them come again counts.
    std::string text_of(const fencing_token& token) {
        if (!token)
            return "-";
        const auto known = tokens_.emplace(token.value, tokens_.size()).first;
        return "token " + std::to_string(known->second);
    }

    // Whether other slots than those of the engine are sound is for the judge.
    std::string text_of(const fencing_token& token, std::uint32_t slot) {
        const auto text = text_of(token);
        return limits_.ends_at_once ? text + " " + std::to_string(slot) : text;
    }

    std::string text_of(const result<answer>& reply) {
        if (!reply)
            return reply.error().message();
        switch (reply->type) {
        case answer::kind::granted:
            return "granted " + text_of(reply->token, reply->slot) +
                   (reply->contended ? " contended" : "");
        case answer::kind::queued:
            return "queued";
        case answer::kind::refused:
            break;
        }
        return "refused";
    }

    // Only so far as the times of two stores agree.
    static std::string text_of(milliseconds hold_max) {
        if (hold_max == milliseconds::max())
            return "";
        return hold_max < std::chrono::hours(2) ? " for an hour" : " for two hours";
    }

    static std::string text_of(store_event::kind type) {
        switch (type) {
        case store_event::kind::granted:
            return "granted";
        case store_event::kind::contended:
            return "contended";
        case store_event::kind::session_lost:
            return "lost";
        case store_event::kind::look_again:
            return "look";
        case store_event::kind::unsure:
            return "unsure";
        case store_event::kind::changed:
            return "changed";
        }
        return "?";
    }

    asio::awaitable<void> step() {
        const unsigned who = random_.pick(sessions);
        switch (random_.pick(12)) {
        case 0:
        case 1:
        case 2:
        case 3:
            co_return co_await ask(who);
        case 4:
            co_return co_await ask_in_order(who);
        case 5:
        case 6:
        case 7:
            if (of_ == wishes::crowds && random_.pick(2) == 0)
                co_return co_await ask(who);
            co_return co_await release(who);
        case 8:
        case 9:
            co_return co_await withdraw(who);
        case 10:
            if (limits_.extend && random_.pick(2) == 0)
                co_return co_await extend(who);
            co_return co_await draw(who);
        default:
            if (random_.pick(3) == 0)
                co_return co_await begin_again(who);
            co_return co_await take(who);
        }
    }

    std::string some_name() {
        static const std::string names[] = {
            "door", std::string("a b\0c\n", 6), ":1:x ", "pool", "book"};
        return names[random_.pick(of_ == wishes::crowds ? 5 : 3)];
    }

    asio::awaitable<void> ask(unsigned who) {
        const lock_mode modes[] = {
            lock_mode::exclusive(),
            lock_mode::shared(),
            lock_mode::permits(2),
            lock_mode::permits(3),
        };
        if (of_ == wishes::crowds && random_.pick(8) != 0) {
            const bool pool = random_.pick(3) != 0;
            const peer::manner shared{pool ? lock_mode::permits(30) : lock_mode::shared()};
            auto asking = ask(who, pool ? "pool" : "book", shared);
            co_return co_await std::move(asking);
        }
        const auto name = some_name();
        if (of_ == wishes::plain && random_.pick(4) != 0) {
            const peer::manner plain;
            auto asking = ask(who, name, plain);
            co_return co_await std::move(asking);
        }
        const auto mode = modes[random_.pick(4)];
        const bool ends = random_.pick(4) == 0 && limits_.hold_max;
        const peer::manner how{
            mode, ends ? std::chrono::hours(1) : milliseconds::max(), random_.pick(4) != 0};
        auto asking = ask(who, name, how);
        co_await std::move(asking);
    }

    asio::awaitable<void> ask(unsigned who, std::string name, peer::manner how) {
        judge_.know(who, peers_[who]->last_id() + 1, how.mode);
        auto asking = peers_[who]->ask_for(name, how);
        const auto reply = co_await std::move(asking);
        say("session " + std::to_string(who) + " asks: " + text_of(reply));
        requests_.push_back({who, peers_[who]->last_id(), name});
    }

    asio::awaitable<void> ask_in_order(unsigned who) {
        std::set<std::string> names;
        for (unsigned left = 1 + random_.pick(4); left > 0; --left)
            names.insert(some_name());
        std::vector<lock_request> wishes;
        for (const auto& name : names) {
            peer::manner how;
            const auto chosen = random_.pick(6);
            if (chosen < 2)
                how.mode = chosen == 0 ? lock_mode::shared() : lock_mode::permits(2);
            how.queue = random_.pick(4) != 0;
            wishes.push_back(peers_[who]->wish_for(name, how));
            judge_.know(who, wishes.back().id, how.mode);
            requests_.push_back({who, wishes.back().id, name});
        }
        auto asking = peers_[who]->port().request_in_order(std::move(wishes));
        const auto answers = co_await std::move(asking);
        std::string text = "session " + std::to_string(who) + " asks in order:";
        for (std::size_t i = 0; i < answers->size(); ++i)
            text += " " + text_of((*answers)[i]);
        say(text);
    }

    asio::awaitable<void> release(unsigned who) {
        for (const auto& entry : views_[who].entries) {
            if (!entry.granted || random_.pick(3) == 0)
                continue;
            grant held;
            held.id = entry.id;
            held.name = entry.name;
            held.token = entry.token;
            if (random_.pick(8) == 0)
                held.token.value += 1u << fencing_token::sequence_bits;
            if (random_.pick(3) == 0)
                co_return co_await release_and_ask(who, std::move(held));
            auto releasing = peers_[who]->port().release(held);
            const auto released = co_await std::move(releasing);
            say("releases: " + std::to_string(released.value()));
            co_return;
        }
    }

    asio::awaitable<void> release_and_ask(unsigned who, grant held) {
        peer::manner how;
        how.mode = random_.pick(4) == 0 ? lock_mode::shared() : lock_mode::exclusive();
        how.queue = random_.pick(4) != 0;
        const auto wish = peers_[who]->wish_for(held.name, how);
        judge_.know(who, wish.id, how.mode);
        requests_.push_back({who, wish.id, wish.name});
        auto& port = peers_[who]->port();
        auto turning = limits_.release_and_request
                           ? port.release_and_request(std::move(held), wish)
                           : port.store::release_and_request(std::move(held), wish);
        const auto both = co_await std::move(turning);
        say("releases: " + std::to_string(*both.released) + ", asks: " + text_of(both.asked));
    }

    asio::awaitable<void> withdraw(unsigned who) {
        if (requests_.empty())
            co_return;
        const auto known = requests_[random_.pick(requests_.size())];
        auto withdrawing = peers_[who]->port().withdraw(name_of(who, known), known.id);
        say("withdraws: " + (co_await std::move(withdrawing)).message());
    }

    // An id belongs to one lock: if this session has used it, too, names its lock.
    std::string name_of(unsigned who, const known_request& of_any) const {
        const auto own = std::find_if(requests_.rbegin(), requests_.rend(), [&](const auto& each) {
            return each.session == who && each.id == of_any.id;
        });
        return own == requests_.rend() ? of_any.name : own->name;
    }

    asio::awaitable<void> draw(unsigned who) {
        for (const auto& entry : views_[who].entries) {
            if (!entry.granted)
                continue;
            if (!limits_.draws_when_contended) {
                auto looking = peers_[who]->port().inspect(entry.name, 0);
                const auto seen = co_await std::move(looking);
                if (*seen && (*seen)->waiter_count != 0)
                    co_return;
            }
            grant held;
            held.id = entry.id;
            held.name = entry.name;
            held.token = entry.token;
            auto drawing = peers_[who]->port().draw(held);
            const auto drawn = co_await std::move(drawing);
            say("draws: " + (drawn ? text_of(drawn->first) : drawn.error().message()));
            co_return;
        }
    }

    asio::awaitable<void> extend(unsigned who) {
        for (const auto& entry : views_[who].entries) {
            if (random_.pick(3) == 0)
                continue;
            grant held;
            held.id = entry.id;
            held.name = entry.name;
            held.token = entry.token;
            if (random_.pick(8) == 0)
                held.token.value += 1u << fencing_token::sequence_bits;
            const bool ends = random_.pick(3) != 0;
            auto extending = peers_[who]->port().extend(
                held, ends ? milliseconds(std::chrono::hours(2)) : milliseconds::max()
            );
            const auto kept = co_await std::move(extending);
            say("extends: " + (kept ? "done" : kept.error().message()));
            co_return;
        }
    }

    asio::awaitable<void> take(unsigned who) {
        const auto name = some_name();
        auto looking = peers_[who]->port().inspect(name, 10);
        const auto seen = co_await std::move(looking);
        if (!*seen || (*seen)->holders.empty())
            co_return;
        auto breaking = peers_[who]->break_(name, (*seen)->holders.front().token);
        say("breaks: " + std::to_string((co_await std::move(breaking)).value()));
    }

    asio::awaitable<void> begin_again(unsigned who) {
        EXPECT_FALSE(co_await peers_[who]->port().end());
        co_await peers_[who]->open();
        if (of_ == wishes::watched)
            co_await peers_[who]->port().watch();
        say("session " + std::to_string(who) + " begins again");
    }

    // Records what each session has and was told.
    asio::awaitable<void> look() {
        for (unsigned who = 0; who < sessions; ++who) {
            auto looking = peers_[who]->port().look(0);
            auto view = co_await std::move(looking);
            std::sort(view->entries.begin(), view->entries.end(), [](auto& a, auto& b) {
                return a.id < b.id;
            });
            for (const auto& each : view->entries)
                say(std::to_string(each.id) + " " + each.name + " " +
                    text_of(each.token, each.slot) + text_of(each.hold_max) +
                    (each.contended ? " contended" : ""));
            // A hint may be told twice.
            if (pushes_ != pushes::hints)
                say("changes " + std::to_string(view->changes));
            views_[who] = std::move(*view);
            auto beating = peers_[who]->port().beat(0);
            const auto beat = co_await std::move(beating);
            // After this, every event that has arrived is told.
            co_await asio::post(harness_.executor(), asio::use_awaitable);
            co_await asio::post(harness_.executor(), asio::use_awaitable);
            say(counts_of(who, *beat));
            co_await tell(who);
        }
        for (const auto& each : peers_) {
            if (of_ == wishes::watched)
                co_await each->port().watch();
        }
    }

    // A store that counts nothing must have shown as many as another one counts.
    std::string counts_of(unsigned who, const heartbeat& beat) {
        std::uint64_t grants = beat.grants;
        std::uint64_t requests = beat.requests;
        if (!peers_[who]->port().traits().counts) {
            const auto& entries = views_[who].entries;
            const auto granted = std::count_if(entries.begin(), entries.end(), [](auto& each) {
                return each.granted;
            });
            grants = static_cast<std::uint64_t>(granted);
            requests = entries.size() - grants;
        }
        return std::to_string(grants) + " grants, " + std::to_string(requests);
    }

    // Takes the events of a session, and waits for those that the other store has told: a push may
    // be slower than the answer to a later question.
    asio::awaitable<void> tell(unsigned who) {
        std::vector<std::string> lines = take_lines(who);
        if (const auto* const wanted = wanted_lines()) {
            const auto end = harness_.time()->now() + patience;
            for (;;) {
                if (pushes_ == pushes::merged_answers)
                    part_merged(lines, *wanted);
                if (covers(lines, *wanted))
                    break;
                const auto now = harness_.time()->now();
                if (now >= end) {
                    ADD_FAILURE() << "session " << who
                                  << " was not told: " << testing::PrintToString(*wanted)
                                  << " but: " << testing::PrintToString(lines) << " after "
                                  << record_.steps.back();
                    wanted_ = nullptr;  // Waits for nothing more: the walks differ.
                    break;
                }
                co_await harness_.time()->async_wait_until(now + milliseconds(1));
                for (auto& each : take_lines(who))
                    lines.push_back(std::move(each));
            }
        }
        std::sort(lines.begin(), lines.end());
        forget_late_change(lines);
        if (pushes_ != pushes::hints) {
            for (const auto& each : lines)
                say("told: " + each);
        }
        record_.events.push_back(std::move(lines));
    }

    // Names what each line to look stands for: one of the grants and contentions that are missing.
    // A grant that is read late tells of those who have come since, too.
    static void
    part_merged(std::vector<std::string>& lines, const std::vector<std::string>& wanted) {
        static const std::string contended = " contended";
        const auto look = text_of(store_event::kind::look_again);
        const auto spare = [&](const std::string& line) {
            return std::count(lines.begin(), lines.end(), line) >
                   std::count(wanted.begin(), wanted.end(), line);
        };
        const auto missing = [&](const std::string& line) {
            return std::count(lines.begin(), lines.end(), line) <
                   std::count(wanted.begin(), wanted.end(), line);
        };
        for (const auto& each : wanted) {
            const bool granted = each.starts_with("granted");
            if ((!granted && !each.starts_with("contended")) || !missing(each))
                continue;
            if (granted && spare(each + contended))
                *std::find(lines.begin(), lines.end(), each + contended) = each;
            else if (spare(look))
                *std::find(lines.begin(), lines.end(), look) = each;
        }
    }

    // A heartbeat may tell of a change whose push is still on its way. If the session watches again
    // before the push arrives, it is told a second time, and looks once more than it had to.
    void forget_late_change(std::vector<std::string>& lines) const {
        const auto late = text_of(store_event::kind::changed);
        const auto* const wanted = wanted_lines();
        if (!wanted || std::count(wanted->begin(), wanted->end(), late) != 0)
            return;
        if (const auto at = std::find(lines.begin(), lines.end(), late); at != lines.end())
            lines.erase(at);
    }

    // A hint may be wrong about those who wait, and may tell of them together with a grant.
    std::vector<std::string> take_lines(unsigned who) {
        const bool hints = pushes_ == pushes::hints;
        std::vector<std::string> lines;
        for (const auto& each : peers_[who]->take_events()) {
            const bool granted = each.type == store_event::kind::granted;
            std::string of_lock;
            if (granted || each.type == store_event::kind::contended)
                of_lock = " " + std::to_string(each.id) + " " + text_of(each.token, each.slot);
            lines.push_back(text_of(each.type) + of_lock);
            if (each.contended && !hints)
                lines.back() += " contended";
            if (each.contended && hints && granted)
                lines.push_back(text_of(store_event::kind::contended) + of_lock);
        }
        return lines;
    }

    const std::vector<std::string>* wanted_lines() const {
        const std::size_t place = record_.events.size();
        return wanted_ && place < wanted_->events.size() ? &wanted_->events[place] : nullptr;
    }

    // A hint to look stands for all others.
    bool
    covers(const std::vector<std::string>& lines, const std::vector<std::string>& wanted) const {
        const auto has = [&](const std::string& line) {
            return std::count(lines.begin(), lines.end(), line) >=
                   (pushes_ != pushes::hints ? std::count(wanted.begin(), wanted.end(), line) : 1);
        };
        if (pushes_ != pushes::hints)
            return std::all_of(wanted.begin(), wanted.end(), has);
        return has(text_of(store_event::kind::look_again)) ||
               std::all_of(wanted.begin(), wanted.end(), has);
    }

    store_harness& harness_;
    choices random_;
    const wishes of_;
    const pushes pushes_;
    const walk_limits limits_;
    std::vector<std::unique_ptr<peer>> peers_;
    std::vector<known_request> requests_;
    std::map<unsigned, session_view> views_;
    std::map<std::uint64_t, std::size_t> tokens_;
    const walk_record* wanted_;
    walk_record record_;
    grant_judge judge_;
};

walk_record walked(
    store_harness& harness,
    std::uint64_t seed,
    wishes of,
    pushes how,
    walk_limits limits,
    const walk_record* wanted = nullptr
) {
    constexpr unsigned steps = 150;
    walk at(harness, seed, of, how, limits, wanted);
    harness.run([](walk& on) -> asio::awaitable<void> { co_await on.run(steps); }(at));
    EXPECT_EQ(harness.residue(), 0u);
    return at.take_record();
}

void expect_the_same(harness_factory make, std::uint64_t seed, wishes of) {
    memory_harness memory;
    const auto other = make();
    const auto how = other->pushes_are_hints() ? pushes::hints
                     : other->pushes_merge()   ? pushes::merged_answers
                                               : pushes::answers;
    walk_limits limits;
    const auto traits = other->make_store()->traits();
    limits.hold_max = traits.hold_max;
    limits.extend = traits.extend;
    limits.release_and_request = traits.release_and_request;
    limits.draws_when_contended = other->draws_when_contended();
    limits.ends_at_once = other->ends_at_once();
    const auto wanted = walked(memory, seed, of, how, limits);
    const auto found = walked(*other, seed, of, how, limits, &wanted);
    for (std::size_t i = 0; i < wanted.steps.size() && i < found.steps.size(); ++i) {
        ASSERT_EQ(wanted.steps[i], found.steps[i])
            << "seed " << seed << ", step " << i << ", after " << (i ? wanted.steps[i - 1] : "");
    }
    ASSERT_EQ(wanted.steps.size(), found.steps.size());
}

void expect_the_same(harness_factory make, wishes of) {
    constexpr std::uint64_t at_least = 5;
    constexpr auto time_for_more = std::chrono::minutes(2);  // at a real server of a busy machine
    // Each look at a crowd is long.
    const std::uint64_t seeds =
        of == wishes::crowds ? 3 : amount("MORTISE_RULES_SEEDS", at_least, 60);
    const auto begun = clock::now();
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        if (seed > at_least && clock::now() - begun > time_for_more)
            break;
        ASSERT_NO_FATAL_FAILURE(expect_the_same(make, seed, of)) << "seed " << seed;
    }
}

TEST_P(StoreRules, AreThoseOfTheLockEngine) {
    const bool can_watch = GetParam()()->make_store()->traits().records;
    expect_the_same(GetParam(), can_watch ? wishes::watched : wishes::plain);
}

TEST_P(StoreRules, AreThoseOfTheLockEngineInACrowd) {
    expect_the_same(GetParam(), wishes::crowds);
}

TEST_P(StoreRules, AreThoseOfTheLockEngineOnTheShortWays) {
    expect_the_same(GetParam(), wishes::plain);
}

}  // namespace
}  // namespace mortise::test
