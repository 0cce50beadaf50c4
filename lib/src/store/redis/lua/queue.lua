-- SPDX-License-Identifier: BSL-1.0
-- The rules of the queue: the same as in core/lock_engine.cpp, and held to it by a test.
--
-- A lock is a sorted set. Who waits is the member SESSION:ID:MODE with an ordinal as its score; who
-- holds is SESSION:ID:MODE:BASE:SLOT with the ordinal less HELD. The session has the same entry as
-- a field ID of its hash: "w MODE HOLD SINCE NAME" or "g MODE HOLD SINCE BASE SLOT NAME".
local actor      -- The session that acts: it can be reached by its reply.
local granted = {}  -- What is to be pushed, in pairs: who, what was granted.
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
    return match(member, '^([^:]+):(%d+):(%a%d*):?(%d*):?(%d*)$')
end

local function entry_of(text)
    local state, mode, hold, since, rest = match(text, '^(%a) (%a%d*) (%S+) (%d+) (.*)$')
    if state == 'w' then
        return {mode = mode, hold = hold, since = since, name = rest}
    end
    local base, slot, name = match(rest, '^(%d+) (%d+) (.*)$')
    return {mode = mode, hold = hold, since = since, base = base, slot = slot, name = name}
end

local function member_of(session, id, entry)
    local member = session .. ':' .. id .. ':' .. entry.mode
    return entry.base and member .. ':' .. entry.base .. ':' .. entry.slot or member
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

-- @return whether the session knew the entry.
local function remove(session, id, entry, by_other)
    local hash = '{P}s:' .. session
    changed = true
    call('ZREM', '{P}l:' .. entry.name, member_of(session, id, entry))
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

-- From a session that lives and does not know.
local function take_away(session, id, entry)
    remove(session, id, entry, true)
    publish(session, 'a')
end

-- What stands in a lock without its session is removed.
local function orphan(name, member)
    changed = true
    call('ZREM', '{P}l:' .. name, member)
end

-- Whether that holder is one no more, because its session is gone or its time is over: then its
-- entry is gone, too.
local function lapsed(name, session, id, member)
    local read = call('HMGET', '{P}s:' .. session, 'd', id)
    if not read[1] or not read[2] then
        orphan(name, member)
        return true
    end
    local entry = entry_of(read[2])
    if tonumber(read[1]) <= now() then
        remove(session, id, entry, true)
        return true
    end
    local ends = end_of(entry)
    if not ends or ends > now() then
        return false
    end
    take_away(session, id, entry)
    return true
end

local function add(held, mode, base, slot)
    held.mode, held.base, held.count = mode, base, held.count + 1
    held.taken[tonumber(slot)] = true
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

-- Holders who have lapsed are taken away as far as they are met: the first one who has not says
-- whether others may join, but of permits all are looked at, since each one has a slot.
local function holders_of(key, name)
    local held = {count = 0, taken = {}}
    while true do
        local first = call('ZRANGEBYSCORE', key, '-inf', '(0', 'LIMIT', 0, 1)[1]
        if not first then
            return held
        end
        local session, id, mode, base, slot = parts(first)
        if not lapsed(name, session, id, first) then
            add(held, mode, base, slot)
            if mode:sub(1, 1) ~= 'p' then
                return held
            end
            for at, member in ipairs(call('ZRANGEBYSCORE', key, '-inf', '(0')) do
                session, id, mode, base, slot = parts(member)
                if at > 1 and not lapsed(name, session, id, member) then
                    add(held, mode, base, slot)
                end
            end
            return held
        end
    end
end

local function draw()
    local base = math.max(meta().base + 1, now())
    meta().base = base
    call('HSET', '{P}m', 'b', digits(base))
    return digits(base)
end

-- Fills in what a grant has: the token of the other readers or one of its own, a free slot.
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
    add(held, entry.mode, entry.base, entry.slot)
end

local function note_end(session, id, entry)
    if entry.hold ~= '-' then
        call('ZADD', '{P}x', digits(end_of(entry)), session .. ':' .. id)
    end
end

-- The one rule of the queue: from its head, whoever can be reached and goes together with those who
-- hold the lock gets it.
-- @return who holds the lock; whether a newcomer is stopped by those who wait; whether anybody may
-- be waiting.
local function grant_next(name)
    local key = '{P}l:' .. name
    local held = holders_of(key, name)
    if meta().quarantine > now() or closed(held) then
        return held, true, true
    end
    local after, waited = '0', false
    while true do
        local found = call('ZRANGEBYSCORE', key, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
        local member = found[1]
        if not member then
            return held, false, waited
        end
        after = found[2]
        local session, id = parts(member)
        local hash = '{P}s:' .. session
        local read = call('HMGET', hash, 'd', id, 'c', 'q')
        if not read[1] or not read[2] then
            orphan(name, member)
        elseif tonumber(read[1]) <= now() then
            remove(session, id, entry_of(read[2]), true)
        elseif not reachable(session) then
            waited = true  -- It keeps its place.
        else
            local entry = entry_of(read[2])
            if not admits(held, entry.mode) then
                return held, true, true
            end
            make_grant(entry, held)
            changed = true
            call('ZREM', key, member)
            call('ZADD', key, digits(tonumber(after) - HELD), member_of(session, id, entry))
            call('HSET', hash, id, text_of(entry), 'q', read[4] - 1, 'c',
                 session == actor and read[3] or read[3] + 1)
            note_end(session, id, entry)
            granted[#granted + 1] = {session, id, entry}
            if closed(held) then
                return held, true, true
            end
        end
    end
end

-- A lock that nobody holds or waits for is no more.
local function forget_if_free(name)
    if call('EXISTS', '{P}l:' .. name) == 0 then
        call('ZREM', '{P}n', name)
    end
end

local function advance(name)
    grant_next(name)
    forget_if_free(name)
end

-- Who could not be told is told after the next change, or finds out by a heartbeat.
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

-- The end of every script that changes a lock. Whether others wait is only known when all has been
-- granted.
local function finish(answered)
    for _, each in ipairs(granted) do
        local session, id, entry = each[1], each[2], each[3]
        if session ~= actor or id ~= answered then
            local contended = others_wait('{P}l:' .. entry.name, session) and 1 or 0
            publish(session, 'g ' .. id .. ' ' .. entry.base .. ' ' .. entry.slot .. ' ' .. contended)
        end
    end
    if changed and meta().watched then
        tell_watchers()
    end
end
