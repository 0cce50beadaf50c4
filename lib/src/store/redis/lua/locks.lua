-- SPDX-License-Identifier: BSL-1.0
-- The locks of a script: of each its text and, where that grows too long, three other keys.
-- KEYS: s, e, d, x, w, y, and for each lock l, o, h, f.
-- QUEUE is there while the waiters beyond the first ones are in `o`, a sorted set of
-- SESSION:ID:MODE:HOLD by the time at which they came: the capacity of the permits among them, or 0.
-- CROWD is there while the holders are in `h`, a table of their texts by SESSION:ID: how many they
-- are, their mode, their base if they share one, and the highest slot. `f` has the free slots up to
-- that one.
local FIRST = 7       -- The place of the first lock among the KEYS.
local CROWD_MIN, CROWD_MAX = 8, 16
local locks, in_order = {}, {}
local ends = {}       -- What to do with the grants that end by themselves.
local changed = false

local function holder_of(text)
    local session, id, mode, base, slot, hold, since =
        match(text, '^([^:]+):(%d+):(%a%d*):(%d+):(%d+):(%d*):(%d*)$')
    return session and {session = session, id = id, mode = mode, base = base, slot = slot, hold = hold,
                        since = since ~= '' and since or base}
end

local function text_of(holder)
    return table.concat({holder.session, holder.id, holder.mode, holder.base, holder.slot, holder.hold,
                         holder.since ~= holder.base and holder.since or ''}, ':')
end

