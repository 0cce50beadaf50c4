// SPDX-License-Identifier: BSL-1.0
#include "common/text_table.hpp"

#include "common/printable.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

namespace mortise::tool {

text_table::text_table(std::vector<std::string> heads)
    : widths_(heads.size(), 0), right_(heads.size(), false) {
    add(std::move(heads));
}

void text_table::align_right(std::size_t column) {
    right_.at(column) = true;
}

void text_table::add(std::vector<std::string> cells) {
    cells.resize(widths_.size());
    for (std::size_t i = 0; i < cells.size(); ++i)
        widths_[i] = std::max(widths_[i], width_of(cells[i]));
    rows_.push_back(std::move(cells));
}

void text_table::write(std::ostream& out) const {
    for (const auto& row : rows_)
        write_row(out, row);
}

void text_table::write_row(std::ostream& out, const std::vector<std::string>& cells) const {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string gap(widths_[i] - width_of(cells[i]), ' ');
        line += right_[i] ? gap + cells[i] : cells[i] + gap;
        line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
}

}  // namespace mortise::tool
