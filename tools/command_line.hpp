// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMAND_LINE_HPP
#define MORTISE_TOOLS_COMMAND_LINE_HPP

#include "common/settings.hpp"

#include <string>
#include <variant>
#include <vector>

namespace mortise::tool {

struct version_wanted {};

struct help_wanted {
    std::string text;
};

/// The parsed command line.
struct command_line {
    using order = std::variant<
        version_wanted,
        help_wanted,
        run_settings,
        ls_settings,
        show_settings,
        break_settings,
        watch_settings,
        doctor_settings,
        init_settings,
        txn_settings,
        outbox_settings,
        inbox_settings,
        bench_settings,
        bench_worker_settings>;

    global_settings global;
    order wanted;
};

/// @throws failure with `exit_code::usage` if the arguments cannot be understood.
command_line parse_command_line(const std::vector<std::string>& arguments);

/// Whether `--json` is among the arguments. For failures that come before they are parsed.
bool wants_json(const std::vector<std::string>& arguments);

}  // namespace mortise::tool

#endif
