// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/own_session.hpp"

#include "core/planted_bug.hpp"
#include "core/session_rules.hpp"
#include "store/sqlite/store_files.hpp"

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

using sqlite_detail::side_folder;
using sqlite_detail::whereabouts;

own_session::own_session(
    std::string path,
    slot_file_owner owner,
    std::shared_ptr<side_folder> folder,
    std::shared_ptr<slot_file> slots,
    const session_start& start,
    const neighbour& self,
    slot_word word
)
    : path_(std::move(path)),
      owner_(std::move(owner)),
      folder_(std::move(folder)),
      slots_(std::move(slots)),
      id_(start.id),
      self_(self),
      ttl_(start.ttl),
      word_(word) {}

bool own_session::alive() const noexcept {
    const slot_word word = slots_->word(self_.slot);
    return word.incarnation() == self_.incarnation && !word.dead();
}

whereabouts own_session::where() const noexcept {
    return store_files::where(path_, owner_, *folder_, *slots_);
}

bool own_session::extend(clock::time_point sent) noexcept {
    const std::lock_guard guard(mutex_);
    const auto ttl = MORTISE_PLANTED(session_cut_short) ? ttl_ * 9 / 10 : ttl_;
    const slot_word later(
        self_.incarnation, slot_word::microseconds_until(coro::saturating_add(sent, ttl))
    );
    if (!slots_->swap(self_.slot, word_, later))
        return MORTISE_PLANTED(heartbeat_revives);
    word_ = later;
    return true;
}

void own_session::set_ttl(std::chrono::milliseconds ttl) noexcept {
    const std::lock_guard guard(mutex_);
    ttl_ = ttl;
}

void own_session::kill() noexcept {
    slots_->kill(self_.slot, self_.incarnation);
}

std::optional<noted_grant> own_session::find_grant(request_id id) const noexcept {
    const auto found = slots_->find_grant(self_.slot, id);
    // Checked last: the slot of a dead session may have another owner.
    return alive() ? found : std::nullopt;
}

slot_scan own_session::scan(clock::time_point now) const noexcept {
    slot_scan found;
    core::next_deadline next(now);
    const std::size_t used = slots_->used();
    for (std::size_t i = 0; i < used; ++i) {
        const slot_view seen = slots_->view(i);
        const bool ends = seen.ends != clock::time_point();
        if (i == self_.slot) {
            found.to_reap = found.to_reap || (ends && core::is_over(seen.ends, now));
            continue;
        }
        if (seen.key == 0 && seen.word.dead())
            continue;
        if (seen.word.dead() || seen.word.expired(now) || (ends && core::is_over(seen.ends, now))) {
            found.to_reap = true;
            continue;
        }
        next.consider(seen.word.deadline());
        if (ends)
            next.consider(seen.ends);
    }
    found.next_deadline = next.left();
    return found;
}

std::vector<neighbour> own_session::successors() const {
    return neighbours(true);
}

std::vector<neighbour> own_session::predecessors() const {
    return neighbours(false);
}

bool own_session::unburied() const noexcept {
    const std::size_t used = slots_->used();
    for (std::size_t i = 0; i < used; ++i) {
        const slot_view seen = slots_->view(i);
        if (i != self_.slot && seen.word.dead() && seen.key != 0)
            return true;
    }
    return false;
}

std::vector<neighbour> own_session::neighbours(bool forward) const {
    std::vector<neighbour> found;
    const std::size_t used = slots_->used();
    for (std::size_t step = 1; step < used && found.size() < neighbours_max; ++step) {
        const std::size_t i = (self_.slot + (forward ? step : used - step)) % used;
        const slot_view seen = slots_->view(i);
        if (!seen.word.dead() && seen.key != 0)
            found.push_back({i, seen.word.incarnation(), seen.nonce, seen.key});
    }
    return found;
}

}  // namespace mortise::store_detail
