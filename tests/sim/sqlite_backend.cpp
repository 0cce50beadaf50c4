// SPDX-License-Identifier: BSL-1.0
#include "mortise/sim/world.hpp"
#include "mortise/store/sqlite.hpp"
#include "sim/backend.hpp"
#include "sim/process_faults.hpp"
#include "support/deaf_inboxes.hpp"
#include "support/fault_vfs.hpp"
#include "support/scratch_folder.hpp"

#include <sqlite3.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

namespace mortise::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class sqlite_backend final : public backend {
public:
    explicit sqlite_backend(sim::world& in) : world_(in) {
        disk_.sleeps = false;
        boot_again();
    }

    sim::process& add_client(std::string name) override {
        sim::process& added = clients_.empty() ? world_.add_process(std::move(name))
                                               : world_.add_process(std::move(name), *clients_[0]);
        clients_.push_back(&added);
        return added;
    }

    std::unique_ptr<store> make_store(sim::process&) override {
        sqlite_store_config config;
        config.path = database();
        config.vfs = disk_.name();
        config.boot_id_override = boot_;
        // Makes checkpoints happen during the faults, too.
        config.checkpoint_bytes = 64u << 10;
        return make_sqlite_store(std::move(config));
    }

    void misbehave(clock::duration span) override {
        constexpr int failures[] = {
            SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC, SQLITE_IOERR_TRUNCATE, SQLITE_FULL};
        const auto draw = [this](std::size_t count) { return world_.random().below(count); };
        switch (draw(5)) {
        case 0:
            fail_power(span);
            return;
        case 1:  // one write or sync, or each from then on
            disk_.result = failures[draw(std::size(failures))];
            disk_.for_good = draw(2) != 0;
            disk_.fail_at = disk_.operations + 1 + static_cast<int>(draw(20));
            world_.say("the disk fails with " + std::to_string(disk_.result));
            break;
        case 2:
            disk_.lock_result = SQLITE_BUSY;
            world_.say("somebody else has locked the database");
            break;
        case 3:
            world_.say("somebody removes the side folder");
            std::filesystem::remove_all(side());
            return;
        default:
            deafen();
            break;
        }
        world_.after(span, [this] { heal_disk(); });
    }

    void cut_off(sim::process& client, clock::duration span) override {
        world_.say("the disk hangs for " + client.name());
        client.set_work_time(world_.random().between(milliseconds(100), milliseconds(4'000)));
        world_.after(span, [&client] { client.set_work_time(usual_work); });
    }

    void heal() override {
        heal_disk();
        for (sim::process* const each : clients_)
            each->set_work_time(usual_work);
    }

    std::string residue() override {
        std::size_t sockets = 0;
        for (const auto& each : std::filesystem::directory_iterator(side()))
            sockets += each.is_socket();
        const std::int64_t entries = count("entry");
        const std::int64_t sessions = count("session");
        if (entries == 0 && sessions == 0 && sockets == 0)
            return {};
        return std::to_string(entries) + " entries, " + std::to_string(sessions) +
               " sessions and " + std::to_string(sockets) + " sockets of the store";
    }

private:
    static constexpr microseconds usual_work{100};

    std::filesystem::path database() const { return folder_.path() / "locks.db"; }
    std::filesystem::path side() const { return folder_.path() / "locks.db.mortise"; }

    /// Ends the processes, and takes what was not synced, or a part of it. The mapped heartbeats
    /// stay as they are: nobody ever syncs them.
    void fail_power(clock::duration span) {
        world_.say("the power fails");
        const std::size_t unsynced = disk_.unsynced();
        disk_.power = false;
        for (sim::process* const each : clients_)
            crash_for(*each, span);
        disk_.lose_unsynced(unsynced == 0 ? 0 : world_.random().below(unsynced + 1));
        disk_.power = true;
        spoil_heartbeats();
        heal_disk();
        boot_again();
    }

    void spoil_heartbeats() {
        std::error_code none;
        for (const auto& each : std::filesystem::directory_iterator(side(), none)) {
            if (!each.is_regular_file() || each.file_size() == 0)
                continue;
            const std::uintmax_t size = each.file_size();
            switch (world_.random().below(4)) {
            case 0:
                std::filesystem::resize_file(each.path(), 0);
                break;
            case 1:  // all zeros: only the file's size was written
                std::filesystem::resize_file(each.path(), 0);
                std::filesystem::resize_file(each.path(), size);
                break;
            default:
                break;
            }
        }
    }

    void boot_again() {
        char text[37];
        std::snprintf(text, sizeof text, "%08x-2222-4333-8444-555555555555", ++boots_);
        boot_ = text;
    }

    void deafen() {
        const std::size_t way = world_.random().below(3);
        world_.say("datagrams get lost, way " + std::to_string(way));
        deafen_inboxes([way](const std::string& name) {
            if (!is_ours(name))
                return false;
            const auto digit = static_cast<unsigned char>(name[name.size() - 3]);
            return way == 2 || digit % 2 == way;
        });
    }

    // Sockets are named through the folder of a descriptor.
    static bool is_ours(const std::string& name) { return name.ends_with(".d"); }

    void heal_disk() {
        disk_.fail_at = 0;
        disk_.lock_result = 0;
        heal_inboxes(&is_ours);
    }

    std::int64_t count(const char* table) const {
        sqlite3* db = nullptr;
        sqlite3_stmt* query = nullptr;
        const std::string text = std::string("SELECT count(*) FROM ") + table;
        const bool worked =
            ::sqlite3_open(database().c_str(), &db) == SQLITE_OK &&
            ::sqlite3_prepare_v2(db, text.c_str(), -1, &query, nullptr) == SQLITE_OK &&
            ::sqlite3_step(query) == SQLITE_ROW;
        const std::int64_t found = worked ? ::sqlite3_column_int64(query, 0) : -1;
        ::sqlite3_finalize(query);
        ::sqlite3_close(db);
        return found;
    }

    sim::world& world_;
    // In memory: here the simulated file layer decides what a sync keeps.
    scratch_folder folder_{scratch_folder::place::memory};
    fault_vfs disk_;
    std::string boot_;
    unsigned boots_ = 0;
    std::vector<sim::process*> clients_;
};

}  // namespace

std::unique_ptr<backend> make_sqlite_backend(sim::world& in) {
    return std::make_unique<sqlite_backend>(in);
}

}  // namespace mortise::test
