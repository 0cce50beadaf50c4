-- SPDX-License-Identifier: BSL-1.0
-- A request that meets others; request_free.lua comes before.
actor = S

local function describe(text, waited)
    local entry = entry_of(text)
    local contended = waited and others_wait('{P}l:' .. entry.name, S) and 1 or 0
    if entry.base then
        return 'g ' .. entry.base .. ' ' .. entry.slot .. ' ' .. contended
    end
    return 'q ' .. call('ZRANK', '{P}l:' .. entry.name, member_of(S, id, entry)) .. ' ' .. contended
end

-- The highest ordinal of the lock.
local function last_ordinal()
    local last = call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2]
    local score = tonumber(last or 0)
    return score < 0 and score + HELD or score
end

local function insert(entry, ordinal)
    changed = true
    call('HSET', hash, id, text_of(entry))
    call('ZADD', key, digits(ordinal), member_of(S, id, entry))
end

local notified = {}

local function tell(session, of, entry)
    publish(session, 't ' .. of .. ' ' .. entry.base .. ' ' .. entry.slot)
    if not notified[session] then
        notified[session] = true
        call('HINCRBY', '{P}s:' .. session, 'c', 1)
    end
end

-- For a request that cannot have the lock: tells the holders of other sessions, except those whom a
-- waiter has told already. Every waiter has told all holders except those of its own session.
local function tell_contended(held, waited)
    local first = waited and next_after(key, 0)
    local ahead = first and parts(first)
    if ahead and (ahead == S or others_wait(key, ahead)) then
        return
    end
    local function concerns(session)
        return session ~= S and (not ahead or session == ahead)
    end
    if held.only then
        return concerns(held.only[1]) and tell(unpack(held.only))
    end
    for _, member in ipairs(call('ZRANGEBYSCORE', key, '-inf', '(0')) do
        local session, of = parts(member)
        local text = concerns(session) and call('HGET', '{P}s:' .. session, of)
        if text then
            tell(session, of, entry_of(text))
        end
    end
end

local function other_capacity()
    if mode:sub(1, 1) ~= 'p' then
        return false
    end
    for _, member in ipairs(call('ZRANGE', key, 0, -1)) do
        local _, _, present = parts(member)
        if present:sub(1, 1) == 'p' then
            return present ~= mode
        end
    end
    return false
end

if own[3] then
    -- A repeated request gets the answer of the first one, or a better one by now.
    grant_next(entry_of(own[3]).name)
    finish(id)
    local text = call('HGET', hash, id)
    return text and describe(text, true) or 'n'
end

local held, blocked, waited = grant_next(name)
if other_capacity() then
    finish()
    return 'c'
end
local entry = {mode = mode, hold = hold == '' and '-' or hold, name = name}
if not blocked and admits(held, mode) then
    make_grant(entry, held)
    insert(entry, last_ordinal() + 1 - HELD)
    note_end(S, id, entry)
    finish()
    local contended = waited and others_wait(key, S) and 1 or 0
    return 'g ' .. entry.base .. ' ' .. entry.slot .. ' ' .. contended
end
tell_contended(held, waited)
if try == '!' then
    finish()
    return 'n'
end
entry.since = digits(now())
insert(entry, last_ordinal() + 1)
call('HINCRBY', hash, 'q', 1)
finish()
return describe(text_of(entry), waited)
