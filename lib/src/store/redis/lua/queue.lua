-- SPDX-License-Identifier: BSL-1.0
-- The rules of the queue: the same as in core/lock_engine.cpp, and held to it by a test.
--
-- A lock is a sorted set of members SESSION:ID:MODE. The score of a waiter is its ordinal, that of
-- a holder the ordinal less HELD. The rest is the field ID of its session's hash: "w MODE HOLD
-- SINCE NAME" or "g MODE HOLD SINCE BASE SLOT NAME".
-- A lock that was taken the short way, when it was free, is a text, SESSION:ID, with "a MODE BASE
-- NAME" in the session; its base says since when. It becomes a sorted set when others come.
local actor      -- The session that acts; its reply reaches it.
local granted = {}  -- Grants to push: session, id, entry.
local changed = false

local function publish(session, message)
    local heard = redis.pcall('PUBLISH', '{P}i:' .. session, message)
    return type(heard) == 'number' and heard or 0
end

local function reachable(session)
    if session == actor then
        return true
    end
    local inbox = '{P}i:' .. session
    local heard = redis.pcall('PUBSUB', 'NUMSUB', inbox)
    return heard.err or tonumber(heard[2]) > 0
end

local function parts(member)
    return match(member, '^([^:]+):(%d+):(%a%d*)$')
end

local function entry_of(text)
    if text:sub(1, 1) == 'a' then
        local mode, base, name = match(text, '^a (%a%d*) (%d+) (.*)$')
        return {mode = mode, hold = '-', since = base, base = base,
                slot = mode:sub(1, 1) == 'p' and '1' or '0', name = name, alone = true}
    end
    local state, mode, hold, since, rest = match(text, '^(%a) (%a%d*) (%S+) (%d+) (.*)$')
    if state == 'w' then
        return {mode = mode, hold = hold, since = since, name = rest}
    end
    local base, slot, name = match(rest, '^(%d+) (%d+) (.*)$')
    return {mode = mode, hold = hold, since = since, base = base, slot = slot, name = name}
end

local function member_of(session, id, entry)
    return session .. ':' .. id .. ':' .. entry.mode
end

local function text_of(entry)
    local head = entry.mode .. ' ' .. entry.hold .. ' ' .. entry.since .. ' '
    if entry.base then
        return 'g ' .. head .. entry.base .. ' ' .. entry.slot .. ' ' .. entry.name
    end
    return 'w ' .. head .. entry.name
end

local function end_of(entry)
    return entry.hold ~= '-' and tonumber(entry.since) + tonumber(entry.hold) * 1000
end

