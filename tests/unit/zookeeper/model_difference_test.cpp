// SPDX-License-Identifier: BSL-1.0
// The model of ZooKeeper's nodes beside a real server: the same operations have the same answers,
// and watches see the same.
#include "mortise/coro/time_source.hpp"
#include "mortise/sim/dice.hpp"
#include "mortise/store_types.hpp"
#include "support/zookeeper_server.hpp"
#include "zookeeper/zk_handle.hpp"
#include "zookeeper_model/watch_table.hpp"
#include "zookeeper_model/znode_tree.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::model_difference_test {
namespace {

using namespace std::chrono_literals;
using zookeeper_detail::zk_handle;
using zookeeper_detail::zk_state;
using zookeeper_model::node_kind;
using zookeeper_model::transaction;
using zookeeper_model::watch_table;
using zookeeper_model::zk_answer;
using zookeeper_model::zk_event;
using zookeeper_model::zk_step;
using zookeeper_model::znode_tree;

struct operation {
    enum class kind : std::uint8_t { change, get, list };

    kind type = kind::change;
    std::vector<zk_step> steps;  ///< Several: done as one.
    std::string path;
    bool watch = false;
};

std::string text_of(const zk_event& event) {
    constexpr const char* names[] = {"created ", "deleted ", "changed ", "children "};
    return names[static_cast<std::size_t>(event.type)] + event.path + "; ";
}

/// All that does not depend on what else the server has done.
std::string text_of(const std::vector<zk_event>& seen, zk_answer answer) {
    std::string text;
    for (const auto& each : seen)
        text += text_of(each);
    if (answer.failed)
        return text + answer.failed.message();
    text += answer.path + " \"" + answer.data + '"';
    std::sort(answer.children.begin(), answer.children.end());
    for (const auto& each : answer.children)
        text += ' ' + each;
    const auto& stat = answer.stat;
    text += " version " + std::to_string(stat.version) + " made " +
            std::to_string(stat.children_made) + " has " + std::to_string(stat.children);
    text += stat.owner != 0 ? " owned" : "";
    text += stat.modified > stat.created ? " written" : "";
    text += stat.children_changed > stat.created ? " with changed children" : "";
    return text;
}

class real_one {
public:
    real_one() {
        zk_handle::listener to;
        to.changed = [](zk_state) {};
        to.seen = [this](const zk_event& event) { seen_.push_back(event); };
        handle_ = std::make_shared<zk_handle>(
            context_.get_executor(),
            coro::make_boot_time_source(context_.get_executor()),
            zk_handle::config{shared_zookeeper().addresses(), 20s, {}},
            std::move(to)
        );
        EXPECT_FALSE(handle_->open());
        EXPECT_TRUE(reaches([&] { return handle_->connected(); }));
    }
    ~real_one() {
        handle_->close();
        context_.restart();
        context_.run();
    }
    real_one(const real_one&) = delete;
    real_one& operator=(const real_one&) = delete;

    std::string run(const operation& one) {
        std::optional<zk_answer> got;
        const auto then = [&got](zk_answer answer) { got = std::move(answer); };
        if (one.type == operation::kind::get)
            handle_->get(one.path, one.watch, then);
        else if (one.type == operation::kind::list)
            handle_->list(one.path, one.watch, then);
        else if (one.steps.size() > 1)
            handle_->change(one.steps, then);
        else
            start(one.steps.front(), then);
        EXPECT_TRUE(reaches([&] { return got.has_value(); }));
        return text_of(std::exchange(seen_, {}), got.value_or(zk_answer()));
    }

private:
    void start(const zk_step& one, const zk_handle::replied& then) {
        if (one.type == zk_step::kind::create)
            handle_->create(one.path, one.data, one.node, then);
        else if (one.type == zk_step::kind::erase)
            handle_->erase(one.path, one.version, then);
        else
            handle_->set(one.path, one.data, one.version, then);
    }

    template <class Done>
    bool reaches(Done done) {
        const auto end = clock::now() + 30s;
        context_.restart();
        while (!done() && clock::now() < end)
            context_.run_one_for(50ms);
        return done();
    }

