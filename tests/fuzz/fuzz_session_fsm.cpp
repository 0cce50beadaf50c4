// SPDX-License-Identifier: BSL-1.0
// When a session is sure and when its holders are told: with any configuration that is accepted,
// any order of proofs and failures, and any pace of time.
#include "core/session_fsm.hpp"
#include "fuzz/target.hpp"
#include "mortise/options.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace mortise::fuzz::session_fsm_target {
namespace {

using core::session_fsm;
using core::session_timing;
using std::chrono::milliseconds;

constexpr auto start = clock::time_point(std::chrono::hours(1));
constexpr auto end_of_walk = start + std::chrono::hours(24 * 36'525);

client_config some_config(input& in) {
    client_config config;
    config.ttl = milliseconds(in.edge<std::int64_t>());
    config.stop_margin = milliseconds(in.edge<std::int64_t>());
    config.clock_drift_ppm = in.edge<std::uint32_t>();
    return config;
}

class session_walk {
public:
    session_walk(const session_timing& timing, input in)
        : timing_(timing), in_(in), session_(timing) {}

    bool used_up() const { return in_.used_up() || now_ >= end_of_walk; }

    void step() {
        switch (in_.pick(6)) {
        case 0:
            return prove();
        case 1:
            session_.failed(now_);
            break;
        case 2:
            session_.gone();
            told_ = others_wait_ = false;
            break;
        case 3:
            doubt(in_.pick(2) == 0);
            break;
        case 4:
            take_alarm();
            break;
        default:
            pass();
            break;
        }
        check();
    }

private:
    void prove() {
        const auto ago = clock::duration(in_.edge<std::uint32_t>());
        const auto sent = std::max(start, now_ - ago);
        const auto before = session_;
        session_.proved(sent);
        MORTISE_ASSERT(session_.open());
        if (sent >= before.verified()) {
            told_ = others_wait_ = false;
            MORTISE_ASSERT(session_.verified() == sent);
            MORTISE_ASSERT(session_.deadline() == sent + timing_.window);
            // The next heartbeat can prove it again before anybody is told to stop.
            if (timing_.ttl > clock::duration::zero())
                MORTISE_ASSERT(session_.beat_at() < session_.alarm_at());
            MORTISE_ASSERT(session_.alarm_at() <= session_.deadline());
        } else {
            MORTISE_ASSERT(session_.deadline() == before.deadline());
        }
        check();
    }

    void doubt(bool others_wait) {
        const bool was_sure = session_.at(now_) == session_fsm::state::held;
        session_.doubt(now_, others_wait);
        MORTISE_ASSERT(session_.at(now_) != session_fsm::state::held);
        others_wait_ = others_wait && (others_wait_ || was_sure);
    }

    void take_alarm() {
        const auto due = session_.alarm_at();
        if (!session_.take_alarm(now_)) {
            MORTISE_ASSERT(!session_.open() || told_ || now_ < due);
            return;
        }
        MORTISE_ASSERT(session_.open() && !told_ && now_ >= due);
        MORTISE_ASSERT(!session_.take_alarm(now_));
        told_ = true;
    }

    void pass() {
        const auto parts = std::int64_t{in_.number<std::uint8_t>()} / 2;  // of at most two TTLs
        const auto step = in_.flag() ? timing_.ttl / 64 * parts : clock::duration(parts);
        now_ = std::min(end_of_walk, coro::saturating_add(now_, step));
    }

    void check() const {
        const auto state = session_.at(now_);
        MORTISE_ASSERT((state != session_fsm::state::none) == session_.open());
        if (state == session_fsm::state::held)
            MORTISE_ASSERT(now_ < session_.verified() + timing_.window);
        // A client that is unsure has been told, or an alarm is due: now, or, if others wait for
        // the end of the window, before the store can serve them.
        if (state == session_fsm::state::unsure) {
            const auto due = others_wait_ ? session_.verified() + timing_.window : now_;
            MORTISE_ASSERT(told_ || session_.alarm_at() <= due);
        }
        if (!session_.open())
            MORTISE_ASSERT(session_.alarm_at() == clock::time_point::max());
    }

    session_timing timing_;
    input in_;
    session_fsm session_;
    clock::time_point now_ = start;
    bool told_ = false;
    bool others_wait_ = false;  ///< a doubt before which it was sure left the alarm at its time
};

}  // namespace

MORTISE_FUZZ_TARGET(session_fsm) {
    constexpr int steps_max = 500;
    const client_config config = some_config(in);
    if (check_config(config))
        return;
    const auto timing = session_timing::from(config);
    MORTISE_ASSERT(timing.window <= timing.ttl && timing.stop_margin <= timing.window);
    session_walk walk(timing, in);
    for (int i = 0; i < steps_max && !walk.used_up(); ++i)
        walk.step();
}

}  // namespace mortise::fuzz::session_fsm_target
