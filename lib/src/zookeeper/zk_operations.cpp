// SPDX-License-Identifier: BSL-1.0
// The operations of a session: each with its place in the client until it is answered.
#include "zookeeper/zk_driving.hpp"
#include "zookeeper/zk_error.hpp"
#include "zookeeper/zk_handle.hpp"

#include <boost/asio/post.hpp>

#include <zookeeper/zookeeper.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::zookeeper_detail {
namespace {

int flags_of(node_kind kind) noexcept {
    switch (kind) {
    case node_kind::persistent_sequential:
        return ZOO_PERSISTENT_SEQUENTIAL;
    case node_kind::ephemeral:
        return ZOO_EPHEMERAL;
    case node_kind::ephemeral_sequential:
        return ZOO_EPHEMERAL_SEQUENTIAL;
    case node_kind::container:
        return ZOO_CONTAINER;
    case node_kind::persistent:
        break;
    }
    return ZOO_PERSISTENT;
}

node_stat stat_of(const Stat* from) noexcept {
    node_stat stat;
    if (!from)
        return stat;
    stat.created = static_cast<std::uint64_t>(from->czxid);
    stat.modified = static_cast<std::uint64_t>(from->mzxid);
    stat.children_changed = static_cast<std::uint64_t>(from->pzxid);
    stat.created_at = from->ctime;
    stat.modified_at = from->mtime;
    // It counts all that were made or deleted.
    constexpr std::uint32_t once_each = 2;
    const auto changes = static_cast<std::uint32_t>(from->cversion);
    stat.children_made = (changes + static_cast<std::uint32_t>(from->numChildren)) / once_each;
    stat.version = from->version;
    stat.owner = from->ephemeralOwner;
    stat.children = from->numChildren;
    return stat;
}

const ACL_vector* rights_of(const std::string& login) noexcept {
    return login.empty() ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL;
}

/// A server adds a number to the name of a sequential node, which may be negative.
constexpr std::size_t digits_of_a_number = 11;

int bytes_in(const std::string& data) noexcept {
    return static_cast<int>(data.size());
}

}  // namespace

/// An operation that is under way. The client gives it back once, whatever happens.
struct zk_handle::call {
    call(const std::shared_ptr<zk_handle>& by, replied handler)
        : of(by), then(std::move(handler)) {}

    /// Gives the answer, on the strand and not from inside of the client. With the handle, whose
    /// context has ended, all goes that waited for it.
    static void end(const void* data, zk_answer answer) {
        std::unique_ptr<call> mine(static_cast<call*>(const_cast<void*>(data)));
        if (const auto by = mine->of.lock())
            by->tell(answer_to(std::move(mine->then), std::move(answer)));
    }
    static news answer_to(replied then, zk_answer answer) {
        return [then = std::move(then), answer = std::move(answer)]() mutable {
            then(std::move(answer));
        };
    }
    static zk_answer answer_of(int code, const Stat* stat = nullptr) {
        zk_answer answer;
        answer.failed = zookeeper_error(code);
        answer.stat = stat_of(code == ZOK ? stat : nullptr);
        return answer;
    }

    static void on_done(int code, const void* data) { end(data, answer_of(code)); }
    static void on_stat(int code, const Stat* stat, const void* data) {
        end(data, answer_of(code, stat));
    }
    static void on_path(int code, const char* path, const Stat* stat, const void* data) {
        auto answer = answer_of(code, stat);
        if (code == ZOK && path)
            answer.path = path;
        end(data, std::move(answer));
    }
    static void on_data(int code, const char* bytes, int size, const Stat* stat, const void* data) {
        auto answer = answer_of(code, stat);
        if (code == ZOK && bytes && size > 0)
            answer.data.assign(bytes, static_cast<std::size_t>(size));
        end(data, std::move(answer));
    }
    static void on_names(int code, const String_vector* names, const Stat* stat, const void* data) {
        auto answer = answer_of(code, stat);
        if (code == ZOK && names)
            answer.children.assign(names->data, names->data + names->count);
        end(data, std::move(answer));
    }

    static void on_changed(int code, const void* data) {
        const auto& mine = *static_cast<const call*>(data);
        const Stat* written = nullptr;
        std::string path;
        for (std::size_t i = 0; code == ZOK && i < mine.steps.size(); ++i) {
            if (mine.steps[i].type == zk_step::kind::create)
                path = mine.paths[i].c_str();
            else if (mine.steps[i].type == zk_step::kind::set)
                written = &mine.stats[i];
        }
        auto answer = answer_of(code, written);
        answer.path = std::move(path);
        end(data, std::move(answer));
    }

