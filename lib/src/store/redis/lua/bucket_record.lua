-- SPDX-License-Identifier: BSL-1.0
-- The record of a store that is spread over buckets: it stands where a store in one slot has its own,
-- so that neither takes the other for a store that was never there.
-- KEYS: id. ARGV: COUNT, whether a record that is not there is written (0 or 1), an id for a new
-- store, the domain wanted or nothing.
-- Says o DOMAIN; m (there is none); s FORMAT (of a store in one slot); c COUNT (there are so many
-- buckets); f FORMAT (of a newer version); d DOMAIN (the store has another one).
local FORMAT = 'buckets 1'
local record = redis.call('HMGET', KEYS[1], 'f', 'c', 'o')
if not record[1] then
    if ARGV[2] ~= '1' then
        return {'m'}
    end
    local domain = ARGV[4] ~= '' and ARGV[4] or 'redis-' .. string.sub(ARGV[3], 1, 16)
    redis.call('HSET', KEYS[1], 'f', FORMAT, 'c', ARGV[1], 'n', ARGV[3], 'o', domain)
    return {'o', domain}
elseif string.sub(record[1], 1, 7) ~= 'buckets' then
    return {'s', record[1]}
elseif record[1] ~= FORMAT then
    return {'f', record[1]}
elseif record[2] ~= ARGV[1] then
    return {'c', record[2]}
elseif ARGV[4] ~= '' and ARGV[4] ~= record[3] then
    return {'d', record[3]}
end
return {'o', record[3]}
