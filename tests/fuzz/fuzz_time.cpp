// SPDX-License-Identifier: BSL-1.0
// Arithmetic with time does not overflow, whatever the numbers: sums, back-off, the words of slots,
// and moments as text.
#include "common/time_text.hpp"
#include "fuzz/target.hpp"
#include "mortise/coro/backoff.hpp"
#include "mortise/coro/clock.hpp"
#include "store/sqlite/slot_file.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

namespace mortise::fuzz::time_target {
namespace {

__extension__ using wide = __int128;

template <class Span>
void check_sum(input& in) {
    const clock::time_point when(clock::duration(in.edge<std::int64_t>()));
    const Span after(in.edge<std::int64_t>());
    using ratio = std::ratio_divide<typename Span::period, clock::period>;
    const wide span = wide{after.count()} * ratio::num / ratio::den;
    constexpr wide most = std::numeric_limits<std::int64_t>::max();
    constexpr wide least = std::numeric_limits<std::int64_t>::min();
    wide sum = std::clamp(wide{when.time_since_epoch().count()} + span, least, most);
    // The longest span means "for ever", also from before the epoch.
    sum = span >= most ? most : span <= least ? least : sum;
    MORTISE_ASSERT(coro::saturating_add(when, after).time_since_epoch().count() == sum);
}

void check_backoff(input& in) {
    coro::backoff_options options;
    options.first = std::chrono::milliseconds(1 + in.pick(100'000));
    options.max = options.first + std::chrono::milliseconds(in.number<std::uint32_t>());
    options.max = std::min<std::chrono::milliseconds>(options.max, std::chrono::hours(24 * 365));
    options.factor = std::max(1u, in.edge<std::uint32_t>());
    coro::backoff pauses(options, in.number<std::uint64_t>());
    clock::duration before = pauses.bound();
    for (int i = 0; i < 12; ++i) {
        const clock::duration bound = pauses.bound();
        const clock::duration pause = pauses.next();
        MORTISE_ASSERT(pause >= clock::duration::zero() && pause <= bound);
        MORTISE_ASSERT(bound >= before && bound <= options.max);
        before = bound;
    }
    pauses.reset();
    MORTISE_ASSERT(pauses.bound() == options.first && pauses.attempts() == 0);
}

void check_slot_word(input& in) {
    using store_detail::slot_word;
    const clock::time_point until(clock::duration(in.edge<std::int64_t>()));
    const auto incarnation = in.number<std::uint16_t>();
    const slot_word word(incarnation, slot_word::microseconds_until(until));
    MORTISE_ASSERT(word.incarnation() == incarnation && !word.dead());
    MORTISE_ASSERT(word.killed().dead() && word.killed().incarnation() == incarnation);
    const slot_word next = word.next(1);
    MORTISE_ASSERT(next.incarnation() == static_cast<std::uint16_t>(incarnation + 1));
    constexpr auto last = clock::time_point(std::chrono::hours(24 * 365 * 8));
    if (until <= last)
        MORTISE_ASSERT(
            word.deadline() >= until &&
            !word.expired(coro::saturating_add(until, -clock::duration(1)))
        );
    MORTISE_ASSERT(slot_word(word.raw()) == word);
}

void check_time_text(input& in) {
    using moment = std::chrono::system_clock::time_point;
    const std::string text = tool::time_text(moment(moment::duration(in.edge<std::int64_t>())));
    MORTISE_ASSERT(text.size() == 24 && text[10] == 'T' && text[19] == '.' && text[23] == 'Z');
}

}  // namespace

MORTISE_FUZZ_TARGET(time) {
    check_sum<std::chrono::nanoseconds>(in);
    check_sum<std::chrono::milliseconds>(in);
    check_sum<std::chrono::seconds>(in);
    check_sum<std::chrono::hours>(in);
    check_backoff(in);
    check_slot_word(in);
    check_time_text(in);
}

}  // namespace mortise::fuzz::time_target
