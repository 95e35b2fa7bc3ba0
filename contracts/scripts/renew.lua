-- renew: restarts the lease of entries that are still ours; an owner that woke up must not steal an entry back.
--
-- KEYS 1 stream
-- ARGV 1 group    2 consumer    3… entry ids
--
-- Returns the ids that were renewed; the others belong to somebody else by now, or are gone.
local renewed = {}
for i = 3, #ARGV do
  local id = ARGV[i]
  if #redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1, ARGV[2]) > 0 then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, id, 'JUSTID')
    renewed[#renewed + 1] = id
  end
end
return renewed
