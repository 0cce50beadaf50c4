-- SPDX-License-Identifier: BSL-1.0
-- The head of the scripts of the queue form. All keys of a store begin with one prefix in braces,
-- and every key that a script touches is among its KEYS: the first one is the table of sessions,
-- `s`, the second one the index of a session's entries, `e:SESSION`. docs/stores/redis.md says what
-- they hold. A command costs more than dozens of a script's own steps: call few where many locks are taken.

-- What a key names: it follows the prefix, a letter and a colon.
local function named_by(key)
    return sub(key, #KEYS[1] + 2)
end

-- A part of a store that is spread over a cluster has another brace in its prefix: its inboxes lie in
-- its slot, so that a message stays at this node, unless the server is older than version 7.
local function is_spread()
    return string.find(KEYS[1], '{', 2, true)
end

-- Publishes in the inbox of a session.
-- @return how many connections heard the message, or an error.
local function try_publish(session, message)
    local inbox, heard = sub(KEYS[1], 1, -2) .. 'i:' .. session, nil
    if is_spread() then
        heard = redis.pcall('SPUBLISH', inbox, message)
    end
    if not heard or type(heard) == 'table' and string.find(heard.err, 'nknown', 1, true) then
        heard = redis.pcall('PUBLISH', inbox, message)
    end
    return heard
end

-- @return how many connections heard the message.
local function publish(session, message)
    local heard = try_publish(session, message)
    return type(heard) == 'number' and heard or 0
end

-- A lock is a text: HOLDERS|WAITERS|CROWD|QUEUE, without the bars at its end.
-- HOLDERS: each SESSION:ID:MODE:BASE:SLOT:HOLD:SINCE, where HOLD is nothing for a grant that has no
-- end of its own, and SINCE is nothing if it is BASE. WAITERS: each SESSION:ID:MODE:HOLD:SINCE.
-- CROWD and QUEUE say what more there is in other keys (locks.lua).
local QUEUE_MAX = 2048  -- So many bytes of waiters are kept in the text of the lock.
