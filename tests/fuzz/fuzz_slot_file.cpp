// SPDX-License-Identifier: BSL-1.0
// The mapped file of heartbeats with anything in it: it is refused, or whatever is read from it and
// written to it is what its functions say.
#include "fuzz/foreign_slots.hpp"
#include "fuzz/target.hpp"
#include "sqlite/side_folder.hpp"
#include "store/sqlite/own_session.hpp"
#include "store/sqlite/slot_file.hpp"
#include "support/scratch_folder.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace mortise::fuzz::slot_file_target {
namespace {

using sqlite_detail::side_folder;
using store_detail::own_session;
using store_detail::slot_file;
using store_detail::slot_view;
using store_detail::slot_word;

constexpr auto now = clock::time_point(std::chrono::hours(1));

// The folder, and whose file it is, for all runs of this process.
class place {
public:
    place() {
        owner.store = {1, 2};
        owner.database = {3, 4};
        owner.boot = "11111111-2222-3333-4444-555555555555";
        owner.time_namespace = 5;
    }

    test::scratch_folder scratch{test::scratch_folder::place::memory};
    std::shared_ptr<side_folder> side = std::make_shared<side_folder>(scratch.path() / "locks.db");
    store_detail::slot_file_owner owner;
};

class slot_walk {
public:
    slot_walk(input in, slot_file& slots) : in_(in), slots_(slots) {}

    bool used_up() const { return in_.used_up(); }

    void step() {
        const std::size_t at = some_slot();
        switch (in_.pick(8)) {
        case 0:
            return claim(at);
        case 1:
            return kill(at);
        case 2:
            return live(at);
        case 3:
            return note(at);
        case 4:
            return count(at);
        case 5:
            return watch(at);
        case 6:
            slots_.free(at);
            MORTISE_ASSERT(slots_.view(at).key == 0 && !slots_.armed(at));
            return;
        default:
            return set_ends(at);
        }
    }

private:
    // Those that the file says are used, and one that it does not.
    std::size_t some_slot() {
        return std::min(in_.pick(slots_.used() + 1), slot_file::capacity - 1);
    }

    void claim(std::size_t at) {
        const auto key = in_.edge<std::uint64_t>();
        const auto nonce = in_.edge<std::uint64_t>();
        slots_.claim(at, key, nonce);
        const slot_view seen = slots_.view(at);
        MORTISE_ASSERT(seen.key == key && seen.nonce == nonce && seen.ends == clock::time_point());
        MORTISE_ASSERT(seen.changes == 0 && seen.grants == 0 && seen.requests == 0);
        MORTISE_ASSERT(slots_.used() > at && slots_.used() <= slot_file::capacity);
    }

    void kill(std::size_t at) {
        const slot_word before = slots_.word(at);
        const auto incarnation = in_.flag() ? before.incarnation() : in_.number<std::uint16_t>();
        MORTISE_ASSERT(slots_.kill(at, incarnation));
        const bool meant = incarnation == before.incarnation();
        MORTISE_ASSERT(slots_.word(at) == (meant ? before.killed() : before));
    }

    void live(std::size_t at) {
        const slot_word before = slots_.word(at);
        const slot_word after = before.next(in_.edge<std::uint64_t>());
        MORTISE_ASSERT(slots_.swap(at, before, after) && slots_.word(at) == after);
        MORTISE_ASSERT(!slots_.swap(at, before, after));
    }

