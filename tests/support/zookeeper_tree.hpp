// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_ZOOKEEPER_TREE_HPP
#define MORTISE_TESTS_SUPPORT_ZOOKEEPER_TREE_HPP

#include "mortise/coro/time_source.hpp"
#include "zookeeper/zk_handle.hpp"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

/// The nodes of a server, as a client of its own sees them. Each call ends when it is answered.
class zookeeper_tree {
public:
    explicit zookeeper_tree(std::string servers, std::string login = {});
    ~zookeeper_tree();
    zookeeper_tree(const zookeeper_tree&) = delete;
    zookeeper_tree& operator=(const zookeeper_tree&) = delete;

    /// The names of the children; none if there is no such node.
    std::vector<std::string> children(const std::string& path);
    /// How many children the children of a node have, all together. Many are asked for at a time.
    std::size_t grandchildren(const std::string& path);
    zookeeper_detail::zk_answer get(const std::string& path);
    error_code create(const std::string& path);
    error_code set(const std::string& path, const std::string& data);
    error_code erase(const std::string& path);
    /// All below a node, for people.
    std::string text(const std::string& path);

    using handle = zookeeper_detail::zk_handle;

    /// Awaits the answer to what `send` sends, which it may be told to do again.
    zookeeper_detail::zk_answer ask(const std::function<void(handle&, handle::replied)>& send);

private:
    void open();

    const std::string servers_;
    const std::string login_;
    boost::asio::io_context context_;
    const std::shared_ptr<coro::time_source> time_;
    std::shared_ptr<handle> handle_;  ///< Another one after its session has expired.
};

}  // namespace mortise::test

#endif
