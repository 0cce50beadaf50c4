// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SIM_PROCESS_HPP
#define MORTISE_SIM_PROCESS_HPP

#include "mortise/coro/time_source.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace mortise::sim {

namespace detail {
class machine_clock;
class process_life;
}  // namespace detail
class world;

/// A process of a simulated world: an executor of its own, and the clock of its machine. Code runs
/// on it unchanged; the process can be stopped in the middle of everything, and killed.
///
/// The closures of a `coro::worker`, and so all work that waits for a database, run between its
/// handlers instead of on a thread; each takes a random time (`set_work_time`), and its answer
/// another one. Sockets and files are real, if something uses them; only time is not.
///
/// @par Threads The world's.
class process {
public:
    /// The work of the process, begun anew in each of its lives.
    using main_function = std::function<asio::awaitable<void>(process&)>;

    process(
        world& in, std::string name, std::size_t index, std::shared_ptr<detail::machine_clock> clock
    );
    ~process();
    process(const process&) = delete;
    process& operator=(const process&) = delete;

    const std::string& name() const noexcept { return name_; }
    std::size_t index() const noexcept { return index_; }
    world& in() const noexcept { return world_; }

    /// The executor of the present life. The process must be alive.
    asio::any_io_executor get_executor() const;

    /// The clock and the timers of the present life, for `client_config::time`. The process must
    /// be alive.
    std::shared_ptr<coro::time_source> time() const;

    /// The time that its clock shows, dead or alive.
    clock::time_point local_now() const noexcept;

    /// Starts the process with `main`, which runs again after each `restart`. An exception that
    /// escapes from it ends the simulation: the world throws it.
    void run(main_function main);

    /// Starts one more coroutine in the present life.
    void spawn(asio::awaitable<void> task);

    /// Queues a handler. Does nothing if the process is dead.
    void post(std::function<void()> handler);

    /// As `SIGSTOP`: nothing of it runs, while its clock goes on. Messages that arrive are kept.
    void pause();
    /// As `SIGCONT`: handlers that were ready before run before timers that came due meanwhile.
    void resume();
    bool paused() const noexcept { return paused_; }

    /// As `SIGKILL`: its coroutines, timers and connections are gone, and nobody is told. Must not
    /// be called from one of its own handlers.
    void crash();
    /// Starts again with the `main_function`.
    void restart();
    bool alive() const noexcept { return life_ != nullptr; }
    /// How many lives it has had, the present one included.
    std::uint64_t lives() const noexcept { return lives_; }

    /// How much faster the clock of its machine runs than true time, in millionths; negative:
    /// slower.
    void set_clock_rate(std::int32_t ppm);
    std::int32_t clock_rate() const noexcept;

    /// How long the closures of its workers take, on the average; 100 us at first. A long time
    /// simulates a disk that hangs.
    void set_work_time(clock::duration mean) noexcept { work_time_ = mean; }

private:
    friend class world;

    /// Lets its clock show the present, and completes timers that are due.
    void keep_time();
    /// Runs one handler, if any is ready.
    bool run_one();
    /// Runs a turn of a worker, a while later.
    void run_later(std::function<void()> turn);
    /// When the next of its timers is due, in true time; nothing if none is, or it does not run.
    std::optional<clock::time_point> next_due() const;
    void begin();

    world& world_;
    const std::string name_;
    const std::size_t index_;
    main_function main_;
    std::unique_ptr<detail::process_life> life_;
    std::uint64_t lives_ = 0;
    bool paused_ = false;
    bool stirred_ = false;  // something may be ready
    const std::shared_ptr<detail::machine_clock> clock_;
    clock::duration work_time_ = std::chrono::microseconds(100);
};

}  // namespace mortise::sim

#endif