    void note(std::size_t at) {
        const auto request = in_.edge<std::uint64_t>();
        store_detail::noted_grant grant;
        grant.token = 1 + in_.edge<std::uint64_t>() / 4;
        grant.slot = static_cast<std::uint32_t>(in_.pick(lock_mode::capacity_max + 1));
        grant.contended = in_.flag();
        slots_.note_grant(at, request, grant);
        auto found = slots_.find_grant(at, request);
        MORTISE_ASSERT(found.has_value() == (request != 0));
        if (!found)
            return;
        MORTISE_ASSERT(found->token == grant.token && found->slot == grant.slot);
        MORTISE_ASSERT(found->contended == grant.contended);
        slots_.note_contended(at, request);
        found = slots_.find_grant(at, request);
        MORTISE_ASSERT(found && found->contended && found->slot == grant.slot);
        MORTISE_ASSERT(!slots_.find_grant(at, request + 1));
        if (in_.flag())
            return;
        slots_.forget_grant(at, request);
        MORTISE_ASSERT(!slots_.find_grant(at, request));
    }

    void count(std::size_t at) {
        const auto grants = in_.number<std::uint8_t>();
        slots_.set_counts(at, grants, grants);
        slots_.add(at, 1, -1, 1);
        slots_.add(at, -1, 1, 0);
        const slot_view seen = slots_.view(at);
        MORTISE_ASSERT(seen.grants == grants && seen.requests == grants);
    }

    void watch(std::size_t at) {
        if (at >= slots_.used())
            return;
        slots_.arm(at);
        MORTISE_ASSERT(slots_.armed(at) && !slots_.stirred(at));
        slots_.count_change();
        MORTISE_ASSERT(slots_.stirred(at));
        const auto armed = slots_.disarm_all();
        MORTISE_ASSERT(std::find(armed.begin(), armed.end(), at) != armed.end());
        MORTISE_ASSERT(!slots_.armed(at) && slots_.disarm_all().empty());
    }

    void set_ends(std::size_t at) {
        const clock::time_point ends(clock::duration(in_.edge<std::int64_t>()));
        slots_.set_ends(at, ends);
        MORTISE_ASSERT(slots_.view(at).ends == ends);
    }

    input in_;
    slot_file& slots_;
};

// Checks how a session of this process reads the slots of the others.
void check_neighbours(const place& where, const std::shared_ptr<slot_file>& slots, std::size_t at) {
    const slot_word word = slots->word(at);
    store_detail::neighbour self{at, word.incarnation(), 1, slots->view(at).key};
    session_start start;
    start.ttl = std::chrono::milliseconds(1'000);
    own_session own("nowhere", where.owner, where.side, slots, start, self, word);
    const auto seen = own.scan(now);
    MORTISE_ASSERT(!seen.next_deadline || *seen.next_deadline > clock::duration::zero());
    for (const auto& side : {own.successors(), own.predecessors()}) {
        MORTISE_ASSERT(side.size() <= own_session::neighbours_max);
        for (const auto& each : side) {
            MORTISE_ASSERT(each.slot != at && each.slot < slots->used());
            MORTISE_ASSERT(slots->word(each.slot).incarnation() == each.incarnation);
        }
    }
    if (const auto noted = own.find_grant(1))
        MORTISE_ASSERT(noted->token != 0 && noted->slot <= lock_mode::capacity_max);
    own.unburied();
    const bool alive = own.alive();
    MORTISE_ASSERT(own.extend(now));
    own.kill();
    MORTISE_ASSERT(!own.alive() && (alive || word.dead()));
}

}  // namespace

MORTISE_FUZZ_TARGET(slot_file) {
    static const place where;
    slot_file::make(*where.side, where.owner);
    write_foreign_slots(in, where.side->path() + "/sessions");
    auto state = slot_file::found::none;
    const auto slots = slot_file::open(*where.side, where.owner, state);
    MORTISE_ASSERT((slots == nullptr) == (state == slot_file::found::none));
    if (!slots)
        return;
    MORTISE_ASSERT(slots->used() <= slot_file::capacity);
    const std::size_t at = std::min(in.pick(slots->used() + 1), slot_file::capacity - 1);
    check_neighbours(where, slots, at);
    constexpr int steps_max = 32;
    slot_walk walk(in, *slots);
    for (int i = 0; i < steps_max && !walk.used_up(); ++i)
        walk.step();
}

}  // namespace mortise::fuzz::slot_file_target
