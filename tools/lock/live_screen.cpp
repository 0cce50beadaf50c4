// SPDX-License-Identifier: BSL-1.0
#include "lock/live_screen.hpp"

#include "common/failure.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

namespace mortise::tool {
namespace {

// ECMA-48 sequences, and private modes of xterm that every terminal of today has.
constexpr std::string_view enter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view leave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view home = "\x1b[H";
constexpr std::string_view clear_line = "\x1b[K";
constexpr std::string_view clear_rest = "\x1b[J";

/// The first `count` characters of a UTF-8 text.
std::string_view cut(std::string_view line, std::size_t count) {
    std::size_t end = 0;
    while (end < line.size()) {
        const bool begins = (static_cast<unsigned char>(line[end]) & 0xc0u) != 0x80;
        if (begins && count-- == 0)
            break;
        ++end;
    }
    return line.substr(0, end);
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

bool write_all(int fd, std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0)
            bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

screen_size size_of(int fd) {
    screen_size size;
    ::winsize window{};
    if (::ioctl(fd, TIOCGWINSZ, &window) == 0 && window.ws_row != 0 && window.ws_col != 0)
        size = {window.ws_row, window.ws_col};
    return size;
}

}  // namespace

std::string frame_of(std::string_view text, screen_size size) {
    std::vector<std::string_view> lines = lines_of(text);
    std::string more;
    if (lines.size() > size.rows) {
        const std::size_t shown = size.rows - 1;
        more = "... and " + std::to_string(lines.size() - shown) + " more lines";
        lines.resize(shown);
        lines.push_back(more);
    }
    std::string frame(home);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        // Leave the last column free: clearing the rest of the line would erase it.
        frame += i == 0 ? "" : "\r\n";
        frame += cut(lines[i], size.columns - 1);
        frame += clear_line;
    }
    frame += clear_rest;
    return frame;
}

bool live_screen::possible(int fd) noexcept {
    const char* kind = std::getenv("TERM");
    const std::string_view name = kind == nullptr ? "" : kind;
    return ::isatty(fd) == 1 && !name.empty() && name != "dumb";
}

live_screen::live_screen(int fd) : fd_(fd) {
    if (!write_all(fd_, enter))
        throw failure::of_errno("the terminal cannot be written");
}

live_screen::~live_screen() {
    write_all(fd_, leave);  // ignores errors: the terminal may be gone
}

void live_screen::draw(std::string_view text) {
    if (!write_all(fd_, frame_of(text, size_of(fd_))))
        throw failure::of_errno("the terminal cannot be written");
}

}  // namespace mortise::tool
