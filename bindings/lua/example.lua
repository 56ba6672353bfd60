local ntapi = require "ntapi"

local client = ntapi.client(arg[1], { ntapi.url_default("appid"), ntapi.timeout(10) })
client:set_default("appid", "demo")

-- Waiting.
local response = client:perform("data/2.5/weather", { ntapi.url("q", "Zürich") })
print(response.status, response.headers["Content-Type"], response.json.name)

-- A body. An arg whose value is nil is not sent.
local order = { city = "London", tags = { "fog", "rain" } }
response = client:perform("echo", { ntapi.json(order), ntapi.header("X-Trace", nil) })
print(response.json.method, #response.json.body)

-- Errors.
response = client:perform("no/such/page")
print(response.error.code, response.error)

-- In the background.
local mailbox = ntapi.mailbox()
local cities = { "Oslo", "Rome", "Cairo" }
for _, city in ipairs(cities) do
    mailbox:begin(client, "data/2.5/weather", { ntapi.url("q", city) }).city = city
end
mailbox:begin(client, "slow", { ntapi.url("seconds", 30) }):cancel()
local answers = {}
while mailbox.outstanding > 0 do
    for _, request in ipairs(mailbox:wait(10)) do
        local error, json = request.response.error, request.response.json
        table.insert(answers, error and tostring(error) or request.city .. " " .. json.sys.country)
    end
end
table.sort(answers)
print(table.concat(answers, ", "))
