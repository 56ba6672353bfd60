-- What example.lua does not show: luajit test.lua FAULT_SERVER
local ntapi = require "ntapi"

local client = ntapi.client(arg[1])

local function fails(pattern, call, ...)
    local worked, problem = pcall(call, ...)
    assert(not worked and tostring(problem):find(pattern, 1, true), tostring(problem))
end

-- The server answers with the body that it got.
local function there_and_back(value)
    local response = client:perform("mirror", { ntapi.json(value) })
    return response.json
end

for _, value in ipairs {
    'a"\\/\n\0\127 Zürich', "", true, false, 0, -7, 0.1, 1 / 3, 1e300, 2 ^ 53, 9007199254740993LL,
    -0x8000000000000000LL, ntapi.null,
} do
    local got = there_and_back { value = value }.value
    assert(got == value and type(got) == type(value), tostring(value) .. " became " .. tostring(got))
end
local list = there_and_back { 1, { x = "y" }, ntapi.null, { { 4 } } }
assert(#list == 4 and list[2].x == "y" and list[3] == ntapi.null and list[4][1][1] == 4)
local empty = client:perform("mirror", { ntapi.json { list = ntapi.array {}, object = {}, again = list } })
assert(empty.data:find('"list":[]', 1, true) and empty.data:find('"object":{}', 1, true))
assert(there_and_back(empty.json).object, "decoded values can be sent")

-- Mistakes are errors of the call that makes them, or of the response.
fails("JSON has no function", ntapi.client, arg[1], { ntapi.json(print) })
fails("timeout", client.perform, client, "ok", { ntapi.timeout "soon" })
fails("UTF-8", ntapi.client, "http://\255")
local failed = client:perform("status/404")
assert(failed.status == 404 and failed.error.code == "HTTP error" and not failed.error.retryable)
assert(failed.json, "the body of an error")
fails(failed.error.message, error, failed.error)

-- Headers in any case; several lines of a name are joined.
local headers = client:perform("headers", { ntapi.url("X-One", "1"), ntapi.url("X-One", "2") }).headers
assert(headers["x-one"] == "1, 2" and headers["X-ONE"] == "1, 2" and headers["X-Two"] == nil)

-- Defaults.
local echo = ntapi.client(arg[1], { ntapi.url_default("key") })
echo:set_default("key", "first")
assert(echo:perform("echo").data:find("first", 1, true))
echo:set_default("key", nil)
assert(not echo:perform("echo").data:find("key", 1, true))

-- More requests than are taken at once, while the collector runs.
local mailbox = ntapi.mailbox()
for i = 1, 50 do mailbox:begin(ntapi.client(arg[1]), "ok").number = i end
local held, seen = mailbox:begin(client, "hold"), {}
while mailbox.outstanding > 1 do
    collectgarbage()
    for _, request in ipairs(mailbox:wait()) do
        assert(request.response.status == 200 and not seen[request.number])
        seen[request.number] = true
    end
end
assert(#seen == 50 and #mailbox:take() == 0 and #mailbox:wait(0) == 0)
held:cancel()
while not held.response do mailbox:wait() end
assert(held.response.error.code == "request cancelled" and mailbox.outstanding == 0)
held:cancel()

-- A request that is dropped with its mailbox, and one that runs when the state ends.
local dropped = ntapi.mailbox()
dropped:begin(client, "hold"):cancel()
dropped = nil
collectgarbage()
mailbox:begin(client, "hold")
print "done"
