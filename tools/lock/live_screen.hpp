// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_LOCK_LIVE_SCREEN_HPP
#define MORTISE_TOOLS_LOCK_LIVE_SCREEN_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace mortise::tool {

struct screen_size {
    std::size_t rows = 24;
    std::size_t columns = 80;
};

/// Makes the output that shows `text` on a terminal, each line cut at the right edge. If there are
/// more lines than rows, the last row says how many are left out.
std::string frame_of(std::string_view text, screen_size size);

/// Takes over the terminal behind a descriptor as long as this object lives: its alternate screen,
/// without a cursor. The destructor restores what was there before.
class live_screen {
public:
    /// Whether a text can be redrawn on that descriptor.
    static bool possible(int fd) noexcept;

    /// @throws failure if the terminal cannot be written to.
    explicit live_screen(int fd);
    ~live_screen();
    live_screen(const live_screen&) = delete;
    live_screen& operator=(const live_screen&) = delete;

    /// Replaces what is shown by `text`.
    /// @throws failure if the terminal cannot be written to.
    void draw(std::string_view text);

private:
    int fd_;
};

}  // namespace mortise::tool

#endif
