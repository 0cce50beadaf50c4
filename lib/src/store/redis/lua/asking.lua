-- SPDX-License-Identifier: BSL-1.0
-- What a request does at a lock, by the rules of the queue.
local S = named_by(KEYS[2])
actor = S

-- A repeated request gets the answer of the first one, or a better one by now.
-- @return the answer; nothing if the request is not here.
local function present(lock, id, mode, hold)
    local holder = find_holder(lock, S, id)
    if holder then
        return 'g ' .. holder.base .. ' ' .. holder.slot .. ' ' .. (others_wait(lock, S) and '1' or '0')
    end
    local member = S .. ':' .. id .. ':' .. mode .. ':' .. hold
    if place_of(lock, S, id) or lock.queue and call('ZSCORE', KEYS[lock.place + 1], member) then
        return 'q ' .. count_waiters(lock) + (lock.crowd and lock.crowd.count or #lock.holders) .. ' ' ..
            (others_wait(lock, S) and '1' or '0')
    end
end

-- Whether the lock is held or waited for with another number of permits.
local function other_capacity(lock, held, mode)
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
local function tell_contended(lock)
    local first = match(lock.waiters, '^[^:]+')
    if first and (first == S or others_wait(lock, first)) then
        return
    end
    local told, holders = {}, lock.holders
    if lock.crowd then
        holders = {}
        local some = call('HSCAN', KEYS[lock.place + 2], 0, 'COUNT', CROWD_MAX)[2]
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

-- Notes the request in the index of the session: in one write, which may be refused.
local function enter_index(lock, id, wish)
    first_write = first_write or {'HSET', KEYS[2]}
    first_write[#first_write + 1] = id
    first_write[#first_write + 1] = wish .. ' ' .. lock.name
end

-- @return g BASE SLOT CONTENDED (granted), q BEFORE CONTENDED (queued), n (refused), c (the lock is
-- in use with another capacity); the id of a request that the answer tells of a grant.
local function ask(lock, id, wish, try)
    local mode, hold = match(wish, '^(%a%d*)@?(%d*)$')
    if present(lock, id, mode, hold) then
        call('HDEL', KEYS[2], '')  -- Allowed without memory; so are all writes after it.
        grant_next(lock)
        return present(lock, id, mode, hold) or 'n', id
    end
    local held, blocked, waited = grant_next(lock)
    if other_capacity(lock, held, mode) then
        return 'c'
    elseif not blocked and admits(held, mode) then
        enter_index(lock, id, wish)
        local holder = grant(lock, held, S, id, mode, hold)
        return 'g ' .. holder.base .. ' ' .. holder.slot .. ' ' ..
            (waited and others_wait(lock, S) and '1' or '0'), id
    end
    tell_contended(lock)
    if try == '!' then
        return 'n'
    end
    enter_index(lock, id, wish)
    local before = count_waiters(lock) + (lock.crowd and lock.crowd.count or #lock.holders)
    add_waiter(lock, S, id, mode, hold)
    count_waits(S, 1)
    if state().quarantine > now() then
        block(lock)
    end
    return 'q ' .. before .. ' ' .. (others_wait(lock, S) and '1' or '0')
end