    asio::io_context context_{1};
    std::vector<zk_event> seen_;
    std::shared_ptr<zk_handle> handle_;
};

class model {
public:
    model() {
        transaction opening;
        opening.type = transaction::kind::open_session;
        opening.session = 1;
        run(opening);
    }

    std::string run(const operation& one) {
        if (one.type == operation::kind::change) {
            transaction change;
            change.session = 1;
            change.steps = one.steps;
            change.several = one.steps.size() > 1;
            return run(change);
        }
        const bool lists = one.type == operation::kind::list;
        const auto answer = lists ? tree_.list(one.path) : tree_.get(one.path);
        if (one.watch && !answer.failed) {
            if (lists)
                watches_.watch_children(one.path);
            else
                watches_.watch_data(one.path);
        }
        return text_of({}, answer);
    }

private:
    std::string run(transaction one) {
        one.number = ++last_;
        std::vector<zk_event> all;
        auto answer = tree_.apply(one, all);
        std::vector<zk_event> seen;
        for (const auto& each : all) {
            if (watches_.take(each))
                seen.push_back(each);
        }
        return text_of(seen, std::move(answer));
    }

    znode_tree tree_;
    watch_table watches_;
    std::uint64_t last_ = 0;
};

/// Operations on a few nodes, so that they meet.
class author {
public:
    author(std::uint64_t seed, std::string root) : dice_(seed), root_(std::move(root)) {}

    operation next() {
        operation one;
        const auto choice = dice_.below(10);
        if (choice < 2) {
            one.type = operation::kind::get;
        } else if (choice < 4) {
            one.type = operation::kind::list;
        } else {
            const std::size_t count = choice < 7 ? 1 : 2 + dice_.below(2);
            while (one.steps.size() < count)
                one.steps.push_back(step(count > 1));
            return one;
        }
        one.path = path();
        one.watch = dice_.below(2) == 0;
        return one;
    }

private:
    std::string path() {
        constexpr const char* names[] = {"", "/a", "/b", "/a/x", "/a/y", "/b/x", "/a/x/z"};
        return root_ + names[dice_.below(std::size(names))];
    }

    zk_step step(bool one_of_several) {
        zk_step one;
        one.path = path();
        one.data = "data " + std::to_string(dice_.below(100));
        const auto choice = dice_.below(one_of_several ? 7 : 6);
        if (choice < 3) {
            one.type = zk_step::kind::create;
            constexpr node_kind kinds[] = {
                node_kind::persistent,
                node_kind::persistent,
                node_kind::persistent_sequential,
                node_kind::ephemeral,
                node_kind::ephemeral_sequential};
            one.node = kinds[dice_.below(std::size(kinds))];
            if (one.path == root_)
                one.node = node_kind::persistent;  // Its parent has had other children.
            return one;
        }
        one.type = choice < 4   ? zk_step::kind::erase
                   : choice < 6 ? zk_step::kind::set
                                : zk_step::kind::check;
        one.version = static_cast<std::int32_t>(dice_.below(3)) - 1;
        return one;
    }

    sim::dice dice_;
    const std::string root_;
};

std::string text_of(const operation& one) {
    if (one.type != operation::kind::change)
        return (one.type == operation::kind::get ? "get " : "list ") + one.path;
    std::string text;
    constexpr const char* names[] = {"create ", "erase ", "set ", "check "};
    for (const auto& each : one.steps) {
        text += names[static_cast<std::size_t>(each.type)] + each.path + " kind " +
                std::to_string(static_cast<int>(each.node)) + " version " +
                std::to_string(each.version) + "; ";
    }
    return text;
}

TEST(ZooKeeperModel, AnswersAsAServerDoes) {
    constexpr std::uint64_t seeds = 12;
    constexpr int operations = 150;
    real_one server;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        model beside;
        const auto root = "/model-" + random_id::draw().text();
        operation making;
        zk_step creation;
        creation.type = zk_step::kind::create;
        creation.path = root;
        making.steps.push_back(creation);
        ASSERT_EQ(beside.run(making), server.run(making));
        author writes(seed, root);
        for (int i = 0; i < operations; ++i) {
            const auto one = writes.next();
            ASSERT_EQ(beside.run(one), server.run(one))
                << "seed " << seed << ", operation " << i << ": " << text_of(one);
        }
    }
}

}  // namespace
}  // namespace mortise::test::model_difference_test
