// SPDX-License-Identifier: BSL-1.0
// A database session with any configuration, on any file, is refused with a reason or works, and
// ends.
#include "fuzz/target.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/error.hpp"
#include "support/scratch_folder.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace mortise::fuzz::db_config_target {
namespace {

namespace fs = std::filesystem;

std::string some_file_name(input& in) {
    std::string name = in.text(12);
    std::erase_if(name, [](char each) { return each == '/' || each == '\0'; });
    return name.empty() || name == "." || name == ".." ? "shop.db" : name;
}

fs::path some_path(input& in, const fs::path& folder) {
    switch (in.pick(8)) {
    case 0:
        return {};
    case 1:
        return ":memory:";
    case 2:
        return folder;
    case 3:
        return folder / "missing" / "shop.db";
    case 4: {
        const fs::path path = folder / some_file_name(in);
        std::ofstream(path, std::ios::binary) << in.text(200);
        return path;
    }
    default:
        return folder / some_file_name(in);
    }
}

db::sqlite_config some_config(input& in, const fs::path& folder) {
    db::sqlite_config config;
    config.path = some_path(in, folder);
    // The sizes that a program can have the memory for.
    if (in.flag())
        config.queue_max = in.pick(8);
    if (in.flag())
        config.batch_max = in.edge<std::size_t>();
    if (in.flag())
        config.checkpoint_bytes = in.edge<std::size_t>();
    if (in.flag())
        config.busy_max = std::chrono::milliseconds(in.edge<std::int64_t>());
    if (in.flag())
        config.grace = std::chrono::milliseconds(in.edge<std::int64_t>());
    if (in.flag())
        config.statements_max = in.edge<std::size_t>();
    config.file_system_type_override = in.pick(8) == 0 ? in.edge<std::int64_t>() : 0;
    config.allow_network_file_system = in.flag();
    if (in.pick(8) == 0)
        config.vfs = in.text(8);
    return config;
}

// One closure on each side, and the end.
void use(asio::io_context& context, db::sqlite& session, std::int64_t value) {
    int done = 0;
    const auto count = [&](error_code, std::int64_t) { ++done; };
    const auto write = [value](db::connection& on) {
        on.run("CREATE TABLE IF NOT EXISTS fuzz(x)");
        on.run("INSERT INTO fuzz VALUES(?)", value);
        return on.changes();
    };
    session.async_run(write, db::durability::lazy, count);
    session.async_run(write, db::durability::lazy, count);
    session.async_stop([&](error_code code) {
        MORTISE_ASSERT(!code);
        ++done;
    });
    context.run();
    MORTISE_ASSERT(done == 3);
}

}  // namespace

MORTISE_FUZZ_TARGET(db_config) {
    static const test::scratch_folder scratch(test::scratch_folder::place::memory);
    const fs::path folder = scratch.path() / "one";
    fs::create_directory(folder);
    asio::io_context context;
    const db::sqlite_config config = some_config(in, folder);
    try {
        db::sqlite session(context.get_executor(), config);
        MORTISE_ASSERT(session.path() == config.path);
        use(context, session, in.edge<std::int64_t>());
    } catch (const error& why) {
        MORTISE_ASSERT(why.code().failed() && !why.value().empty() && !why.remedy().empty());
    }
    fs::remove_all(folder);
}

}  // namespace mortise::fuzz::db_config_target