-- The lock of that key. If the key is not ours: nothing if there is an `other` lock to go on with;
-- otherwise the script fails and says so.
local function lock_at(place, other)
    local key = KEYS[place]
    local lock = locks[key]
    if lock then
        return lock
    end
    local text = redis.pcall('GET', key) or ''
    local holders, waiters, crowd, queue =
        match(type(text) == 'string' and text or '?', '^([^|]*)|?([^|]*)|?([^|]*)|?(%d*)$')
    lock = {key = key, place = place, name = named_by(key), holders = {}, waiters = waiters or '',
            queue = tonumber(queue)}
    for each in string.gmatch(holders or '?', '[^ ]+') do
        local holder = holder_of(each)
        if not holder then
            if not other then
                call(type(text) == 'string' and 'LLEN' or 'GET', key)
            end
            return nil
        end
        lock.holders[#lock.holders + 1] = holder
    end
    local count, mode, base, top = match(crowd or '', '^(%d+) (%a%d*) (%d+) (%d+)$')
    if count then
        lock.crowd = {count = tonumber(count), mode = mode, base = base, top = tonumber(top)}
    end
    locks[key] = lock
    in_order[#in_order + 1] = lock
    return lock
end

local function touch_lock(lock)
    lock.touched, changed = true, true
end

local function note_end(lock, holder, has_begun)
    if holder.hold ~= '' then
        local member = holder.session .. ':' .. holder.id .. ':' .. lock.name
        ends[#ends + 1] = has_begun and
            {'ZADD', KEYS[4], digits(holder.since + holder.hold * 1000), member} or
            {'ZREM', KEYS[4], member}
    end
end

local function find_holder(lock, session, id)
    if lock.crowd then
        local text = call('HGET', KEYS[lock.place + 2], session .. ':' .. id)
        return text and holder_of(text)
    end
    for _, holder in ipairs(lock.holders) do
        if holder.session == session and holder.id == id then
            return holder
        end
    end
end

-- Moves the holders to a key of their own.
local function begin_crowd(lock)
    local key, first, taken, fields = KEYS[lock.place + 2], lock.holders[1], {}, {}
    local crowd = {count = #lock.holders, mode = first.mode, base = first.base, top = 0}
    for _, holder in ipairs(lock.holders) do
        fields[#fields + 1] = holder.session .. ':' .. holder.id
        fields[#fields + 1] = text_of(holder)
        taken[tonumber(holder.slot)] = true
        crowd.top = math.max(crowd.top, tonumber(holder.slot))
    end
    call('HSET', key, unpack(fields))
    for slot = 1, crowd.top do
        if not taken[slot] then
            call('ZADD', KEYS[lock.place + 3], slot, slot)
        end
    end
    lock.crowd, lock.holders = crowd, {}
end

-- Moves the holders back.
local function end_crowd(lock)
    for _, text in ipairs(call('HVALS', KEYS[lock.place + 2])) do
        lock.holders[#lock.holders + 1] = holder_of(text)
    end
    table.sort(lock.holders, function(one, other)  -- Bases grow; those of readers are the same.
        return tonumber(one.base) < tonumber(other.base) or
            one.base == other.base and tonumber(one.since) < tonumber(other.since)
    end)
    call('DEL', KEYS[lock.place + 2], KEYS[lock.place + 3])
    lock.crowd = nil
end

local function drop_holder(lock, holder)
    touch_lock(lock)
    note_end(lock, holder, false)
    local crowd = lock.crowd
    if not crowd then
        for at, each in ipairs(lock.holders) do
            if each.session == holder.session and each.id == holder.id then
                return table.remove(lock.holders, at)
            end
        end
        return
    end
    call('HDEL', KEYS[lock.place + 2], holder.session .. ':' .. holder.id)
    if holder.slot ~= '0' then
        call('ZADD', KEYS[lock.place + 3], holder.slot, holder.slot)
    end
    crowd.count = crowd.count - 1
    if crowd.count <= CROWD_MIN then
        end_crowd(lock)
    end
end

-- The lowest slot that nobody has.
local function free_slot(lock)
    local crowd = lock.crowd
    if crowd then
        local free = call('ZRANGE', KEYS[lock.place + 3], 0, 0)[1]
        if free then
            call('ZREM', KEYS[lock.place + 3], free)
            return free
        end
        crowd.top = crowd.top + 1
        return digits(crowd.top)
    end
    local taken, slot = {}, 1
    for _, holder in ipairs(lock.holders) do
        taken[tonumber(holder.slot)] = true
    end
    while taken[slot] do
        slot = slot + 1
    end
    return digits(slot)
end

local function add_holder(lock, holder)
    touch_lock(lock)
    note_end(lock, holder, true)
    if lock.crowd then
        lock.crowd.count = lock.crowd.count + 1
        call('HSET', KEYS[lock.place + 2], holder.session .. ':' .. holder.id, text_of(holder))
        return
    end
    lock.holders[#lock.holders + 1] = holder
    if #lock.holders > CROWD_MAX then
        begin_crowd(lock)
    end
end

-- Adds the next waiters of the long queue to the text.
-- @return whether there were any.
local function fetch_waiters(lock)
    if not lock.queue then
        return false
    end
    local key, members, texts = KEYS[lock.place + 1], {}, {}
    local count = lock.fetched or 32
    local some = call('ZRANGE', key, 0, count - 1, 'WITHSCORES')
    for at = 1, #some, 2 do
        members[#members + 1] = some[at]
        texts[#texts + 1] = some[at] .. ':' .. digits(some[at + 1])
    end
    if #members > 0 then
        lock.waiters = lock.waiters .. (lock.waiters == '' and '' or ' ') .. table.concat(texts, ' ')
    end
    lock.fetched = math.min(2 * count, 1024)  -- Each portion copies the text once more.
    touch_lock(lock)
    if #members > 0 then
        call('ZREM', key, unpack(members))
    end
    if #members < count then
        lock.queue = nil
    end
    return #members > 0
end

local function add_waiter(lock, session, id, mode, hold)
    touch_lock(lock)
    local text = session .. ':' .. id .. ':' .. mode .. ':' .. hold
    if not lock.queue and #lock.waiters <= QUEUE_MAX then
        lock.waiters = lock.waiters .. (lock.waiters == '' and '' or ' ') .. text .. ':' .. digits(now())
        return
    end
    local key = KEYS[lock.place + 1]
    local last = call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2]
    call('ZADD', key, digits(math.max(now(), (last or 0) + 1)), text)
    lock.queue = math.max(lock.queue or 0, tonumber(match(mode, '%d+') or 0))
end

-- Where in the text the waiter begins; nothing: it is not there.
local function place_of(lock, session, id)
    return (string.find(' ' .. lock.waiters, ' ' .. session .. ':' .. id .. ':', 1, true))
end

-- Removes the waiter whose text begins there.
local function cut_waiter(lock, at)
    touch_lock(lock)
    local waiters = lock.waiters
    local after = string.find(waiters, ' ', at, true)
    if after then
        lock.waiters = sub(waiters, 1, at - 1) .. sub(waiters, after + 1)
    else
        lock.waiters = sub(waiters, 1, math.max(0, at - 2))
    end
end

-- Removes a waiter from the long queue. `wish` is MODE[@HOLD], as the index of its session has it.
-- @return whether it was there.
local function leave_queue(lock, session, id, wish)
    local mode, hold = match(wish or '', '^(%a%d*)@?(%d*)')
    local left = lock.queue and mode and
        call('ZREM', KEYS[lock.place + 1], session .. ':' .. id .. ':' .. mode .. ':' .. hold) == 1
    changed = changed or left
    return left
end

-- The capacity of the permits that are waited for in the long queue, or 0.
local function queued_capacity(lock)
    local from = 0
    while (lock.queue or 0) ~= 0 do
        local some = call('ZRANGE', KEYS[lock.place + 1], from, from + 63)
        for _, member in ipairs(some) do
            local capacity = match(member, ':p(%d+):')
            if capacity then
                return tonumber(capacity)
            end
        end
        from = from + 64
        if #some < 64 then
            lock.queue = 0  -- They have left.
            touch_lock(lock)
        end
    end
    return 0
end

-- How many wait, or a few more.
local function count_waiters(lock)
    local _, count = string.gsub(lock.waiters, '[^ ]+', '')
    return count + (lock.queue and call('ZCARD', KEYS[lock.place + 1]) or 0)
end

local function others_wait(lock, session)
    for other in string.gmatch(lock.waiters, '([^: ]+)[^ ]*') do
        if other ~= session then
            return true
        end
    end
    local from, own = 0, session .. ':'
    while lock.queue do
        local some = call('ZRANGE', KEYS[lock.place + 1], from, from + 63)
        for _, member in ipairs(some) do
            if sub(member, 1, #own) ~= own then
                return true
            end
        end
        from = from + 64
        if #some < 64 then
            break
        end
    end
    return false
end

local function save_locks()
    for _, lock in ipairs(in_order) do
        if lock.touched then
            if lock.waiters == '' then
                fetch_waiters(lock)
            end
            local holders, crowd = {}, lock.crowd
            for at, holder in ipairs(lock.holders) do
                holders[at] = text_of(holder)
            end
            local text = table.concat(holders, ' ')
            if crowd or lock.queue or lock.waiters ~= '' then
                text = text .. '|' .. lock.waiters
            end
            if crowd or lock.queue then
                text = text .. '|' .. (crowd and table.concat(
                    {digits(crowd.count), crowd.mode, crowd.base, digits(crowd.top)}, ' ') or '')
            end
            if lock.queue then
                text = text .. '|' .. digits(lock.queue)
            end
            if text == '' then
                call('DEL', lock.key)
            else
                call('SET', lock.key, text)
            end
        end
    end
    for _, each in ipairs(ends) do
        call(unpack(each))
    end
end
