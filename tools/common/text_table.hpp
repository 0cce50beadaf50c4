// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_TEXT_TABLE_HPP
#define MORTISE_TOOLS_COMMON_TEXT_TABLE_HPP

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace mortise::tool {

/// A table for people. The columns are two spaces apart and as wide as their widest cell.
class text_table {
public:
    explicit text_table(std::vector<std::string> heads);

    /// Aligns a column at its right edge, as numbers are aligned.
    void align_right(std::size_t column);

    /// Adds a row. Cells are UTF-8; missing cells are empty.
    void add(std::vector<std::string> cells);

    void write(std::ostream& out) const;

private:
    void write_row(std::ostream& out, const std::vector<std::string>& cells) const;

    std::vector<std::vector<std::string>> rows_;  // the first row is the heads
    std::vector<std::size_t> widths_;
    std::vector<bool> right_;
};

}  // namespace mortise::tool

#endif
