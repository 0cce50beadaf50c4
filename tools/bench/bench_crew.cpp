// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_crew.hpp"

#include "bench/bench_worker.hpp"
#include "bench/run_control.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/coro/clock.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <new>
#include <tuple>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::size_t counters_size = 4'096;  // a page apart from the records
static_assert(sizeof(bench_board::counters) <= counters_size);

}  // namespace

bench_board::bench_board(detail::unique_fd fd, void* memory, std::size_t size) noexcept
    : fd_(std::move(fd)), memory_(memory), size_(size) {}

bench_board::bench_board(bench_board&& other) noexcept
    : fd_(std::move(other.fd_)),
      memory_(std::exchange(other.memory_, nullptr)),
      size_(other.size_) {}

bench_board::~bench_board() {
    if (memory_ != nullptr)
        ::munmap(memory_, size_);
}

bench_board bench_board::map(detail::unique_fd fd, std::size_t size) {
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (memory == MAP_FAILED)
        throw failure::of_errno("no shared memory can be mapped");
    return bench_board(std::move(fd), memory, size);
}

bench_board bench_board::create(std::size_t records) {
    detail::unique_fd fd(::memfd_create("mortise-bench", MFD_CLOEXEC));
    const std::size_t size = counters_size + records * sizeof(contend_record);
    if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
        throw failure::of_errno("no shared memory can be made");
    bench_board board = map(std::move(fd), size);
    ::new (board.memory_) counters();
    return board;
}

bench_board bench_board::attach(int fd) {
    detail::unique_fd owned(fd);
    struct stat about {};
    if (::fstat(fd, &about) != 0)
        throw failure::of_errno("the shared memory was not inherited");
    return map(std::move(owned), static_cast<std::size_t>(about.st_size));
}

bench_board::counters& bench_board::shared() const noexcept {
    return *std::launder(static_cast<counters*>(memory_));
}

std::span<contend_record> bench_board::records() const noexcept {
    auto* first = static_cast<std::byte*>(memory_) + counters_size;
    return {
        std::launder(reinterpret_cast<contend_record*>(first)),
        (size_ - counters_size) / sizeof(contend_record)};
}

namespace {

constexpr std::chrono::seconds start_limit{30};
constexpr std::chrono::seconds stop_limit{3};
constexpr int end_step = 5;  // ms

std::pair<detail::unique_fd, detail::unique_fd> pipe_ends() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw failure::of_errno("no pipe can be made");
    return {detail::unique_fd(ends[0]), detail::unique_fd(ends[1])};
}

std::pair<detail::unique_fd, detail::unique_fd> datagram_ends() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw failure::of_errno("no sockets can be made");
    return {detail::unique_fd(ends[0]), detail::unique_fd(ends[1])};
}

std::string number(std::int64_t value) {
    return std::to_string(value);
}

}  // namespace

bench_crew::bench_crew(
    const std::string& store, const bench_settings& bench, const bench_board& board
) {
    std::tie(ready_, ready_peer_) = pipe_ends();
    std::tie(go_peer_, go_) = pipe_ends();
    std::tie(first_socket_, second_socket_) = datagram_ends();
    for (unsigned index = 0; index < bench.processes; ++index)
        processes_.push_back(child_process::spawn(order_for(index, store, bench, board)));
    for (child_process& process : processes_) {
        errno = process.execution_error();
        if (errno != 0)
            throw failure::of_errno("this program cannot be executed again");
    }
    ready_peer_.reset();  // while we hold it open, the pipe has no end
    go_peer_.reset();
    first_socket_.reset();
    second_socket_.reset();
    try {
        await_ready();
    } catch (...) {
        end_all();
        throw;
    }
}

bench_crew::~bench_crew() {
    if (!ended_)
        end_all();
}

