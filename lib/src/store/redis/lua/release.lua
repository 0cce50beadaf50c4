-- SPDX-License-Identifier: BSL-1.0
-- A release that somebody may wait for; release_alone.lua comes before.
actor = S
local entry = own[3] and entry_of(own[3])
if not entry or entry.base ~= base or entry.slot ~= (slot == '' and '0' or slot) then
    return 'n'
end
remove(S, id, entry, false)
grant_next(entry.name)
finish()
return 'y'
