// SPDX-License-Identifier: BSL-1.0
// An SQLite store with any content in its files: each call works or gives a code, all results are
// within the limits of their types, and no process crashes or hangs.
#include "fuzz/foreign_rows.hpp"
#include "fuzz/foreign_slots.hpp"
#include "fuzz/store_image.hpp"
#include "fuzz/target.hpp"
#include "mortise/coro/virtual_time.hpp"
#include "mortise/options.hpp"
#include "store/sqlite/lock_operations.hpp"
#include "store/sqlite/sqlite_state.hpp"

#include <boost/asio/io_context.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mortise::fuzz::sqlite_store_target {
namespace {

using std::chrono::milliseconds;
using store_detail::hint;
using store_detail::lock_operation;
using store_detail::notice;

class store_walk {
public:
    store_walk(input& in, const store_image& image) : in_(in), state_(image.config(), time_) {}
    ~store_walk() { state_.abandon(); }
    store_walk(const store_walk&) = delete;
    store_walk& operator=(const store_walk&) = delete;

    bool used_up() const { return in_.used_up(); }

    void resume() {
        session_start start;
        start.id = {1, in_.flag() ? 1u : ++last_session_};
        start.generation = in_.flag() ? 1 : in_.edge<std::uint64_t>();
        start.ttl = milliseconds(100 + in_.number<std::uint16_t>());
        start.label = in_.text(4);
        const auto out = state_.resume(start);
        check(out.code, out.notices);
        if (!out.code) {
            domain_ = out.value.reply.domain;
            check_view(out.value.reply.view);
        }
    }

    void step() {
        switch (in_.pick(13)) {
        case 0:
        case 1:
        case 2:
            return ask();
        case 3:
            return let_go();
        case 4:
            return look();
        case 5:
            return list();
        case 6:
            return break_some();
        case 7:
            return reap();
        case 8:
            return verify();
        case 9:
            return watch();
        case 10:
            return pass();
        case 11:
            return in_.pick(4) == 0 ? end() : beat();
        default:
            return in_.pick(4) == 0 ? examine() : resume();
        }
    }

private:
    std::string some_name() {
        static constexpr std::array<const char*, 5> names{"door", "pool", "page", "soon", "new"};
        const std::size_t index = in_.pick(names.size() + 1);
        return index < names.size() ? names[index] : "n" + in_.text(3);
    }

    lock_mode some_mode() {
        switch (in_.pick(4)) {
        case 0:
            return lock_mode::shared();
        case 1:
            return lock_mode::permits(1 + static_cast<std::uint32_t>(in_.pick(4)));
        default:
            return lock_mode::exclusive();
        }
    }

    void perform(lock_operation& operation) {
        lock_operation* const one = &operation;
        state_.perform(std::span(&one, 1));
        check({}, operation.notices());
    }

    void ask() {
        lock_request wish;
        wish.id = in_.pick(8);
        wish.name = some_name();
        wish.mode = some_mode();
        wish.queue = in_.flag();
        if (in_.flag())
            wish.hold_max = milliseconds(1 + in_.number<std::uint16_t>());
        store_detail::request_operation asking(wish);
        perform(asking);
        const answer& reply = asking.out.value;
        check(asking.out.code, {});
        if (asking.out.code || reply.type != answer::kind::granted)
            return;
        check_grant(reply.token, reply.slot);
        held_.id = wish.id;
        held_.name = wish.name;
        held_.token = reply.token;
    }

    void let_go() {
        switch (in_.pick(3)) {
        case 0: {
            store_detail::release_operation releasing(held_);
            perform(releasing);
            return check(releasing.out.code, {});
        }
        case 1: {
            store_detail::withdraw_operation withdrawing(some_name(), in_.pick(8));
            perform(withdrawing);
            return check(withdrawing.out.code, {});
        }
        default: {
            store_detail::draw_operation drawing(held_);
            perform(drawing);
            check(drawing.out.code, {});
            if (!drawing.out.code)
                MORTISE_ASSERT(drawing.out.value.count != 0 && drawing.out.value.first);
            return;
        }
        }
    }

    void look() {
        const auto out = state_.look();
        check(out.code, out.notices);
        if (!out.code)
            check_view(out.value);
    }

    void list() {
        const std::string after = in_.flag() ? "" : some_name();
        const std::size_t limit = 1 + in_.pick(300);
        const std::size_t queue_max = in_.pick(9);
        const auto all = state_.list(after, limit, queue_max);
        check(all.code, all.notices);
        for (const lock_view& each : all.code ? std::vector<lock_view>() : all.value)
            check_view(each);
        const std::string name = some_name();
        const auto one = state_.inspect(name, queue_max);
        check(one.code, one.notices);
        if (!one.code && one.value)
            check_view(*one.value);
        const auto breaks = state_.breaks(in_.flag() ? "" : name, limit);
        check(breaks.code, breaks.notices);
        for (const break_record& each : breaks.value) {
            if (!breaks.code)
                check_token(each.token);
        }
    }

