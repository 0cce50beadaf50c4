// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SIM_NETWORK_HPP
#define MORTISE_SIM_NETWORK_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/sim/process.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace mortise::sim {

class world;

/// The faults and delays of messages on their way from one process to another.
class link {
public:
    link() = default;

    clock::duration delay_min = std::chrono::microseconds(50);
    /// The average delay on top of `delay_min`; see `dice::around`.
    clock::duration delay_mean = std::chrono::microseconds(200);
    double loss = 0;        ///< The probability that a message is lost.
    double repetition = 0;  ///< The probability that it arrives once more, some time later.
    clock::duration repetition_delay_mean = std::chrono::milliseconds(50);
    bool cut = false;  ///< Nothing arrives.
};

/// The fate of one message.
enum class fate : std::uint8_t {
    as_usual,  ///< As its link decides.
    lost,
    late,      ///< By a second; later messages are not held up.
    repeated,  ///< Arrives, and once more a little later.
};

/// The connections between the processes of a world. Messages from one process to another arrive in
/// the order in which they were sent, except repeated and late ones; the two directions of a pair
/// are independent.
///
/// @par Threads The world's.
class network {
public:
    explicit network(world& in) noexcept : world_(in) {}

    /// The link of all pairs of processes that have no link of their own.
    link& usual() noexcept { return usual_; }

    /// The link from one process to the other, from now on one of its own. Valid as long as the
    /// network.
    link& between(const process& from, const process& to);

    /// Cuts one direction.
    void cut(const process& from, const process& to) { between(from, to).cut = true; }
    /// Cuts both directions.
    void part(const process& a, const process& b);
    /// Makes every link the usual one again, which from now on loses and repeats nothing.
    void heal();

    /// Asks `judge` for the fate of each message from now on; `sent` is the number of earlier
    /// messages. For sweeps that spoil the first message, the second, and so on. Null: nobody is
    /// asked.
    void decide(std::function<fate(std::uint64_t sent)> judge) { judge_ = std::move(judge); }

    /// Runs `arrive` as a handler of `to`, later, once, twice or never. Never in another life of
    /// `to` than the present one.
    void send(const process& from, process& to, std::function<void()> arrive);

    std::uint64_t sent() const noexcept { return sent_; }
    std::uint64_t lost() const noexcept { return lost_; }

private:
    using way = std::pair<std::size_t, std::size_t>;

    const link& link_of(const way& route) const;
    void deliver_at(clock::time_point when, process& to, std::function<void()> arrive);

    world& world_;
    link usual_;
    std::map<way, link> links_;
    std::map<way, clock::time_point> last_arrival_;
    std::function<fate(std::uint64_t)> judge_;
    std::uint64_t sent_ = 0;
    std::uint64_t lost_ = 0;
};

}  // namespace mortise::sim

#endif
