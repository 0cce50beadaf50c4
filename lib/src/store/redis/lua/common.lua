-- SPDX-License-Identifier: BSL-1.0
-- The head of the scripts of the queue form. All keys of a store begin with one prefix in braces,
-- and every key that a script touches is among its KEYS: the first one is the table of sessions,
-- `s`, the second one the index of a session's entries, `e:SESSION`. docs/stores/redis.md says what
-- they hold. A number that is joined to a text loses digits from 10^14 on: hence `digits`. A
-- command costs more than dozens of a script's own steps: call few where many locks are taken.
local call, format, match, sub = redis.call, string.format, string.match, string.sub

local function digits(number)
    return format('%.0f', number)
end

local clock

-- Microseconds of the server's clock; the same in all of a script.
local function now()
    if not clock then
        local time = call('TIME')
        clock = time[1] * 1000000 + time[2]
    end
    return clock
end

-- What a key names: it follows the prefix, a letter and a colon.
local function named_by(key)
    return sub(key, #KEYS[1] + 2)
end

-- @return how many connections heard the message.
local function publish(session, message)
    local heard = redis.pcall('PUBLISH', sub(KEYS[1], 1, -2) .. 'i:' .. session, message)
    return type(heard) == 'number' and heard or 0
end

-- A lock is a text: HOLDERS|WAITERS|CROWD|QUEUE, without the bars at its end.
-- HOLDERS: each SESSION:ID:MODE:BASE:SLOT:HOLD:SINCE, where HOLD is nothing for a grant that has no
-- end of its own, and SINCE is nothing if it is BASE. WAITERS: each SESSION:ID:MODE:HOLD:SINCE.
-- CROWD and QUEUE say what more there is in other keys (locks.lua).
local QUEUE_MAX = 2048  -- So many bytes of waiters are kept in the text of the lock.
