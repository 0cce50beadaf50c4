// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_SQLITE_GROUND_HPP
#define MORTISE_TESTS_STORM_SQLITE_GROUND_HPP

#include "storm/ground.hpp"
#include "storm/plan.hpp"
#include "storm/residue.hpp"
#include "support/scratch_folder.hpp"

#include <filesystem>
#include <string>

namespace mortise::storm {

/// A database in a new folder. Only its users can come to harm.
class sqlite_ground final : public ground {
public:
    std::string url(std::size_t) const override {
        return "sqlite:" + database().native() + "?domain=" + domain;
    }
    std::string residue() override { return residue_in(database()); }

private:
    std::filesystem::path database() const { return folder_.path() / "locks.db"; }

    const test::scratch_folder folder_;
};

}  // namespace mortise::storm

#endif
