// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/examination.hpp"
#include "store/sqlite/sqlite_state.hpp"

#include <chrono>
#include <filesystem>
#include <utility>

namespace mortise::store_detail {

using sqlite_detail::sqlite_db;

using verdict = store_finding::verdict;

outcome<std::vector<store_finding>> sqlite_state::examine() {
    outcome<std::vector<store_finding>> out;
    examination found;
    bool leads_somewhere = false;
    found.look("name", [&](std::string& text) {
        files_.follow_links();
        leads_somewhere = true;
        return examine_name(files_.path(), text);
    });
    if (!leads_somewhere) {
        out.value = found.take();
        return out;
    }
    const std::string parent = std::filesystem::path(files_.path()).parent_path().string();
    found.look("SQLite", [](std::string& text) { return examine_library(text); });
    found.look("file system", [&](std::string& text) {
        return examine_file_system(files_.file_system(), text);
    });
    found.look("space", [&](std::string& text) {
        return examine_space(parent, files_.checkpoint_bytes(), text);
    });
    if (examine_open(found, out.notices))
        examine_inside(found);
    out.value = found.take();
    return out;
}

// @return whether the store is open.
bool sqlite_state::examine_open(examination& found, std::vector<notice>& notices) {
    if (!files_.is_open() && !files_.exists()) {
        found.look("store", [&](std::string& text) {
            text = "There is none at " + files_.path() + " yet: the first acquire makes it.";
            return verdict::holds;
        });
        return false;
    }
    bool free = false;
    found.look("lock", [&](std::string& text) {
        const verdict judged = examine_lock(files_.path(), std::chrono::seconds(1), text);
        free = judged == verdict::holds;
        return judged;
    });
    if (!free)
        return false;  // Opening would wait for the lock without a limit.
    bool open = false;
    found.look("store", [&](std::string& text) {
        open_if_needed(notices);
        open = true;
        text = files_.path() + " is the store " + files_.identity().store.text() +
               ", with tokens of the domain " + files_.identity().domain + ", in use since boot " +
               files_.owner().boot + " in time namespace " +
               std::to_string(files_.owner().time_namespace) + '.';
        return verdict::holds;
    });
    return open;
}

void sqlite_state::examine_inside(examination& found) {
    auto& folder = *files_.folder();
    found.look("rights", [&](std::string& text) {
        return examine_modes(files_.path(), folder, text);
    });
    found.look("datagrams", [&](std::string& text) {
        return examine_datagrams(folder, *time_, text);
    });
    found.look("disk", [&](std::string& text) { return examine_disk(folder, *time_, text); });
    found.look("sessions", [&](std::string& text) {
        return examine_sessions(*files_.slots(), text);
    });
    using subject = verdict (*)(sqlite_db&, std::string&);
    constexpr std::pair<const char*, subject> subjects[] = {
        {"journal", &examine_journal}, {"tokens", &examine_tokens}, {"integrity", &examine_pages}};
    for (const auto& [name, examine] : subjects) {
        if (!files_.db().is_open())
            return;  // The failure of the last subject says why.
        found.look(name, [&, look = examine](std::string& text) {
            const verdict judged = look(files_.db(), text);
            if (files_.db().failed())
                fail();
            return judged;
        });
    }
}

}  // namespace mortise::store_detail
