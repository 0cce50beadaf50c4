// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SALE_FOLDER_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SALE_FOLDER_HPP

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace flash_sale {

/// A new temporary folder, removed at the end of the scope.
class sale_folder {
public:
    sale_folder() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "flash-sale-XXXXXX").native();
        if (::mkdtemp(pattern.data()) == nullptr)
            throw std::runtime_error("no temporary folder can be made: " + pattern);
        path_ = pattern;
    }
    ~sale_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    sale_folder(const sale_folder&) = delete;
    sale_folder& operator=(const sale_folder&) = delete;

    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace flash_sale

#endif
