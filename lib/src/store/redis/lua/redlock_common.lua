-- SPDX-License-Identifier: BSL-1.0
-- The head of the scripts of a node of Redlock. A node gives its vote for a lock to one request at
-- a time; docs/adr/0048-redlock.md says what its keys hold. KEYS of every script: id, s, d, g, k.
local ID, SESSIONS, DEADLINES, NEWS, COUNTERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local function is_alive(session)
    local deadline = call('ZSCORE', DEADLINES, session)
    return deadline and tonumber(deadline) > now()
end

-- Whether the session lives, and the command came on its newest connection.
local function is_present(session, generation)
    return call('HGET', SESSIONS, session) == generation and is_alive(session)
end

local function news_of(session)
    return call('HGET', NEWS, session) or '0'
end

-- Sends a session a message, with the number of its messages so far.
local function tell(session, message)
    local count = call('HINCRBY', NEWS, session, 1)
    redis.pcall('PUBLISH', sub(ID, 1, -3) .. 'i:' .. session, digits(count) .. ' ' .. message)
end

-- The counter of a lock is never below the floor of the node, which stands for all that are
-- forgotten.
local function counter_of(lock)
    local own, floor = call('ZSCORE', COUNTERS, lock), call('HGET', ID, 'floor')
    return math.max(tonumber(own or 0), tonumber(floor or 0))
end

local function raise(lock, base)
    if tonumber(base) > counter_of(lock) then
        call('ZADD', COUNTERS, base, lock)
    end
end

-- A vote is a text: OWNER REQUEST SESSION BASE ORDER SINCE. That of a dead session is none.
local function vote_at(key)
    local text = call('GET', key)
    if not text then
        return
    end
    local owner, request, session, base, order =
        match(text, '^(%S+) (%S+) (%S+) (%S+) (%S+)')
    if is_alive(session) then
        return {owner = owner, request = request, session = session, base = base, order = order}
    end
end

-- The first of the queue whose session lives. A place in a queue is a text: OWNER REQUEST SESSION.
local function first_in(queue)
    while true do
        local head = call('ZRANGE', queue, 0, 0, 'WITHSCORES')
        if not head[1] then
            return
        end
        local owner, request, session = match(head[1], '^(%S+) (%S+) (%S+)$')
        if is_alive(session) then
            return {owner = owner, request = request, session = session, order = head[2]}
        end
        call('ZREM', queue, head[1])
    end
end

-- Tells the first of the queue that the node has a vote to give.
local function advance(queue)
    local first = first_in(queue)
    if first then
        tell(first.session, 'f ' .. first.request)
    end
end