local function others_wait(key, session)
    local from, own = 0, session .. ':'
    repeat
        local some = call('ZRANGEBYSCORE', key, 0, '+inf', 'LIMIT', from, 16)
        for _, member in ipairs(some) do
            if member:sub(1, #own) ~= own then
                return true
            end
        end
        from = from + 16
    until #some < 16
    return false
end

-- Removes an entry from its lock and from its session, as far as they have it.
local function remove(session, id, entry, by_other)
    local hash = '{P}s:' .. session
    changed = true
    local key = '{P}l:' .. entry.name
    if not entry.alone then
        redis.pcall('ZREM', key, member_of(session, id, entry))
    elseif redis.pcall('GET', key) == session .. ':' .. id then
        call('DEL', key)
    end
    if entry.hold ~= '-' then
        call('ZREM', '{P}x', session .. ':' .. id)
    end
    if call('HDEL', hash, id) == 0 then
        return
    end
    if not entry.base then
        call('HINCRBY', hash, 'q', -1)
    end
    if by_other then
        call('HINCRBY', hash, 'c', 1)
    end
end

-- Makes a session dead for good, whatever the clock says later.
local function mark_dead(session)
    call('HSET', '{P}s:' .. session, 'd', 0)
    call('ZADD', '{P}d', 'XX', 0, session)
end

-- Removes an entry of a session that was found dead. Its other entries stay until somebody meets
-- them in their locks, or a heartbeat reaps them.
local function remove_dead(session, id, entry)
    remove(session, id, entry, true)  -- First, since it may be allowed without memory.
    mark_dead(session)
end

-- Removes an entry of a session that lives and does not know of it yet.
local function take_away(session, id, entry)
    remove(session, id, entry, true)
    publish(session, 'a')
end

-- Removes a member of a lock that its session does not have.
local function orphan(name, member)
    changed = true
    call('ZREM', '{P}l:' .. name, member)
end

-- Turns a lock that was taken the short way into a sorted set.
local function unfold(name)
    local key = '{P}l:' .. name
    local text = redis.pcall('GET', key)
    if type(text) ~= 'string' then
        return
    end
    local session, id = match(text, '^([^:]+):(%d+)$')
    if not session then
        call('ZCARD', key)  -- Not ours: this call fails and says so.
    end
    local hash = '{P}s:' .. session
    local known = call('HGET', hash, id)
    local entry = known and entry_of(known)
    if not entry or not entry.alone or entry.name ~= name then
        changed = true
        call('DEL', key)
        return
    end
    call('HSET', hash, id, text_of(entry))  -- First, since it may be refused for want of memory.
    call('DEL', key)
    call('ZADD', key, digits(1 - HELD), member_of(session, id, entry))
end

-- The entry of that holder. If its session is gone or its time is over, removes it: nothing then.
local function holding(name, session, id, member)
    local read = call('HMGET', '{P}s:' .. session, 'd', id)
    if not read[1] or not read[2] then
        orphan(name, member)
        return nil
    end
    local entry = entry_of(read[2])
    if tonumber(read[1]) <= now() then
        remove_dead(session, id, entry)
        return nil
    end
    local ends = end_of(entry)
    if not ends or ends > now() then
        return entry
    end
    take_away(session, id, entry)
    return nil
end

local function add(held, entry)
    held.mode, held.base, held.count = entry.mode, entry.base, held.count + 1
    held.taken[tonumber(entry.slot)] = true
end

local function admits(held, mode)
    if not held.mode then
        return true
    elseif mode == 's' then
        return held.mode == 's'
    elseif mode == 'x' then
        return false
    end
    return held.mode == mode and held.count < tonumber(mode:sub(2))
end

local function closed(held)
    return held.mode and not admits(held, held.mode)
end

-- Takes lapsed holders away as far as it meets them: the first one that has not lapsed says whether
-- others may join; only of permits all are looked at, since each has a slot.
-- @return who holds the lock; the first who waits, with its ordinal: false if nobody does, nothing
-- if that is not known.
local function holders_of(key, name)
    local held = {count = 0, taken = {}}
    while true do
        local first = redis.pcall('ZRANGE', key, 0, 1, 'WITHSCORES')
        if first.err then
            unfold(name)
            first = call('ZRANGE', key, 0, 1, 'WITHSCORES')
        end
        if not first[1] or tonumber(first[2]) > 0 then
            return held, first[1] or false, first[2]
        end
        local session, id, mode = parts(first[1])
        local entry = holding(name, session, id, first[1])
        if entry then
            add(held, entry)
            if mode == 'x' then
                held.only = {session, id, entry}
                return held, first[3] or false, first[4]
            elseif mode == 's' then
                return held
            end
            for at, member in ipairs(call('ZRANGEBYSCORE', key, '-inf', '(0')) do
                if at > 1 then
                    session, id = parts(member)
                    entry = holding(name, session, id, member)
                    if entry then
                        add(held, entry)
                    end
                end
            end
            return held
        end
    end
end

-- Fills in a grant: the token of the other readers or one of its own, and a free slot.
local function make_grant(entry, held)
    entry.base = entry.mode == 's' and held.mode == 's' and held.base or draw()
    entry.since = digits(now())
    local slot = 0
    if entry.mode:sub(1, 1) == 'p' then
        repeat
            slot = slot + 1
        until not held.taken[slot]
    end
    entry.slot = tostring(slot)
    add(held, entry)
end

local function note_end(session, id, entry)
    if entry.hold ~= '-' then
        call('ZADD', '{P}x', digits(end_of(entry)), session .. ':' .. id)
    end
end

-- The first who waits after that ordinal, and its ordinal.
local function next_after(key, ordinal)
    local found = call('ZRANGEBYSCORE', key, '(' .. ordinal, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    return found[1] or false, found[2]
end

-- The one rule of the queue: from its head, each waiter that can be reached and can share the lock
-- with its holders gets it.
-- @return who holds the lock; whether those who wait stop a newcomer; whether anybody may be
-- waiting.
local function grant_next(name)
    local key = '{P}l:' .. name
    local held, member, ordinal = holders_of(key, name)
    if state().quarantine > now() or closed(held) then
        return held, true, member ~= false
    end
    if member == nil then
        member, ordinal = next_after(key, 0)
    end
    local waited = false
    while member do
        local session, id = parts(member)
        local hash = '{P}s:' .. session
        local read = call('HMGET', hash, 'd', id, 'c', 'q')
        if not read[1] or not read[2] then
            orphan(name, member)
        elseif tonumber(read[1]) <= now() then
            remove_dead(session, id, entry_of(read[2]))
        elseif not reachable(session) then
            waited = true  -- It keeps its place.
        else
            local entry = entry_of(read[2])
            if not admits(held, entry.mode) then
                return held, true, true
            end
            make_grant(entry, held)
            changed = true
            call('ZADD', key, digits(tonumber(ordinal) - HELD), member)
            call('HSET', hash, id, text_of(entry), 'q', read[4] - 1, 'c',
                 read[3] + 1)
            note_end(session, id, entry)
            granted[#granted + 1] = {session, id, entry}
            if closed(held) then
                return held, true, true
            end
        end
        member, ordinal = next_after(key, ordinal)
    end
    return held, false, waited
end

-- A watcher that could not be told is told after the next change, or finds out by a heartbeat.
local function tell_watchers()
    for _, session in ipairs(call('SMEMBERS', '{P}w')) do
        if publish(session, 'c') > 0 then
            call('SREM', '{P}w', session)
        end
    end
    if call('EXISTS', '{P}w') == 0 then
        call('HDEL', '{P}m', 'w')
    end
end

-- Must end every script that changes a lock: whether others wait is known only when all is granted.
local function finish(answered)
    for _, each in ipairs(granted) do
        local session, id, entry = each[1], each[2], each[3]
        if session ~= actor or id ~= answered then
            local contended = others_wait('{P}l:' .. entry.name, session) and 1 or 0
            publish(session, 'g ' .. id .. ' ' .. entry.base .. ' ' .. entry.slot .. ' ' .. contended)
        end
    end
    if changed and state().watched then
        tell_watchers()
    end
end
