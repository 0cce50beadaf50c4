-- SPDX-License-Identifier: BSL-1.0
-- A request by the rules of the queue. ARGV[1]: GENERATION ID MODE[@HOLD][!]. Answers as
-- request.lua, and c: the lock is in use with another capacity. ARGV[2]: ID BASE[:SLOT], a grant of
-- this session that is released first; then y or n stands before the answer.
local G, id, wish, try = match(ARGV[1], '^(%d+) (%d+) (%a%d*@?%d*)(!?)$')
local mode, hold = match(wish, '^(%a%d*)@?(%d*)$')
local S = named_by(KEYS[2])
actor = S
if not may_act(session_of(S), G) then
    return 'l'
end
local lock = lock_at(FIRST)
local released = ''
if ARGV[2] then
    released = release(lock, match(ARGV[2], '^(%d+) (%d+):?(%d*)$')) and 'y ' or 'n '
end

-- A repeated request gets the answer of the first one, or a better one by now.
-- @return the answer; nothing if the request is not here.
local function present()
    local holder = find_holder(lock, S, id)
    if holder then
        return 'g ' .. holder.base .. ' ' .. holder.slot .. ' ' .. (others_wait(lock, S) and '1' or '0')
    end
    local member = S .. ':' .. id .. ':' .. mode .. ':' .. hold
    if place_of(lock, S, id) or lock.queue and call('ZSCORE', KEYS[FIRST + 1], member) then
        return 'q ' .. count_waiters(lock) + (lock.crowd and lock.crowd.count or #lock.holders) .. ' ' ..
            (others_wait(lock, S) and '1' or '0')
    end
end

if present() then
    call('HDEL', KEYS[2], '')  -- Allowed without memory; so are all writes after it.
    grant_next(lock)
    finish(id)
    return released .. (present() or 'n')
end

-- Whether the lock is held or waited for with another number of permits.
local function other_capacity(held)
    if sub(mode, 1, 1) ~= 'p' then
        return false
    elseif held.mode and held.mode ~= mode and sub(held.mode, 1, 1) == 'p' then
        return true
    end
    local capacity = match(lock.waiters, '^[^:]+:%d+:p(%d+)') or match(lock.waiters, ' [^:]+:%d+:p(%d+)')
    capacity = tonumber(capacity) or queued_capacity(lock)
    return capacity ~= 0 and capacity ~= tonumber(sub(mode, 2))
end

-- For a request that cannot have the lock: tells the holders of other sessions, except those whom a
-- waiter has told already. Every waiter has told all holders except those of its own session. Of a
-- crowd some are told.
local function tell_contended()
    local first = match(lock.waiters, '^[^:]+')
    if first and (first == S or others_wait(lock, first)) then
        return
    end
    local told, holders = {}, lock.holders
    if lock.crowd then
        holders = {}
        local some = call('HSCAN', KEYS[FIRST + 2], 0, 'COUNT', CROWD_MAX)[2]
        for at = 2, math.min(#some, 4 * CROWD_MAX), 2 do
            holders[#holders + 1] = holder_of(some[at])
        end
    end
    for _, holder in ipairs(holders) do
        local session = holder.session
        if session ~= S and (not first or session == first) and not add_to_grant(holder) then
            told[session] = told[session] or count_change(session)
            pushes[#pushes + 1] = {session, table.concat({'t', holder.id, holder.base, holder.slot,
                                                          told[session]}, ' ')}
        end
    end
end

local held, blocked, waited = grant_next(lock)
if other_capacity(held) then
    finish()
    return released .. 'c'
end
local entry = {'HSET', KEYS[2], id, wish .. ' ' .. lock.name}
if not blocked and admits(held, mode) then
    first_write = entry
    local holder = grant(lock, held, S, id, mode, hold)
    finish(id)
    return released .. 'g ' .. holder.base .. ' ' .. holder.slot .. ' ' ..
        (waited and others_wait(lock, S) and '1' or '0')
end
tell_contended()
if try == '!' then
    finish()
    return released .. 'n'
end
first_write = entry
local before = count_waiters(lock) + (lock.crowd and lock.crowd.count or #lock.holders)
add_waiter(lock, S, id, mode, hold)
count_waits(S, 1)
if state().quarantine > now() then
    block(lock)
end
finish()
return released .. 'q ' .. before .. ' ' .. (others_wait(lock, S) and '1' or '0')
