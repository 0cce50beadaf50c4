// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/examination.hpp"
#include "store/sqlite/store_files.hpp"

#include <chrono>
#include <filesystem>
#include <utility>

namespace mortise::store_detail {

using sqlite_detail::sqlite_db;

using verdict = store_finding::verdict;

namespace {

bool follow_name(examination& found, store_files& files) {
    bool leads_somewhere = false;
    found.look("name", [&](std::string& text) {
        files.follow_links();
        leads_somewhere = true;
        return examine_name(files.path(), text);
    });
    return leads_somewhere;
}

// @return whether the store is open.
bool examine_open(examination& found, store_files& files, const std::function<void()>& open_store) {
    if (!files.is_open() && !files.exists()) {
        found.look("store", [&](std::string& text) {
            text = "There is none at " + files.path() + " yet: the first acquire makes it.";
            return verdict::holds;
        });
        return false;
    }
    bool free = false;
    found.look("lock", [&](std::string& text) {
        const verdict judged = examine_lock(files.path(), std::chrono::seconds(1), text);
        free = judged == verdict::holds;
        return judged;
    });
    if (!free)
        return false;  // Opening would wait for the lock without a limit.
    bool open = false;
    found.look("store", [&](std::string& text) {
        open_store();
        open = true;
        text = files.path() + " is the store " + files.identity().store.text() +
               ", with tokens of the domain " + files.identity().domain + ", in use since boot " +
               files.owner().boot + " in time namespace " +
               std::to_string(files.owner().time_namespace) + '.';
        return verdict::holds;
    });
    return open;
}

void examine_inside(
    examination& found,
    store_files& files,
    coro::time_source& time,
    const std::function<void()>& throw_failure
) {
    auto& folder = *files.folder();
    found.look("rights", [&](std::string& text) {
        return examine_modes(files.path(), folder, text);
    });
    found.look("datagrams", [&](std::string& text) {
        return examine_datagrams(folder, time, text);
    });
    found.look("disk", [&](std::string& text) { return examine_disk(folder, time, text); });
    found.look("sessions", [&](std::string& text) {
        return examine_sessions(*files.slots(), text);
    });
    using subject = verdict (*)(sqlite_db&, std::string&);
    constexpr std::pair<const char*, subject> subjects[] = {
        {"journal", &examine_journal}, {"tokens", &examine_tokens}, {"integrity", &examine_pages}};
    for (const auto& [name, examine] : subjects) {
        if (!files.db().is_open())
            return;  // The failure of the last subject says why.
        found.look(name, [&, look = examine](std::string& text) {
            const verdict judged = look(files.db(), text);
            if (files.db().failed())
                throw_failure();
            return judged;
        });
    }
}

}  // namespace

std::vector<store_finding> examine_store(
    store_files& files,
    coro::time_source& time,
    const std::function<void()>& open_store,
    const std::function<void()>& throw_failure
) {
    examination found;
    if (!follow_name(found, files))
        return found.take();
    const std::string parent = std::filesystem::path(files.path()).parent_path().string();
    found.look("SQLite", [](std::string& text) { return examine_library(text); });
    found.look("file system", [&](std::string& text) {
        return examine_file_system(files.file_system(), text);
    });
    found.look("space", [&](std::string& text) {
        return examine_space(parent, files.checkpoint_bytes(), text);
    });
    if (examine_open(found, files, open_store))
        examine_inside(found, files, time, throw_failure);
    return found.take();
}

}  // namespace mortise::store_detail
