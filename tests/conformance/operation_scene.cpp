// SPDX-License-Identifier: BSL-1.0
#include "conformance/operation_scene.hpp"

#include "conformance/client_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::test {
namespace {

constexpr const char* label_of_one = "swept";
constexpr auto patience = std::chrono::seconds(20);
constexpr auto some_time = std::chrono::milliseconds(4);

lock_client make_one(store_harness& harness, std::chrono::milliseconds ttl) {
    client_config config = config_of(harness);
    config.ttl = ttl;
    config.label = label_of_one;
    config.turn_handoffs_max = 0;  // Whoever gives a wanted lock away asks for it anew.
    return lock_client(harness.executor(), harness.make_store(), std::move(config));
}

}  // namespace

operation_scene::operation_scene(
    store_harness& harness, lock_client& other, std::chrono::milliseconds ttl
)
    : harness_(harness), other_(other), one_(make_one(harness, ttl)) {}

bool operation_scene::run_until(const std::function<bool()>& done) {
    if (harness_.run_until(done, patience / 2))
        return true;
    if (const auto name = std::exchange(shown_, ""); !name.empty()) {
        shown_again_ = true;
        lent_ = acquire(other_, name, lock_options());
        lent_ = lease();
    }
    return harness_.run_until(done, patience / 2);
}

lease operation_scene::acquire(lock_client& client, std::string name, lock_options options) {
    std::optional<error_code> code;
    lease got;
    client.async_acquire(std::move(name), options, [&](error_code ec, lease held) {
        code = ec;
        got = std::move(held);
    });
    EXPECT_TRUE(run_until([&] { return code.has_value(); }));
    EXPECT_TRUE(code && !*code) << code.value_or(error_code()).message();
    return got;
}

bool operation_scene::release(lease& held) {
    if (!held)
        return true;
    std::optional<error_code> code;
    held.async_release([&](error_code ec) { code = ec; });
    EXPECT_TRUE(run_until([&] { return code.has_value(); }));
    // A lock that was broken or has ended is no longer held, which is all right.
    return code && (!*code || *code == condition::not_held);
}

void operation_scene::hold_mine(lock_options options) {
    mine = acquire(*one_, "mine", options);
}

void operation_scene::hold_set() {
    std::optional<error_code> code;
    one_->async_acquire_all(
        {"mine", "mine too"},
        lock_options(),
        [&](error_code ec, lease_set held) {
            code = ec;
            mine_all = std::move(held);
        }
    );
    EXPECT_TRUE(run_until([&] { return code.has_value(); }));
    if (code && harness_.is_by_delay(*code))
        return hold_set();
    EXPECT_TRUE(code && !*code) << code.value_or(error_code()).message();
}

void operation_scene::let_mine_linger() {
    lock_options options;
    options.linger = std::chrono::seconds(10);
    hold_mine(options);
    EXPECT_TRUE(release(mine));
}

void operation_scene::drop_mine() {
    drops_mine_ = true;
    mine = lease();
}

void operation_scene::drop_mine_later() {
    later([this] { drop_mine(); });
}

void operation_scene::occupy(std::string name, lock_options options) {
    lent_ = acquire(other_, std::move(name), options);
}

void operation_scene::lend(std::string name, lock_options options) {
    occupy(std::move(name), options);
    later([this] { lent_ = lease(); });
}

// A machine that stops this process for a TTL takes the lease away before somebody sees it.
void operation_scene::lend_and_see(std::string name) {
    do {
        occupy(name);
        bool done = false;
        other_.async_inspect(name, 0, [&](error_code code, std::optional<lock_view> view) {
            EXPECT_TRUE(!code || harness_.is_by_delay(code)) << code.message();
            lent_view = std::move(view);
            done = true;
        });
        EXPECT_TRUE(run_until([&] { return done; }));
    } while (!lent_.held() || !lent_view);
    later([this] { lent_ = lease(); });
}

void operation_scene::show_a_change(std::string name) {
    lend(name);
    shown_ = std::move(name);
}

void operation_scene::want_mine() {
    waits_ = true;
    other_.async_acquire("mine", lock_options(), [this](error_code code, lease held) {
        EXPECT_FALSE(code) << code.message();
        waited_ = passes_on_ ? lease() : std::move(held);
        waits_ = false;
    });
}

void operation_scene::want_mine_later() {
    waits_ = true;
    later([this] { want_mine(); });
}

void operation_scene::be_waited_for() {
    want_mine();
    EXPECT_TRUE(run_until([&] { return mine.contended() || !mine.held(); }));
}

