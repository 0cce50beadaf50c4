// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_LIVE_SCREEN_HPP
#define MORTISE_TOOLS_LIVE_SCREEN_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace mortise::tool {

struct screen_size {
    std::size_t rows = 24;
    std::size_t columns = 80;
};

/// What to write so that a terminal shows `text`, each line cut at its right edge. If there are
/// more lines than rows, the last row says how many are left out.
std::string frame_of(std::string_view text, screen_size size);

/// The terminal behind a descriptor, taken over as long as this lives: its other screen, without a
/// cursor. What was there before is there again afterwards.
class live_screen {
public:
    /// Whether a text can be drawn there again and again.
    static bool possible(int fd) noexcept;

    /// @throws failure if the terminal does not take it.
    explicit live_screen(int fd);
    ~live_screen();
    live_screen(const live_screen&) = delete;
    live_screen& operator=(const live_screen&) = delete;

    /// Shows this, in the place of what was shown before.
    /// @throws failure if the terminal does not take it.
    void draw(std::string_view text);

private:
    int fd_;
};

}  // namespace mortise::tool

#endif
