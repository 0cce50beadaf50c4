// SPDX-License-Identifier: BSL-1.0
#include "mortise/sim/process.hpp"

#include "base/as_killed.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/worker_host.hpp"
#include "mortise/coro/virtual_time.hpp"
#include "mortise/sim/world.hpp"
#include "sim/machine_clock.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace mortise::sim::detail {

/// The parts of a process that are gone when it dies.
class process_life {
public:
    explicit process_life(clock::time_point now)
        : time(std::make_shared<coro::virtual_time>(context.get_executor(), now)) {}

    asio::io_context context{1};
    std::shared_ptr<coro::virtual_time> time;
};

}  // namespace mortise::sim::detail

namespace mortise::sim {
namespace {

// Keeps the captures of `main` for as long as its coroutine lives.
asio::awaitable<void> keep(process::main_function main, process& self) {
    co_await main(self);
}

}  // namespace

process::process(
    world& in, std::string name, std::size_t index, std::shared_ptr<detail::machine_clock> clock
)
    : world_(in), name_(std::move(name)), index_(index), clock_(std::move(clock)) {}

process::~process() = default;

asio::any_io_executor process::get_executor() const {
    MORTISE_ASSERT(life_);
    return life_->context.get_executor();
}

std::shared_ptr<coro::time_source> process::time() const {
    MORTISE_ASSERT(life_);
    return life_->time;
}

clock::time_point process::local_now() const noexcept {
    return clock_->shows(world_.now());
}

void process::set_clock_rate(std::int32_t ppm) {
    world_.say(name_ + "'s clock goes " + std::to_string(ppm) + " ppm faster");
    clock_->set_rate(ppm, world_.now());
}

std::int32_t process::clock_rate() const noexcept {
    return clock_->rate();
}

void process::run(main_function main) {
    MORTISE_ASSERT(!life_);
    main_ = std::move(main);
    begin();
}

void process::restart() {
    MORTISE_ASSERT(!life_ && main_);
    begin();
}

void process::begin() {
    world_.say(name_ + " starts");
    ++lives_;
    paused_ = false;
    life_ = std::make_unique<detail::process_life>(local_now());
    coro::detail::worker_host::install(life_->context, [this](std::function<void()> turn) {
        run_later(std::move(turn));
    });
    spawn(keep(main_, *this));
}

void process::spawn(asio::awaitable<void> task) {
    MORTISE_ASSERT(life_);
    stirred_ = true;
    asio::co_spawn(life_->context, std::move(task), [this](std::exception_ptr failed) {
        if (failed)
            world_.fail(std::move(failed));
    });
}

void process::post(std::function<void()> handler) {
    if (!life_)
        return;
    stirred_ = true;
    asio::post(life_->context, std::move(handler));
}

void process::pause() {
    world_.say(name_ + " is stopped");
    paused_ = true;
}

void process::resume() {
    if (paused_)
        world_.say(name_ + " goes on");
    paused_ = false;
    stirred_ = true;
}

void process::crash() {
    if (life_)
        world_.say(name_ + " dies");
    paused_ = false;
    const mortise::detail::as_killed nothing_is_tidied_up;
    const auto ending = std::exchange(life_, nullptr);
}

// Moves the clock of the process on. Timers that fall due queue behind handlers that are ready
// already, also after a pause.
void process::keep_time() {
    if (!life_ || paused_)
        return;
    const auto due = life_->time->next_deadline();
    const auto local = std::max(life_->time->now(), local_now());
    life_->time->advance_to(local);
    stirred_ = stirred_ || (due && *due <= local);
}

bool process::run_one() {
    if (!life_ || paused_)
        return false;
    keep_time();
    if (life_->context.stopped())
        life_->context.restart();
    stirred_ = life_->context.poll_one() != 0;
    return stirred_;
}

void process::run_later(std::function<void()> turn) {
    if (!life_)
        return;
    const auto when = local_now() + world_.random().around(work_time_);
    life_->time->async_wait_until(when, [turn = std::move(turn)](error_code failed) {
        if (!failed)
            turn();
    });
}

std::optional<clock::time_point> process::next_due() const {
    if (!life_ || paused_)
        return std::nullopt;
    const auto local = life_->time->next_deadline();
    if (!local)
        return std::nullopt;
    return clock_->when(*local);
}

}  // namespace mortise::sim
