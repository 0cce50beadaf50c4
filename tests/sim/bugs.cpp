// SPDX-License-Identifier: BSL-1.0
#include "sim/bugs.hpp"

#include "core/planted_bug.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace mortise::test {

#ifdef MORTISE_PLANT_BUGS

namespace {

using core::planted_bug;

constexpr std::array known{
    std::pair{std::string_view("request_not_idempotent"), planted_bug::request_not_idempotent},
    std::pair{std::string_view("release_without_compare"), planted_bug::release_without_compare},
    std::pair{std::string_view("heartbeat_revives"), planted_bug::heartbeat_revives},
    std::pair{
        std::string_view("restart_without_quarantine"), planted_bug::restart_without_quarantine},
    std::pair{std::string_view("tokens_start_again"), planted_bug::tokens_start_again},
    std::pair{std::string_view("session_cut_short"), planted_bug::session_cut_short},
    std::pair{std::string_view("mark_not_synced"), planted_bug::mark_not_synced},
    std::pair{std::string_view("readers_and_writers"), planted_bug::readers_and_writers},
    std::pair{std::string_view("deadline_from_receipt"), planted_bug::deadline_from_receipt},
    std::pair{std::string_view("no_look_again"), planted_bug::no_look_again},
    std::pair{std::string_view("lease_without_clock"), planted_bug::lease_without_clock},
    std::pair{std::string_view("hold_max_without_drift"), planted_bug::hold_max_without_drift},
    std::pair{std::string_view("extension_taken_for_done"), planted_bug::extension_taken_for_done},
    std::pair{std::string_view("lease_by_other_proof"), planted_bug::lease_by_other_proof},
    std::pair{std::string_view("minority_suffices"), planted_bug::minority_suffices},
    std::pair{std::string_view("any_node_proves"), planted_bug::any_node_proves},
    std::pair{std::string_view("beat_proves_itself"), planted_bug::beat_proves_itself},
    std::pair{std::string_view("gate_stands_open"), planted_bug::gate_stands_open},
};

}  // namespace

std::vector<std::string> bug_names() {
    std::vector<std::string> names;
    for (const auto& [name, bug] : known)
        names.emplace_back(name);
    return names;
}

void plant_bug(std::string_view name) {
    core::planted() = planted_bug::none;
    for (const auto& [each, bug] : known) {
        if (each == name)
            core::planted() = bug;
    }
}

#else

std::vector<std::string> bug_names() {
    return {};
}

void plant_bug(std::string_view) {}

#endif

}  // namespace mortise::test
