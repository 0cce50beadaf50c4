// SPDX-License-Identifier: BSL-1.0
#include "fuzz/store_image.hpp"

#include "fuzz/sql_handle.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/coro/virtual_time.hpp"
#include "store/sqlite/lock_operations.hpp"
#include "store/sqlite/sqlite_state.hpp"

#include <boost/asio/io_context.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

namespace mortise::fuzz {
namespace {

using std::chrono::milliseconds;
using store_detail::sqlite_state;

std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << bytes;
    file.close();
    MORTISE_ASSERT(file);
}

void open_session(sqlite_state& state) {
    session_start start;
    start.id = random_id::draw();
    start.generation = 1;
    start.ttl = std::chrono::minutes(10);
    start.host = "host";
    start.label = "image";
    start.pid = 42;
    MORTISE_ASSERT(!state.resume(start).code);
}

fencing_token
ask(sqlite_state& state,
    request_id id,
    const char* name,
    lock_mode mode = lock_mode::exclusive(),
    milliseconds hold_max = milliseconds::max()) {
    lock_request wish;
    wish.id = id;
    wish.name = name;
    wish.mode = mode;
    wish.hold_max = hold_max;
    store_detail::request_operation asking(wish);
    store_detail::lock_operation* const one = &asking;
    state.perform(std::span(&one, 1));
    MORTISE_ASSERT(!asking.out.code);
    return asking.out.value.token;
}

}  // namespace

store_image::store_image(bool loose) {
    config_.path = scratch_.path() / "locks.db";
    config_.boot_id_override = "11111111-2222-3333-4444-555555555555";
    side_ = config_.path.string() + ".mortise";
    make_sessions();
    sql_handle db(config_.path);
    if (loose) {
        MORTISE_ASSERT(db.run("PRAGMA writable_schema = ON"));
        MORTISE_ASSERT(db.run(
            "UPDATE sqlite_schema SET sql = replace(replace(replace(sql, ' NOT NULL', ''),"
            " ' CHECK(queued IN (0, 1))', ''), ' CHECK(length(name) BETWEEN 1 AND 1024)', '')"
            " WHERE type = 'table'"
        ));
        MORTISE_ASSERT(db.run("PRAGMA writable_schema = RESET"));
    }
    MORTISE_ASSERT(db.run("PRAGMA wal_checkpoint(TRUNCATE)"));
    db.close();
    database_ = read_file(config_.path);
    slots_ = read_file(slots_path());
    MORTISE_ASSERT(!database_.empty() && !slots_.empty());
}

void store_image::make_sessions() {
    asio::io_context context;
    const auto time = std::make_shared<coro::virtual_time>(context.get_executor());
    sqlite_state first(config_, time);
    sqlite_state second(config_, time);
    open_session(first);
    open_session(second);
    ask(first, 1, "door");
    ask(second, 1, "door");
    ask(first, 2, "pool", lock_mode::permits(3));
    ask(second, 2, "pool", lock_mode::permits(3));
    ask(first, 3, "page", lock_mode::shared());
    ask(second, 3, "page", lock_mode::shared());
    ask(second, 4, "soon", lock_mode::exclusive(), milliseconds(5'000));
    break_order order;
    order.name = "gone";
    order.token = ask(first, 5, "gone");
    order.who = order.why = "image";
    MORTISE_ASSERT(first.break_(order).value);
}

// In their places, for a store knows its files by their inodes.
void store_image::lay_down() const {
    remove_sockets();
    for (const char* each : {"-wal", "-shm"})
        std::filesystem::remove(config_.path.string() + each);
    write_file(config_.path, database_);
    write_file(slots_path(), slots_);
}

void store_image::remove_sockets() const {
    for (const auto& each : std::filesystem::directory_iterator(side_)) {
        if (each.is_socket())
            std::filesystem::remove(each.path());
    }
}

}  // namespace mortise::fuzz
