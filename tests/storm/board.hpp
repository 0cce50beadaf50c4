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

/// Throws the `errno` of a failed `action`. @throws std::system_error
[[noreturn]] void fail(const char* action);

/// Memory that all processes of a storm share.
class board {
public:
    enum class weather : std::uint32_t {
        storm,
        calm,  ///< Nothing goes wrong any longer: each process must get every lock, and then ends.
    };

    /// The state of the process on this seat.
    struct seat {
        std::atomic<std::uint32_t> turns{0};    ///< Finished wishes.
        std::atomic<std::uint32_t> holding{0};  ///< Leases held now.
    };

    struct head {
        std::atomic<weather> now{weather::storm};
        std::atomic<std::uint64_t> claimed{0};
        std::array<seat, processes_max> seats;
    };

    /// Creates a board with room for `records`. Pages that nobody writes to cost no memory.
    /// @throws std::system_error
    static board create(std::size_t records);
    /// Opens the board behind an inherited descriptor. @throws std::system_error
    static board attach(int fd);

    board(board&& other) noexcept;
    board& operator=(board&&) = delete;
    ~board();

    int descriptor() const noexcept { return fd_; }
    head& shared() const noexcept;
    /// A record for the caller alone; null if none is left.
    record* claim() const noexcept;
    /// The claimed records.
    std::span<const record> records() const noexcept;

private:
    board(int fd, std::size_t size);

    int fd_;
    void* memory_ = nullptr;
    std::size_t size_;
};

}  // namespace mortise::storm

#endif
