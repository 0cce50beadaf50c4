// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

namespace flash_sale {
namespace {

constexpr int stock_width = 20;  // of a bar at exactly sold out
constexpr int width_max = 40;

}  // namespace

progress_bar::progress_bar(std::string title, int stock, bool quiet, const char* done)
    : title_(std::move(title)),
      done_(done),
      stock_(stock),
      quiet_(quiet),
      terminal_(::isatty(STDOUT_FILENO) == 1) {
    if (!quiet_ && !terminal_)
        std::cout << title_ << ": begins\n" << std::flush;
}

progress_bar::~progress_bar() {
    if (quiet_)
        return;
    if (terminal_)
        std::cout << '\n' << std::flush;
    else
        std::cout << title_ << ": " << sold_ << " of " << stock_ << ' ' << done_ << '\n'
                  << std::flush;
}

void progress_bar::show(int sold) {
    sold_ = sold;
    if (!quiet_ && terminal_)
        std::cout << '\r' << line(sold) << "\x1b[K" << std::flush;
}

std::string progress_bar::line(int sold) const {
    const long parts = static_cast<long>(sold) * stock_width / stock_;
    const auto honest = static_cast<std::size_t>(std::min<long>(parts, stock_width));
    const auto over =
        static_cast<std::size_t>(std::clamp<long>(parts - stock_width, 0, width_max - stock_width));
    return title_ + "  [" + std::string(honest, '#') + std::string(stock_width - honest, '.') +
           ']' + std::string(over, '!') + "  " + std::to_string(sold) + " of " +
           std::to_string(stock_) + ' ' + done_;
}

}  // namespace flash_sale
