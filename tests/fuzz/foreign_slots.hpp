// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_FUZZ_FOREIGN_SLOTS_HPP
#define MORTISE_TESTS_FUZZ_FOREIGN_SLOTS_HPP

#include "mortise/coro/assert.hpp"
#include "mortise/detail/unique_fd.hpp"
#include "store/sqlite/slot_file.hpp"
#include "support/byte_source.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace mortise::fuzz {

/// Writes over some numbers of a file of heartbeats, and now and then over any bytes or its size.
inline void write_foreign_slots(test::byte_source& in, const std::string& path) {
    constexpr std::size_t header_bytes = 4096;
    constexpr std::size_t slot_bytes = 128;
    constexpr std::size_t header_numbers = 9;
    constexpr std::size_t slot_numbers = 11;
    const mortise::detail::unique_fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    MORTISE_ASSERT(file);
    const auto put = [&](std::size_t at, const void* data, std::size_t size) {
        const auto done = ::pwrite(file.get(), data, size, static_cast<off_t>(at));
        MORTISE_ASSERT(done == static_cast<ssize_t>(size));
    };
    const std::size_t changes = in.pick(12);
    for (std::size_t i = 0; i < changes; ++i) {
        const auto value = in.edge<std::uint64_t>();
        // Few slots, so that they are used together; the number of those that are used often fits.
        const std::size_t slot =
            in.flag() ? in.pick(4) : in.pick(store_detail::slot_file::capacity);
        switch (in.pick(16)) {
        case 0:
            put(8 * in.pick(header_numbers), &value, sizeof value);
            break;
        case 1:
            put(in.pick(header_bytes), &value, 1);
            break;
        case 2: {
            const std::uint64_t used = slot + 1;
            put(3 * sizeof used, &used, sizeof used);
            break;
        }
        case 3:
            if (in.pick(8) == 0)
                MORTISE_ASSERT(::ftruncate(file.get(), static_cast<off_t>(value % 1'000'000)) == 0);
            break;
        default:
            put(header_bytes + slot * slot_bytes + 8 * in.pick(slot_numbers), &value, 8);
            break;
        }
    }
}

}  // namespace mortise::fuzz

#endif