/// Asks the processes to end, to leave nothing of theirs at the store. Kills those that do not end.
void bench_crew::end_all() noexcept {
    for (child_process& process : processes_)
        process.send(SIGTERM);
    const clock::time_point end = clock::now() + stop_limit;
    for (child_process& process : processes_) {
        while (!process.ended() && clock::now() < end)
            ::poll(nullptr, 0, end_step);
        process.send(SIGKILL);
    }
    for (child_process& process : processes_)
        process.wait();
}

child_order bench_crew::order_for(
    unsigned index, const std::string& store, const bench_settings& bench, const bench_board& board
) const {
    child_order order;
    order.command = {
        own_program,
        "bench-worker",
        "--lock",
        bench_lock_name(),
        "--index",
        number(index),
        "--board",
        number(board.descriptor()),
        "--ready",
        number(ready_peer_.get()),
        "--go",
        number(go_peer_.get())};
    order.environment = {{"MORTISE_STORE", store}};  // arguments are visible to all
    order.kept = {board.descriptor(), ready_peer_.get(), go_peer_.get()};
    const auto add = [&](const char* option, const std::string& value) {
        order.command.insert(order.command.end(), {option, value});
    };
    if (!bench.local_handoff)
        order.command.emplace_back("--no-local");
    if (bench.measurement == bench_settings::kind::contend) {
        order.command.emplace_back("--contend");
        add("--tasks", number(bench.tasks));
        add("--acquisitions", std::to_string(bench.acquisitions));
        add("--hold", number(bench.hold.count()) + "ms");
        add("--think", number(bench.think.count()) + "ms");
    } else if (bench.measurement == bench_settings::kind::linger) {
        order.command.emplace_back("--linger");
    } else if (bench.measurement == bench_settings::kind::takeover) {
        order.command.emplace_back("--takeover");
        add("--ttl", number(bench.ttl.count()) + "ms");
    } else if (index < 2) {
        const int socket = index == 0 ? first_socket_.get() : second_socket_.get();
        add("--peer", number(socket));
        order.kept.push_back(socket);
    }
    return order;
}

/// Reads from the ready pipe for at most `time`. @return whether it read the end.
bool bench_crew::read_ready(std::chrono::milliseconds time) {
    pollfd readable{ready_.get(), POLLIN, 0};
    const int found = ::poll(&readable, 1, static_cast<int>(time.count()));
    interruption::check();
    if (found <= 0)
        return false;
    std::array<char, 256> bytes{};
    const ssize_t got = ::read(ready_.get(), bytes.data(), bytes.size());
    if (got > 0)
        ready_count_ += static_cast<std::size_t>(got);
    return got == 0;
}

void bench_crew::await_ready() {
    const clock::time_point end = clock::now() + start_limit;
    while (ready_count_ < processes_.size()) {
        for (child_process& process : processes_) {
            if (process.ended()) {
                throw failure(
                    exit_code::unavailable,
                    "a process of the measurement failed",
                    "its exit code was " + number(process.exit_code())
                );
            }
        }
        if (clock::now() >= end) {
            throw failure(
                exit_code::unavailable,
                "the measurement could not begin",
                "after " + number(start_limit.count()) + " s"
            );
        }
        read_ready(std::chrono::milliseconds(100));
    }
}

void bench_crew::begin() {
    go_.reset();
}

bool bench_crew::wait_end(std::chrono::milliseconds time) {
    return read_ready(time);
}

void bench_crew::run_for(std::chrono::milliseconds time) {
    if (wait_end(time))
        throw failure(exit_code::unavailable, "the processes ended before the measurement did");
}

void bench_crew::kill() {
    for (child_process& process : processes_)
        process.send(SIGKILL);
    for (child_process& process : processes_)
        process.wait();
    ended_ = true;
}

void bench_crew::check() {
    for (child_process& process : processes_) {
        process.wait();
        if (process.exit_code() != 0) {
            throw failure(
                exit_code::unavailable,
                "a process of the measurement failed",
                "its exit code was " + number(process.exit_code())
            );
        }
    }
    ended_ = true;
}

}  // namespace mortise::tool
