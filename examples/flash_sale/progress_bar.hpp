// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_PROGRESS_BAR_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_PROGRESS_BAR_HPP

#include <string>

namespace flash_sale {

/// Shows how much of the stock is sold, as a bar that is redrawn in its line; `!` stands for sold
/// items that were not there. If the standard output is not a terminal: one line at the beginning
/// and one at the end.
class progress_bar {
public:
    progress_bar(std::string title, int stock, bool quiet, const char* done = "sold");
    ~progress_bar();  ///< Ends the line.
    progress_bar(const progress_bar&) = delete;
    progress_bar& operator=(const progress_bar&) = delete;

    void show(int sold);

private:
    std::string line(int sold) const;

    std::string title_;
    const char* done_;
    int stock_;
    int sold_ = 0;
    bool quiet_;
    bool terminal_;
};

}  // namespace flash_sale

#endif
