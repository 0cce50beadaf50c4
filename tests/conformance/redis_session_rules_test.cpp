// SPDX-License-Identifier: BSL-1.0
// Checks that the scripts keep core/session_rules: who may act, when a session ends, how long a
// quarantine lasts, over random steps at a model of the server.
#include "core/session_rules.hpp"
#include "redis_model/model_redis.hpp"
#include "store/redis/redis_scripts.hpp"
#include "store/redis/store_keys.hpp"
#include "support/choices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::test::redis_session_rules_test {
namespace {

using redis_model::model_redis;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using store_detail::redis_script;
using store_detail::redis_value;

constexpr milliseconds longest(2'000);

/// What a heartbeat says, as far as it concerns the rules.
struct beat_reply {
    std::optional<microseconds> next;
    clock::time_point deadline;
    microseconds quarantine{};
};

class session_walk {
public:
    explicit session_walk(std::uint64_t seed) : random_(seed) { connect(); }

    void step() {
        const auto& session = names[random_.pick(names.size())];
        const std::uint64_t generation = 1 + random_.pick(4);
        switch (random_.pick(16)) {
        case 0:
        case 1:
        case 2:
            return resume(session, generation, milliseconds(500 + 100 * random_.pick(16)));
        case 3:
        case 4:
        case 5:
        case 6:
            return beat(session, generation);
        case 7:
        case 8:
            return look(session, generation);
        case 9:
        case 10:
            return withdraw(session, generation);
        case 11:
            return random_.pick(3) == 0 ? end(session) : pass();
        case 12:
            return random_.pick(3) == 0 ? restart() : pass();
        case 13:
            return random_.pick(3) == 0 ? set_back() : pass();
        default:
            return pass();
        }
    }

    void pass(milliseconds span) { now_us_ += microseconds(span).count(); }

    std::string request(const std::string& session, unsigned id, const std::string& name) {
        asked_[session].emplace(id, name);
        const std::string wish = "1 " + std::to_string(id) + " x";
        const auto reply = run(redis_script::request, keys_.brief(session, name), {wish});
        if (reply.text != "+")
            return reply.text;
        auto keys = keys_.rules(session);
        keys_.add_lock(keys, name);
        return run(redis_script::request_rules, keys, {wish}).text;
    }

    void resume(const std::string& session, std::uint64_t generation, milliseconds ttl) {
        const auto judged = core::judge_resume(terms_of(session), generation, now());
        const auto reply =
            run(redis_script::resume,
                keys_.all(session),
                {"full " + session,
                 std::to_string(generation),
                 std::to_string(ttl.count()),
                 "host",
                 "label",
                 "1",
                 "0123456789abcdef0123456789abcdef",
                 "",
                 "1",
                 std::to_string(longest.count()),
                 "1",
                 "",
                 "1"});
        ASSERT_FALSE(reply.items.empty());
        opened_ = true;
        const bool refuses = judged == core::resumption::refused;
        ASSERT_EQ(reply.items[0].text, refuses ? "l" : "o") << "generation " << generation;
        refused += refuses ? 1u : 0u;
        if (refuses)
            return;
        begun += judged == core::resumption::begins ? 1u : 0u;
        resumed += judged == core::resumption::goes_on ? 1u : 0u;
        known_[session] = {{generation, core::deadline_after(now(), ttl)}, ttl};
        notice_run();
        shorten();
        EXPECT_EQ(microseconds(std::stoll(reply.items[3].text)), left_of_quarantine());
        compare_deadlines();
    }

    void end(const std::string& session) {
        const auto text = run(redis_script::end, keys_.rules(session), {}).text;
        EXPECT_EQ(text, known_.contains(session) ? "o" : "n");
        bury(session);
        known_.erase(session);
    }

    void restart() {
        server_.restart();
        connect();
        restarted_ = opened_;
    }

    void break_all(const std::string& name, const std::string& base) {
        auto keys = keys_.rules({});
        keys_.add_lock(keys, name);
        for (const char* const each : {"n", "b", "id"})
            keys.push_back(keys_.of(each));
        EXPECT_EQ(
            run(redis_script::break_, keys, {base, "0", "anna", "a test", "3", "10"}).number, 1
        );
    }

    /// A lock as the server has it: who holds it, a bar, who waits.
    std::string lock(const std::string& name) { return ask({"GET", keys_.lock(name)}); }

    std::size_t refused = 0;
    std::size_t begun = 0;
    std::size_t resumed = 0;
    std::size_t quarantines = 0;
    std::size_t shortened = 0;

private:
    inline static const std::vector<std::string> names{"a1", "b2", "c3"};

    struct known_session {
        core::session_terms terms;
        milliseconds ttl{};
    };

    clock::time_point now() const { return clock::time_point(microseconds(now_us_)); }
    static clock::time_point time_of(const std::string& micros) {
        return clock::time_point(microseconds(std::stoll(micros)));
    }

    // Whoever resumes must hear its inbox.
    void connect() {
        user_ = server_.connect([](const redis_value&) {});
        for (const auto& each : names)
            server_.execute(user_, {"SUBSCRIBE", keys_.inbox(each)});
    }

    redis_value
    run(redis_script script,
        const store_detail::store_keys::list& keys,
        const std::vector<std::string>& arguments) {
        store_detail::redis_command words{
            "EVAL", scripts_[script].text, std::to_string(keys.size())};
        words.insert(words.end(), keys.begin(), keys.end());
        words.insert(words.end(), arguments.begin(), arguments.end());
        auto reply = server_.execute(user_, words);
        EXPECT_NE(reply.type, redis_value::kind::error) << reply.text;
        return reply;
    }

    std::string ask(const store_detail::redis_command& words) {
        return server_.execute(user_, words).text;
    }

    std::optional<core::session_terms> terms_of(const std::string& session) const {
        const auto found = known_.find(session);
        return found == known_.end() ? std::nullopt : std::optional(found->second.terms);
    }

    bool may_act(const std::string& session, std::uint64_t generation) const {
        const auto terms = terms_of(session);
        return terms && core::may_act(*terms, generation, now());
    }

    void beat(const std::string& session, std::uint64_t generation) {
        const auto reply_of_beat =
            run(redis_script::beat,
                keys_.all(session),
                {std::to_string(generation) + " " + std::to_string(longest.count())});
        const auto text = reply_of_beat.items.at(0).text;
        ASSERT_EQ(text[0], may_act(session, generation) ? 'o' : 'l');
        if (text[0] == 'l') {
            ++refused;
            return;
        }
        auto& own = known_.at(session);
        own.terms.deadline = core::deadline_after(now(), own.ttl);
        notice_run();
        shorten();
        // The client removes those that are over.
        for (const auto& dead : reply_of_beat.items.at(1).items)
            bury(dead.text);
        std::erase_if(known_, [&](const auto& each) {
            return core::is_over(each.second.terms.deadline, now());
        });
        if (left_of_quarantine() == clock::duration::zero())
            quarantine_until_ = clock::time_point();
        core::next_deadline next(now());
        for (const auto& [name, each] : known_) {
            if (name != session)
                next.consider(each.terms.deadline);
        }
        if (quarantine_until_ > now())
            next.consider(quarantine_until_);
        const beat_reply reply = parsed(text);
        EXPECT_EQ(reply.next, next.left());
        EXPECT_EQ(reply.deadline, own.terms.deadline);
        EXPECT_EQ(reply.quarantine, left_of_quarantine());
        compare_deadlines();
    }

    static beat_reply parsed(const std::string& text) {
        std::istringstream words(text);
        std::string mark, run, changes, grants, requests, watches, next, deadline, quarantine;
        words >> mark >> run >> changes >> grants >> requests >> watches >> next >> deadline >>
            quarantine;
        beat_reply reply;
        if (next != "-")
            reply.next = microseconds(std::stoll(next));
        reply.deadline = time_of(deadline);
        reply.quarantine = microseconds(std::stoll(quarantine));
        return reply;
    }

    // Nothing that a dead session has in a lock is looked at here, but what request() asked for.
    void bury(const std::string& session) {
        for (const auto& [id, name] : asked_[session]) {
            auto keys = keys_.rules(session);
            keys_.add_lock(keys, name);
            keys.push_back(keys_.of("id"));
            EXPECT_EQ(run(redis_script::expel, keys, {std::to_string(id)}).text, "o");
        }
        asked_.erase(session);
        EXPECT_EQ(run(redis_script::forget, keys_.all(session), {}).text, "o");
    }

    void look(const std::string& session, std::uint64_t generation) {
        const auto reply =
            run(redis_script::survey, keys_.own(session), {"0", std::to_string(generation)});
        EXPECT_EQ(reply.items.at(0).text == "l", !may_act(session, generation));
    }

    void withdraw(const std::string& session, std::uint64_t generation) {
        auto keys = keys_.rules(session);
        keys_.add_lock(keys, "x");
        const auto text =
            run(redis_script::withdraw, keys, {std::to_string(generation) + " 1"}).text;
        EXPECT_EQ(text, may_act(session, generation) ? "o" : "l");
    }

    void pass() { now_us_ += 1 + random_.pick(random_.pick(2) == 0 ? 100'000 : 1'500'000); }

    // Deadlines that were written before lie too far ahead then.
    void set_back() { now_us_ -= 10'000'000; }

    // The first script that compares runs finds the restart.
    void notice_run() {
        if (!restarted_)
            return;
        restarted_ = false;
        ++quarantines;
        quarantine_until_ =
            core::quarantine_end(core::deadline_after(now(), longest), longest, now());
    }

    // Nothing lasts for longer than the longest TTL from now on.
    void shorten() {
        const auto last = core::deadline_after(now(), longest);
        for (auto& [name, each] : known_) {
            shortened += each.terms.deadline > last ? 1u : 0u;
            each.terms.deadline = std::min(each.terms.deadline, last);
        }
        quarantine_until_ = std::min(quarantine_until_, last);
    }

    clock::duration left_of_quarantine() const {
        return core::quarantine_left(quarantine_until_, now());
    }

    void compare_deadlines() {
        for (const auto& [name, each] : known_) {
            std::istringstream written(ask({"HGET", keys_.of("s"), name}));
            std::string generation, deadline;
            written >> generation >> deadline;
            ASSERT_FALSE(deadline.empty()) << name;
            EXPECT_EQ(time_of(deadline), each.terms.deadline) << name;
            EXPECT_EQ(generation, std::to_string(each.terms.generation));
        }
        const auto all = server_.execute(user_, {"ZCARD", keys_.of("d")}).number;
        EXPECT_EQ(static_cast<std::size_t>(all), known_.size()) << "a session that is not known";
    }

    choices random_;
    const store_detail::redis_scripts scripts_;
    const store_detail::store_keys keys_{"p:"};
    std::map<std::string, std::map<unsigned, std::string>> asked_;
    std::int64_t now_us_ = 1'700'000'000'000'000;
    model_redis server_{[this] { return now_us_; }};
    model_redis::client_id user_ = 0;
    std::map<std::string, known_session> known_;
    clock::time_point quarantine_until_;
    bool opened_ = false;     // the server knows a run
    bool restarted_ = false;  // and it was another one
};

// As LockEngineReap.NobodyIsRevivedByAClockThatIsSetBack.
TEST(RedisSessionRules, WhoeverWasMetDeadIsNotRevivedByAClockThatIsSetBack) {
    session_walk walk(1);
    walk.resume("a1", 1, milliseconds(1'000));
    EXPECT_EQ(walk.request("a1", 1, "x")[0], 'g');
    EXPECT_EQ(walk.request("a1", 2, "y")[0], 'g');
    walk.pass(milliseconds(1'000));
    walk.resume("b2", 1, milliseconds(1'000));
    EXPECT_EQ(walk.request("b2", 1, "x")[0], 'g') << "it meets the one that is dead";
    walk.pass(milliseconds(-500));
    EXPECT_EQ(walk.request("a1", 3, "z"), "l");
    EXPECT_EQ(walk.request("b2", 2, "y")[0], 'g') << "and another lock of it";
}

// The data of a replica that was promoted may be older than its last grants.
TEST(RedisSessionRules, WhoComesWithoutASessionAfterARestartLetsNobodyIn) {
    for (const bool breaks : {false, true}) {
        session_walk walk(1);
        walk.resume("a1", 1, milliseconds(1'000));
        walk.resume("b2", 1, milliseconds(1'000));
        const auto granted = walk.request("a1", 1, "x");
        ASSERT_EQ(granted[0], 'g');
        EXPECT_NE(walk.request("b2", 1, "x")[0], 'g');
        EXPECT_EQ(walk.lock("x").find("a1:1:"), 0u) << walk.lock("x");
        walk.restart();
        if (breaks)
            walk.break_all("x", granted.substr(2, granted.find(' ', 2) - 2));
        else
            walk.end("a1");
        EXPECT_EQ(walk.lock("x").find("|b2:1:"), 0u) << walk.lock("x");
        walk.resume("b2", 2, milliseconds(1'000));
        EXPECT_EQ(walk.quarantines, 1u);
    }
}

TEST(RedisSessionRules, AreThoseOfTheOtherStores) {
    std::size_t refused = 0;
    std::size_t begun = 0;
    std::size_t resumed = 0;
    std::size_t quarantines = 0;
    std::size_t shortened = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        session_walk walk(seed);
        for (int i = 0; i < 200; ++i) {
            walk.step();
            ASSERT_FALSE(testing::Test::HasFailure()) << "step " << i;
        }
        refused += walk.refused;
        begun += walk.begun;
        resumed += walk.resumed;
        quarantines += walk.quarantines;
        shortened += walk.shortened;
    }
    EXPECT_GT(refused, 100u);
    EXPECT_GT(begun, 100u);
    EXPECT_GT(resumed, 100u);
    EXPECT_GT(quarantines, 20u);
    EXPECT_GT(shortened, 20u);
}

}  // namespace
}  // namespace mortise::test::redis_session_rules_test
