-- SPDX-License-Identifier: BSL-1.0
-- The rules of the queue: the same as in core/lock_engine.cpp, and held to it by a test. Locks and
-- sessions are changed in the memory of the script first; `finish` writes them.
local actor        -- The session that acts; its reply reaches it.
local pushes = {}  -- Each a session and a text; or a session, a lock, its new holder, a change number.
local first_write  -- A command that may be refused for want of memory: then nothing is changed.
local heard = {}
local grants = {}  -- The pushes of grants to those who waited, by SESSION:ID.
local other_run    -- Nothing is granted: this run may have forgotten a holder, and no session of it
                   -- was there yet to say for how long (`compare_run`).

local function reachable(session)
    if session == actor then
        return true
    end
    if heard[session] == nil then
        local inbox = sub(KEYS[1], 1, -2) .. 'i:' .. session
        local count = is_spread() and redis.pcall('PUBSUB', 'SHARDNUMSUB', inbox)
        if not count or count.err or tonumber(count[2]) == 0 then
            count = redis.pcall('PUBSUB', 'NUMSUB', inbox)
        end
        heard[session] = count.err ~= nil or tonumber(count[2]) > 0
    end
    return heard[session]
end

-- Makes a session dead for good, whatever the clock says later.
local function mark_dead(name)
    local of = session_of(name)
    if of and of.deadline ~= 0 then
        of.deadline = 0
        touch(name)
        ends[#ends + 1] = {'ZADD', KEYS[3], 'XX', 0, name}
    end
end

-- Removes a grant of a session that lives and does not know of it yet.
local function take_away(lock, holder)
    drop_holder(lock, holder)
    pushes[#pushes + 1] = {holder.session,
                           'a ' .. holder.id .. ' ' .. count_change(holder.session)}
end

-- Removes a grant whose session is gone or whose time is over.
-- @return whether that was so.
local function removed_if_lapsed(lock, holder)
    local of = session_of(holder.session)
    if not of then
        drop_holder(lock, holder)
    elseif of.deadline <= now() then
        drop_holder(lock, holder)
        mark_dead(holder.session)
    elseif holder.hold ~= '' and holder.since + holder.hold * 1000 <= now() then
        take_away(lock, holder)
    else
        return false
    end
    return true
end

-- Takes lapsed holders away as far as it meets them: the first one that has not lapsed says whether
-- others may join; only of permits all are looked at, since each has a slot. Those of a crowd are
-- left to the heartbeats.
-- @return the mode of those who hold the lock, their common base, and how many they are.
local function holders_of(lock)
    if lock.crowd then
        return {mode = lock.crowd.mode, base = lock.crowd.base, count = lock.crowd.count}
    end
    local at, held = 1, {count = 0}
    while lock.holders[at] do
        local holder = lock.holders[at]
        if not removed_if_lapsed(lock, holder) then
            held.mode, held.base, held.count = holder.mode, holder.base, held.count + 1
            if holder.mode == 'x' or holder.mode == 's' then
                break
            end
            at = at + 1
        end
    end
    return held
end

local function admits(held, mode)
    if not held.mode then
        return true
    elseif mode == 's' then
        return held.mode == 's'
    elseif mode == 'x' then
        return false
    end
    return held.mode == mode and held.count < tonumber(sub(mode, 2))
end

local function closed(held)
    return held.mode and not admits(held, held.mode)
end

-- A grant has the token of the other readers or one of its own, and a permit the lowest free slot.
local function grant(lock, held, session, id, mode, hold)
    local holder = {
        session = session, id = id, mode = mode, hold = hold, since = digits(now()),
        base = mode == 's' and held.mode == 's' and held.base or draw(),
        slot = sub(mode, 1, 1) == 'p' and free_slot(lock) or '0',
    }
    add_holder(lock, holder)
    held.mode, held.base, held.count = mode, holder.base, held.count + 1
    return holder
end

-- Remembers a lock whose waiters must be looked at when the quarantine is over.
local function block(lock)
    ends[#ends + 1] = {'ZADD', KEYS[6], 0, lock.name}
end

-- The one rule of the queue: from its head, each waiter that can be reached and can share the lock
-- with its holders gets it.
-- @return who holds the lock; whether those who wait stop a newcomer; whether anybody may be
-- waiting.
local function grant_next(lock)
    local held = holders_of(lock)
    local waits = lock.waiters ~= '' or lock.queue ~= nil
    if other_run or state().quarantine > now() then
        if waits then
            block(lock)
        end
        return held, true, waits
    elseif closed(held) then
        return held, true, waits
    end
    local at, waited = 1, false
    while true do
        if at > #lock.waiters then
            local before = #lock.waiters
            if not fetch_waiters(lock) then
                return held, false, waited
            end
            at = before == 0 and 1 or before + 2
        end
        local session, id, mode, hold, after =
            match(lock.waiters, '^([^:]+):(%d+):(%a%d*):(%d*):%d* ?()', at)
        local of = session_of(session)
        if not of or of.deadline <= now() then
            mark_dead(session)
            cut_waiter(lock, at)
        elseif not reachable(session) then
            waited, at = true, after  -- It keeps its place.
        elseif not admits(held, mode) then
            return held, true, true
        else
            cut_waiter(lock, at)
            local holder = grant(lock, held, session, id, mode, hold)
            count_waits(session, -1)
            local push = {session, lock, holder, count_change(session)}
            pushes[#pushes + 1] = push
            grants[session .. ':' .. id] = push
            if closed(held) then
                return held, true, true
            end
        end
    end
end

-- A watcher that could not be told is told after the next change, or finds out by a heartbeat; one
-- without a session does not come back.
local function tell_watchers()
    for _, session in ipairs(call('SMEMBERS', KEYS[5])) do
        if publish(session, 'c') > 0 or not session_of(session) then
            call('SREM', KEYS[5], session)
        end
    end
    set_state('watched', call('EXISTS', KEYS[5]) == 1)
end

-- Ends every script that changes a lock: whether others wait is known only when all is granted.
-- `answered` is the request of the actor whose grant its reply tells.
local function finish(answered)
    if first_write then
        call(unpack(first_write))
    elseif changed or #ends > 0 or #touched > 0 then
        call('HDEL', KEYS[2], '')  -- Allowed without memory; so are all writes after it.
    end
    if changed and state().watched then
        tell_watchers()
    end
    save_locks()
    save_sessions()
    for _, each in ipairs(pushes) do
        local session, text, holder, change, wanted = unpack(each)
        if not holder then
            publish(session, text)
        elseif session ~= actor or holder.id ~= answered then
            publish(session, table.concat({'g', holder.id, holder.base, holder.slot,
                                           (wanted or others_wait(text, session)) and '1' or '0',
                                           change}, ' '))
        end
    end
end

-- Removes what a session has in a lock, a grant or a request. `wish` as in its index.
-- @return whether there was anything.
local function remove_entry(lock, session, id, wish)
    local holder, at = find_holder(lock, session, id), place_of(lock, session, id)
    if holder then
        drop_holder(lock, holder)
        return true
    elseif at then
        cut_waiter(lock, at)
    elseif not leave_queue(lock, session, id, wish) then
        return false
    end
    count_waits(session, -1)
    return true
end

-- Has the push of a grant by this script say that another session wants the lock.
-- @return whether there is one.
local function add_to_grant(holder)
    local push = grants[holder.session .. ':' .. holder.id]
    if push then
        push[5] = true
    end
    return push ~= nil
end

-- Takes a grant of the actor back. @return whether it was there.
local function release(lock, id, base, slot)
    local holder = find_holder(lock, actor, id)
    if not holder and not place_of(lock, actor, id) and not lock.queue then
        call('HDEL', KEYS[2], id)  -- It was taken away.
    end
    if not holder or holder.base ~= base or holder.slot ~= (slot == '' and '0' or slot) then
        return false
    end
    call('HDEL', KEYS[2], id)  -- Allowed without memory; so are all writes after it.
    drop_holder(lock, holder)
    return true
end
