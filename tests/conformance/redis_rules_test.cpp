// SPDX-License-Identifier: BSL-1.0
// Checks that the scripts keep the rules of core/lock_engine: both answer the same random wishes
// alike.
#include "conformance/memory_harness.hpp"
#include "conformance/peer.hpp"
#include "conformance/redis_harness.hpp"
#include "support/choices.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {
namespace {

/// With `watched` every change is watched, so that no script goes its short way. With `plain` most
/// wishes are such that it does.
enum class wishes : std::uint8_t { watched, plain };

/// Some sessions at one store, and a record in words of what they did and were told.
class walk {
public:
    walk(store_harness& harness, std::uint64_t seed, wishes of)
        : harness_(harness), random_(seed), of_(of) {}

    asio::awaitable<void> run(unsigned steps) {
        for (unsigned i = 0; i < sessions; ++i) {
            peers_.push_back(std::make_unique<peer>(harness_, std::chrono::seconds(30)));
            co_await peers_.back()->open();
        }
        record_.emplace_back();
        co_await look();
        record_.clear();
        for (unsigned i = 0; i < steps; ++i) {
            record_.emplace_back();
            co_await step();
            co_await look();
        }
        for (const auto& each : peers_)
            EXPECT_FALSE(co_await each->port().end());
    }

    const std::vector<std::string>& record() const { return record_; }

private:
    static constexpr unsigned sessions = 3;

    struct known_request {
        unsigned session;
        request_id id;
        std::string name;
    };

    void say(const std::string& text) { record_.back() += text + "; "; }

    // Names a token by the order of first appearance: the values differ from store to store, and
    // only which of them come again counts.
    std::string text_of(const fencing_token& token) {
        if (!token)
            return "-";
        const auto known = tokens_.emplace(token.value, tokens_.size()).first;
        return "token " + std::to_string(known->second);
    }

    std::string text_of(const result<answer>& reply) {
        if (!reply)
            return reply.error().message();
        switch (reply->type) {
        case answer::kind::granted:
            return "granted " + text_of(reply->token) + " slot " + std::to_string(reply->slot) +
                   (reply->contended ? " contended" : "");
        case answer::kind::queued:
            return "queued";
        case answer::kind::refused:
            break;
        }
        return "refused";
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
        case 4:
            co_return co_await ask(who);
        case 5:
        case 6:
        case 7:
            co_return co_await release(who);
        case 8:
        case 9:
            co_return co_await withdraw(who);
        case 10:
            co_return co_await draw(who);
        default:
            if (random_.pick(3) == 0)
                co_return co_await begin_again(who);
            co_return co_await take(who);
        }
    }

    std::string some_name() {
        static const std::string names[] = {"door", std::string("a b\0c\n", 6), ":1:x "};
        return names[random_.pick(3)];
    }

    asio::awaitable<void> ask(unsigned who) {
        const lock_mode modes[] = {
            lock_mode::exclusive(),
            lock_mode::shared(),
            lock_mode::permits(2),
            lock_mode::permits(3),
        };
        const auto name = some_name();
        if (of_ == wishes::plain && random_.pick(4) != 0) {
            const peer::manner plain;
            auto asking = ask(who, name, plain);
            co_return co_await std::move(asking);
        }
        const peer::manner how{
            modes[random_.pick(4)],
            random_.pick(4) == 0 ? std::chrono::hours(1) : std::chrono::milliseconds::max(),
            random_.pick(4) != 0};
        auto asking = ask(who, name, how);
        co_await std::move(asking);
    }

    asio::awaitable<void> ask(unsigned who, std::string name, peer::manner how) {
        auto asking = peers_[who]->ask_for(name, how);
        const auto reply = co_await std::move(asking);
        say("session " + std::to_string(who) + " asks: " + text_of(reply));
        requests_.push_back({who, peers_[who]->last_id(), name});
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
            auto releasing = peers_[who]->port().release(held);
            const auto released = co_await std::move(releasing);
            say("releases: " + std::to_string(released.value()));
            co_return;
        }
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

    // Records what each session has and was told. A push comes before the answer to a later
    // question.
    asio::awaitable<void> look() {
        for (unsigned who = 0; who < sessions; ++who) {
            auto looking = peers_[who]->port().look(0);
            auto view = co_await std::move(looking);
            std::sort(view->entries.begin(), view->entries.end(), [](auto& a, auto& b) {
                return a.id < b.id;
            });
            for (const auto& each : view->entries)
                say(std::to_string(each.id) + " " + each.name + " " + text_of(each.token) + " " +
                    std::to_string(each.slot) + (each.contended ? " contended" : ""));
            say("changes " + std::to_string(view->changes));
            views_[who] = std::move(*view);
            auto beating = peers_[who]->port().beat(0);
            const auto beat = co_await std::move(beating);
            // After this, every event that has arrived is told.
            co_await asio::post(harness_.executor(), asio::use_awaitable);
            co_await asio::post(harness_.executor(), asio::use_awaitable);
            say(std::to_string(beat->grants) + " grants, " + std::to_string(beat->requests));
            tell(who);
        }
        for (const auto& each : peers_) {
            if (of_ == wishes::watched)
                co_await each->port().watch();
        }
    }

    void tell(unsigned who) {
        std::vector<std::string> lines;
        for (const auto& each : peers_[who]->take_events()) {
            auto text = text_of(each.type);
            if (each.type == store_event::kind::granted ||
                each.type == store_event::kind::contended)
                text += " " + std::to_string(each.id) + " " + text_of(each.token) + " " +
                        std::to_string(each.slot) + (each.contended ? " contended" : "");
            lines.push_back(std::move(text));
        }
        std::sort(lines.begin(), lines.end());
        for (const auto& each : lines)
            say("told: " + each);
    }

    store_harness& harness_;
    choices random_;
    const wishes of_;
    std::vector<std::unique_ptr<peer>> peers_;
    std::vector<known_request> requests_;
    std::map<unsigned, session_view> views_;
    std::map<std::uint64_t, std::size_t> tokens_;
    std::vector<std::string> record_;
};

std::vector<std::string> walked(store_harness& harness, std::uint64_t seed, wishes of) {
    walk at(harness, seed, of);
    harness.run([](walk& on) -> asio::awaitable<void> { co_await on.run(150); }(at));
    EXPECT_EQ(harness.residue(), 0u);
    return at.record();
}

void expect_the_same(std::uint64_t seed, wishes of) {
    memory_harness memory;
    redis_harness redis;
    const auto wanted = walked(memory, seed, of);
    const auto found = walked(redis, seed, of);
    for (std::size_t i = 0; i < wanted.size() && i < found.size(); ++i) {
        ASSERT_EQ(wanted[i], found[i])
            << "seed " << seed << ", step " << i << ", after " << (i ? wanted[i - 1] : "");
    }
    ASSERT_EQ(wanted.size(), found.size());
}

TEST(RedisRules, AreThoseOfTheLockEngine) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed)
        ASSERT_NO_FATAL_FAILURE(expect_the_same(seed, wishes::watched));
}

TEST(RedisRules, AreThoseOfTheLockEngineOnTheShortWays) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed)
        ASSERT_NO_FATAL_FAILURE(expect_the_same(seed, wishes::plain));
}

}  // namespace
}  // namespace mortise::test