    const std::weak_ptr<zk_handle> of;
    replied then;
    // Of several operations: the client reads and writes here until the answer.
    std::vector<zk_step> steps;
    std::vector<zoo_op_t> operations;
    std::vector<zoo_op_result_t> results;
    std::vector<std::string> paths;
    std::vector<Stat> stats;
};

template <class Start>
void zk_handle::start(replied then, Start begin) {
    if (closed_ || !raw_)
        return fail_later(std::move(then), ZINVALIDSTATE);
    auto fresh = std::make_unique<call>(shared_from_this(), std::move(then));
    socket_.gather();
    pump_soon();
    const driving now(this);
    const int refused = begin(*fresh);
    if (refused != ZOK)
        return fail_later(std::move(fresh->then), refused);
    static_cast<void>(fresh.release());  // The client has it now.
}

void zk_handle::fail_later(replied then, int code) {
    tell(call::answer_to(std::move(then), call::answer_of(code)));
}

void zk_handle::create(
    const std::string& path, const std::string& data, node_kind kind, replied then
) {
    start(std::move(then), [&](call& to) {
        return ::zoo_acreate2(
            raw_,
            path.c_str(),
            data.data(),
            bytes_in(data),
            rights_of(how_.login),
            flags_of(kind),
            &call::on_path,
            &to
        );
    });
}

void zk_handle::erase(const std::string& path, std::int32_t version, replied then) {
    start(std::move(then), [&](call& to) {
        return ::zoo_adelete(raw_, path.c_str(), version, &call::on_done, &to);
    });
}

void zk_handle::set(
    const std::string& path, const std::string& data, std::int32_t version, replied then
) {
    start(std::move(then), [&](call& to) {
        return ::zoo_aset(
            raw_, path.c_str(), data.data(), bytes_in(data), version, &call::on_stat, &to
        );
    });
}

void zk_handle::get(const std::string& path, bool watch, replied then) {
    note_watch(watch, path);
    start(std::move(then), [&](call& to) {
        return ::zoo_aget(raw_, path.c_str(), watch ? 1 : 0, &call::on_data, &to);
    });
}

void zk_handle::list(const std::string& path, bool watch, replied then) {
    note_watch(watch, path);
    start(std::move(then), [&](call& to) {
        return ::zoo_aget_children2(raw_, path.c_str(), watch ? 1 : 0, &call::on_names, &to);
    });
}

void zk_handle::look(const std::string& path, bool watch, replied then) {
    note_watch(watch, path);
    start(std::move(then), [&](call& to) {
        return ::zoo_aexists(raw_, path.c_str(), watch ? 1 : 0, &call::on_stat, &to);
    });
}

void zk_handle::change(std::vector<zk_step> steps, replied then) {
    start(std::move(then), [&](call& to) {
        to.steps = std::move(steps);
        to.operations.resize(to.steps.size());
        to.results.resize(to.steps.size());
        to.paths.resize(to.steps.size());
        to.stats.resize(to.steps.size());
        for (std::size_t i = 0; i < to.steps.size(); ++i) {
            const auto& each = to.steps[i];
            auto* const operation = &to.operations[i];
            const char* const path = each.path.c_str();
            switch (each.type) {
            case zk_step::kind::create:
                to.paths[i].resize(each.path.size() + digits_of_a_number + 1);
                ::zoo_create_op_init(
                    operation,
                    path,
                    each.data.data(),
                    bytes_in(each.data),
                    rights_of(how_.login),
                    flags_of(each.node),
                    to.paths[i].data(),
                    static_cast<int>(to.paths[i].size())
                );
                break;
            case zk_step::kind::erase:
                ::zoo_delete_op_init(operation, path, each.version);
                break;
            case zk_step::kind::set:
                ::zoo_set_op_init(
                    operation,
                    path,
                    each.data.data(),
                    bytes_in(each.data),
                    each.version,
                    &to.stats[i]
                );
                break;
            case zk_step::kind::check:
                ::zoo_check_op_init(operation, path, each.version);
                break;
            }
        }
        return ::zoo_amulti(
            raw_,
            static_cast<int>(to.operations.size()),
            to.operations.data(),
            to.results.data(),
            &call::on_changed,
            &to
        );
    });
}

}  // namespace mortise::zookeeper_detail