void operation_scene::later(std::function<void()> action) {
    const auto time = harness_.time();
    time->async_wait_until(
        time->now() + some_time,
        [action = std::move(action), alive = std::weak_ptr(alive_)](error_code failed) {
            if (!failed && !alive.expired())
                action();
        }
    );
}

void operation_scene::keep(lease got) {
    if (got)
        got_.push_back(std::move(got));
}

void operation_scene::keep(std::optional<lease> got) {
    if (got)
        keep(std::move(*got));
}

bool operation_scene::surely_held() const noexcept {
    const bool each =
        std::all_of(got_.begin(), got_.end(), [](const lease& l) { return l.held(); });
    return each && (set_.empty() || set_.held());
}

std::size_t operation_scene::at_store() {
    const bool held_before = mine.held();
    std::optional<std::vector<lock_view>> views;
    bool late = false;
    other_.async_list("", 100, 100, [&](error_code code, std::vector<lock_view> got) {
        late = harness_.is_by_delay(code);
        EXPECT_TRUE(!code || late) << code.message();
        views = std::move(got);
    });
    EXPECT_TRUE(run_until([&] { return views.has_value(); }));
    if (late || (held_before && !mine.held()))
        return at_store();  // no answer, or it was lost meanwhile, perhaps after the look
    std::size_t count = 0;
    const bool has_mine = drops_mine_ || mine.held() || !mine_all.empty();
    const auto is_one = [](const party_view& each) { return each.label == label_of_one; };
    for (const lock_view& view : views.value_or(std::vector<lock_view>())) {
        if (view.name.starts_with("mine") && has_mine)
            continue;
        const auto in = [&](const auto& parties) {
            return static_cast<std::size_t>(std::count_if(parties.begin(), parties.end(), is_one));
        };
        count += in(view.holders) + in(view.waiters);
    }
    return count;
}

bool operation_scene::let_go() {
    bool all = release(mine);
    for (lease& each : got_)
        all = release(each) && all;
    mine_all = lease_set();
    set_ = lease_set();
    EXPECT_TRUE(run_until([&] { return !waits_; }));
    all = release(waited_) && all;
    if (std::exchange(lent_view, std::nullopt)) {
        // Changes a lock: until then a store may note that somebody watches.
        lease change = acquire(other_, "window", lock_options());
        all = release(change) && all;
    }
    return release(lent_) && all;
}

std::string operation_scene::seen_at_store() {
    std::optional<std::string> seen;
    other_.async_list("", 100, 100, [&](error_code code, std::vector<lock_view> got) {
        seen = code ? code.message() : std::string();
        for (const lock_view& view : got) {
            *seen += view.name + ": held by";
            for (const party_view& each : view.holders)
                *seen += ' ' + each.label;
            *seen += ", wanted by";
            for (const party_view& each : view.waiters)
                *seen += ' ' + each.label;
            *seen += "; ";
        }
    });
    EXPECT_TRUE(run_until([&] { return seen.has_value(); }));
    return seen.value_or("");
}

// What the other client held in a session that a slow machine has ended is there until the store
// sees the end.
bool operation_scene::all_free() {
    constexpr int attempts_max = 8;
    auto code = take_all();
    const auto lifetime = harness_.lifetime();
    for (int i = 1; i < attempts_max && code; ++i) {
        const bool paused = harness_.longest_pause() > lifetime / 8;
        if (!harness_.is_by_delay(code) && !(code == errc::busy && paused))
            break;
        harness_.pass(lifetime / 2);
        code = take_all();
    }
    if (code)
        ADD_FAILURE() << code.message() << ": " << seen_at_store();
    return !code;
}

// Acquires all names at once, and releases them.
error_code operation_scene::take_all() {
    std::vector<std::string> names = all_names();
    names.push_back("mine");
    lock_options at_once;
    at_once.wait_max = std::chrono::milliseconds::zero();
    std::optional<error_code> code;
    lease_set all;
    other_.async_acquire_all(std::move(names), at_once, [&](error_code ec, lease_set got) {
        code = ec;
        all = std::move(got);
    });
    EXPECT_TRUE(run_until([&] { return code.has_value(); }));
    std::optional<error_code> released;
    all.async_release([&](error_code ec) { released = ec; });
    EXPECT_TRUE(run_until([&] { return released.has_value(); }));
    return code.value_or(errc::outcome_unknown);
}

error_code operation_scene::stop() {
    std::optional<error_code> code;
    one_->async_stop([&](error_code ec) { code = ec; });
    EXPECT_TRUE(run_until([&] { return code.has_value(); }));
    return code.value_or(errc::outcome_unknown);
}

}  // namespace mortise::test
