-- SPDX-License-Identifier: BSL-1.0
-- The table of sessions: GENERATION DEADLINE TTL CHANGES WAITS of each by its name, where WAITS is
-- how many of its requests wait; and, as `t`, the last base of tokens, followed by UNTIL WATCHED
-- only while something is out of the ordinary: the end of a quarantine, whether somebody watches.
-- It is read as far as needed, and written once, by `save_sessions`.
local sessions, touched, tokens = {}, {}, nil

local function session_of(name)
    local known = sessions[name]
    if known == nil then
        local generation, deadline, ttl, changes, waits =
            match(call('HGET', KEYS[1], name) or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
        known = generation and {
            generation = tonumber(generation), deadline = tonumber(deadline), ttl = tonumber(ttl),
            changes = tonumber(changes), waits = tonumber(waits),
        } or false
        sessions[name] = known
    end
    return known
end

local function touch(name)
    local of = sessions[name]
    if not of.touched then
        of.touched = true
        touched[#touched + 1] = name
    end
end

-- Whether a session may act under the generation `acting`.
local function may_act(of, acting)
    return of and of.generation <= tonumber(acting) and of.deadline > now()
end

-- Counts a change of a session that no answer tells it of.
-- @return its number.
local function count_change(name)
    local of = session_of(name)
    if not of then
        return '0'
    end
    of.changes = of.changes + 1
    touch(name)
    return digits(of.changes)
end

local function count_waits(name, by)
    local of = session_of(name)
    if of then
        of.waits = math.max(0, of.waits + by)
        touch(name)
    end
end

local function state()
    if not tokens then
        local base, till, watched = match(call('HGET', KEYS[1], 't') or '0', '^(%d+) ?(%d*) ?(%d*)$')
        tokens = {base = tonumber(base), quarantine = tonumber(till) or 0, watched = watched == '1'}
    end
    return tokens
end

-- Changes what is out of the ordinary.
local function set_state(field, value)
    if state()[field] ~= value then
        tokens[field] = value
        tokens.touched = true
    end
end

-- The next base of tokens.
local function draw()
    set_state('base', math.max(now(), state().base + 1))
    return digits(tokens.base)
end

local function save_sessions()
    local fields = {}
    local function save()
        if #fields > 0 then
            call('HSET', KEYS[1], unpack(fields))
            fields = {}
        end
    end
    if tokens and tokens.touched then
        local ordinary = tokens.quarantine == 0 and not tokens.watched
        fields = {'t', digits(tokens.base) .. (ordinary and '' or ' ' .. digits(tokens.quarantine) ..
                                               (tokens.watched and ' 1' or ' 0'))}
    end
    for _, name in ipairs(touched) do
        local of = sessions[name]
        fields[#fields + 1] = name
        fields[#fields + 1] = table.concat({digits(of.generation), digits(of.deadline), digits(of.ttl),
                                            digits(of.changes), digits(of.waits)}, ' ')
        if #fields > 512 then
            save()
        end
    end
    save()
end
