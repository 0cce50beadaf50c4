// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/append.hpp"

#include "mortise/db/bell.hpp"
#include "mortise/outbox/error.hpp"
#include "table/rows.hpp"
#include "table/schema.hpp"
#include "wall_clock.hpp"

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <utility>

namespace mortise::outbox {
namespace {

constexpr std::size_t topic_max = 249;
constexpr std::size_t text_max = 255;
constexpr std::size_t headers_max = 1'024;
constexpr std::size_t message_max = std::size_t{64} << 20u;

std::string size_text(const char* what, std::size_t size) {
    return std::string(what) + " of " + std::to_string(size) + " bytes";
}

void check(const message& what) {
    if (what.topic.empty() || what.topic.size() > topic_max)
        throw error(
            errc::no_topic,
            size_text("a topic", what.topic.size()),
            what.topic.empty() ? "name one" : "use a shorter name"
        );
    if (what.topic.find('\0') != std::string::npos)
        throw error(errc::no_topic, "a topic with a zero byte in it", "use a name without");
    if (what.id.size() > text_max)
        throw error(errc::bad_message_id, size_text("an id", what.id.size()), "use a shorter one");
    if (what.headers.size() > headers_max)
        throw error(
            errc::bad_header, std::to_string(what.headers.size()) + " headers", "use fewer"
        );
    std::size_t size = what.key ? what.key->size() : 0;
    size += what.payload ? what.payload->size() : 0;
    for (const auto& each : what.headers) {
        if (each.name.empty() || each.name.size() > text_max)
            throw error(
                errc::bad_header, size_text("a name", each.name.size()), "use 1 to 255 bytes"
            );
        if (each.name.find('\0') != std::string::npos)
            throw error(errc::bad_header, "a name with a zero byte in it", "use one without");
        size += each.name.size() + each.value.size();
    }
    if (size > message_max)
        throw error(errc::message_too_large, size_text("a message", size), "send a reference");
}

void require_transaction(sqlite3* on) {
    if (::sqlite3_get_autocommit(on) != 0)
        throw error(
            mortise::errc::no_transaction,
            "no transaction is open",
            "append in the transaction of what the message tells of"
        );
}

void insert(db::connection& on, const message& what) {
    if (what.not_before) {
        using std::chrono::microseconds;
        const auto due = std::chrono::ceil<microseconds>(what.not_before->time_since_epoch());
        table::insert_later(on, what, due.count());
    } else {
        table::insert(on, what, wall_now());
    }
}

}  // namespace

std::string append(db::connection& on, const message& what) {
    check(what);
    require_transaction(on.handle());
    message whole = what;
    if (whole.id.empty())
        whole.id = message::draw_id();
    try {
        insert(on, whole);
    } catch (const error&) {
        // SQLite may have rolled back as a whole: a message must not be written alone then.
        if (::sqlite3_get_autocommit(on.handle()) != 0)
            throw;
        // Refuses those of a newer version.
        if (!table::make(on))
            throw;
        insert(on, whole);
    }
    table::ring_after_commit(on);
    return std::move(whole.id);
}

std::string append(sqlite3* on, const message& what) {
    db::connection lent(on);
    return append(lent, what);
}

std::size_t ring(sqlite3* on) noexcept {
    const char* const path = ::sqlite3_db_filename(on, "main");
    return path == nullptr ? 0 : db::bell::ring(path);
}

}  // namespace mortise::outbox
