// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_FUZZ_STORE_IMAGE_HPP
#define MORTISE_TESTS_FUZZ_STORE_IMAGE_HPP

#include "mortise/store/sqlite.hpp"
#include "support/scratch_folder.hpp"

#include <string>

namespace mortise::fuzz {

/// An SQLite store in which two sessions live that hold locks and wait for some, as files that can
/// be laid down again and again. The sessions' processes cannot be reached. All of it
/// is of the moment at which `coro::virtual_time` begins.
class store_image {
public:
    /// With `loose` tables, into whose columns anything goes.
    explicit store_image(bool loose);

    /// The files as they were at first.
    void lay_down() const;

    const sqlite_store_config& config() const { return config_; }
    std::string slots_path() const { return side_ + "/sessions"; }

private:
    void make_sessions();
    void remove_sockets() const;

    test::scratch_folder scratch_{test::scratch_folder::place::memory};
    sqlite_store_config config_;
    std::string side_;
    std::string database_;  // the bytes of the files
    std::string slots_;
};

}  // namespace mortise::fuzz

#endif
