-- SPDX-License-Identifier: BSL-1.0
-- KEYS: s, e, n, id, and for each lock l, o, h. ARGV[1]: how many waiters of each lock.
-- Says NOW, DOMAIN, and of each lock that somebody holds or waits for: its name, how many wait, and
-- its parties, each as its full session, host, label, process, entry and deadline. Leaves out dead
-- sessions and ended grants that nobody has removed yet.
local queue_max = tonumber(ARGV[1])
local reply = {digits(now()), call('HGET', KEYS[4], 'o') or ''}

local function add_party(parties, session, entry)
    local facts = call('HMGET', KEYS[3], session .. ':i', session .. ':h', session .. ':l', session .. ':p')
    if facts[1] then
        facts[5], facts[6] = entry, digits(session_of(session).deadline)
        parties[#parties + 1] = facts
    end
end

local function lives(session)
    local of = session_of(session)
    return of and of.deadline > now()
end

local function add_holder(parties, name, text)
    local session, _, mode, base, slot, hold, since =
        match(text, '^([^:]+):(%d+):(%a%d*):(%d+):(%d+):(%d*):(%d*)$')
    since = since == '' and base or since
    if session and lives(session) and (hold == '' or since + hold * 1000 > now()) then
        add_party(parties, session, table.concat({'g', mode, hold == '' and '-' or hold, since, base, slot,
                                                  name}, ' '))
    end
end

for place = 5, #KEYS, 3 do
    local name, parties, waiting = named_by(KEYS[place]), {}, 0
    local holders, waiters, crowd, queue =
        match(call('GET', KEYS[place]) or '', '^([^|]*)|?([^|]*)|?([^|]*)|?(%d*)$')
    for text in string.gmatch(holders or '', '[^ ]+') do
        add_holder(parties, name, text)
    end
    if crowd and crowd ~= '' then
        local texts = call('HVALS', KEYS[place + 2])
        local function order(text)
            return tonumber(match(text, '^[^:]+:%d+:%a%d*:(%d+)') or 0)
        end
        table.sort(texts, function(one, other) return order(one) < order(other) end)
        for _, text in ipairs(texts) do
            add_holder(parties, name, text)
        end
    end
    local function add_waiter(text, since)
        local session, mode, hold, after = match(text, '^([^:]+):%d+:(%a%d*):(%d*):?(%d*)$')
        if session and lives(session) then
            waiting = waiting + 1
            if waiting <= queue_max then
                add_party(parties, session, table.concat({'w', mode, hold == '' and '-' or hold,
                                                          since or after, name}, ' '))
            end
        end
    end
    for text in string.gmatch(waiters or '', '[^ ]+') do
        add_waiter(text)
    end
    if queue and queue ~= '' then
        local shown = math.max(0, queue_max - waiting)
        local some = shown > 0 and call('ZRANGE', KEYS[place + 1], 0, shown - 1, 'WITHSCORES') or {}
        for at = 1, #some, 2 do
            add_waiter(some[at], digits(some[at + 1]))
        end
        waiting = waiting + math.max(0, call('ZCARD', KEYS[place + 1]) - shown)
    end
    if #parties > 0 or waiting > 0 then
        reply[#reply + 1] = {name, waiting, parties}
    end
end
return reply
