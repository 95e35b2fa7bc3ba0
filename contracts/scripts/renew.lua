-- renew: restarts the lease of entries that are still ours, or ends it, so that others may claim them at once. An owner
-- that woke up must not steal an entry back.
--
-- KEYS 1 stream
-- ARGV 1 group    2 consumer    3 milliseconds that the entries count as silent: 0 renews, a day lets go
--      4… entry ids
--
-- Returns the ids that were ours; the others belong to somebody else by now, or are gone.
-- Without stream or group, as after a flush, nothing is ours any more.
local ours = {}
for i = 4, #ARGV do
  local id = ARGV[i]
  local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], id, id, 1, ARGV[2])
  if held.err then
    if string.find(held.err, '^NOGROUP') then return {} end
    return held
  end
  if #held > 0 then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, id, 'IDLE', ARGV[3], 'JUSTID')
    ours[#ours + 1] = id
  end
end
return ours
