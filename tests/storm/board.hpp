// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_BOARD_HPP
#define MORTISE_TESTS_STORM_BOARD_HPP

#include "storm/record.hpp"
#include "storm/settings.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mortise::storm {

/// @throws std::system_error with `errno`.
[[noreturn]] void fail(const char* action);

/// Memory that all processes of a storm share.
class board {
public:
    enum class weather : std::uint32_t {
        storm,
        calm,  ///< Nothing goes wrong any more: everybody must get every lock, and then leave.
    };

    /// What is known of the process that sits there.
    struct seat {
        std::atomic<std::uint32_t> turns{0};    ///< Wishes that have ended.
        std::atomic<std::uint32_t> holding{0};  ///< Leases that it holds just now.
    };

    struct head {
        std::atomic<weather> now{weather::storm};
        std::atomic<std::uint64_t> claimed{0};
        std::array<seat, processes_max> seats;
    };

    /// A new one, with room for so many records; what nobody writes into costs no memory.
    /// @throws std::system_error
    static board create(std::size_t records);
    /// The board behind an inherited descriptor. @throws std::system_error
    static board attach(int fd);

    board(board&& other) noexcept;
    board& operator=(board&&) = delete;
    ~board();

    int descriptor() const noexcept { return fd_; }
    head& shared() const noexcept;
    /// A record that is the caller's own; null if there is none left.
    record* claim() const noexcept;
    /// Those that were claimed.
    std::span<const record> records() const noexcept;

private:
    board(int fd, std::size_t size);

    int fd_;
    void* memory_ = nullptr;
    std::size_t size_;
};

}  // namespace mortise::storm

#endif