    void break_some() {
        break_order order;
        order.name = some_name();
        const auto found = state_.inspect(order.name, 1);
        check(found.code, found.notices);
        if (found.value && !found.value->holders.empty())
            order.token = found.value->holders.front().token;
        else
            order.token = {in_.edge<std::uint64_t>(), domain_};
        order.who = order.why = in_.text(4);
        const auto out = state_.break_(order);
        check(out.code, out.notices);
    }

    void reap() {
        std::vector<store_detail::neighbour> dead(in_.pick(2));
        for (auto& each : dead)
            each = {in_.pick(4), in_.number<std::uint16_t>(), 1, 1};
        const auto out = state_.reap(dead);
        check(out.code, out.notices);
    }

    void verify() {
        std::vector<hint> hints(1 + in_.pick(3));
        for (auto& each : hints) {
            each.type = static_cast<hint::kind>(1 + in_.pick(5));
            each.request = in_.pick(8);
        }
        const auto out = state_.verify(hints);
        check(out.code, out.notices);
    }

    void watch() {
        const auto armed = state_.watch();
        check(armed.code, armed.notices);
        const auto out = state_.look_stirred();
        check(out.code, out.notices);
    }

    void pass() {
        constexpr std::array<milliseconds, 4> spans{
            milliseconds(1), milliseconds(1'000), milliseconds(60'000), milliseconds(3'600'000)};
        time_->advance(spans[in_.pick(spans.size())]);
    }

    // Does the work of the shell at each heartbeat, and at a hint.
    void beat() {
        const auto own = state_.session();
        if (!own)
            return;
        const auto now = time_->now();
        own->extend(now);
        const auto seen = own->scan(now);
        MORTISE_ASSERT(!seen.next_deadline || *seen.next_deadline > clock::duration::zero());
        if (const auto noted = own->find_grant(in_.pick(8)))
            MORTISE_ASSERT(noted->token != 0 && noted->slot <= lock_mode::capacity_max);
    }

    void end() {
        const auto out = state_.end();
        check(out.code, out.notices);
    }

    void examine() {
        const auto out = state_.examine();
        MORTISE_ASSERT(!out.code && !out.value.empty());
        for (const store_finding& each : out.value)
            MORTISE_ASSERT(!each.subject.empty() && !each.found.empty());
    }

    void check(error_code code, const std::vector<notice>& notices) {
        MORTISE_ASSERT(!code || code.category() == error_category());
        for (const notice& each : notices) {
            if (each.kind == store_event::kind::granted)
                check_grant({each.token, domain_.of_slot(each.slot)}, each.slot);
        }
    }

    void check_token(const fencing_token& token) {
        MORTISE_ASSERT(token.value >> 63 == 0);
        MORTISE_ASSERT(!token || domain_.empty() || token.domain.slot_in(domain_));
    }

    void check_grant(const fencing_token& token, std::uint32_t slot) {
        check_token(token);
        MORTISE_ASSERT(token && slot <= lock_mode::capacity_max);
        MORTISE_ASSERT(token.domain == domain_.of_slot(slot));
    }

    void check_view(const session_view& view) {
        for (const session_entry& each : view.entries) {
            MORTISE_ASSERT(!check_name(each.name) && each.age >= clock::duration::zero());
            if (each.granted)
                check_grant(each.token, each.slot);
        }
    }

    void check_view(const lock_view& view) {
        MORTISE_ASSERT(!check_name(view.name) && view.waiter_count >= view.waiters.size());
        for (const auto* parties : {&view.holders, &view.waiters}) {
            for (const party_view& each : *parties) {
                check_token(each.token);
                MORTISE_ASSERT(each.slot <= each.mode.capacity());
                MORTISE_ASSERT(each.mode.capacity() <= lock_mode::capacity_max);
                MORTISE_ASSERT(each.age >= clock::duration::zero());
                MORTISE_ASSERT(each.hold_max > milliseconds::zero());
                const bool endless = each.hold_max == milliseconds::max();
                MORTISE_ASSERT(endless || each.hold_max <= duration_max);
            }
        }
    }

    input& in_;
    asio::io_context context_;
    std::shared_ptr<coro::virtual_time> time_ =
        std::make_shared<coro::virtual_time>(context_.get_executor());
    store_detail::sqlite_state state_;
    token_domain domain_;
    grant held_;
    std::uint64_t last_session_ = 1;
};

}  // namespace

MORTISE_FUZZ_TARGET(sqlite_store) {
    static const store_image strict(false);
    static const store_image loose(true);
    const store_image& image = in.flag() ? strict : loose;
    image.lay_down();
    write_foreign_rows(in, image.config().path);
    write_foreign_slots(in, image.slots_path());
    store_walk walk(in, image);
    constexpr int steps_max = 20;
    if (in.pick(8) != 0)
        walk.resume();
    for (int i = 0; i < steps_max && !walk.used_up(); ++i)
        walk.step();
}

}  // namespace mortise::fuzz::sqlite_store_target
