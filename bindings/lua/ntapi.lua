-- A binding for LuaJIT: clients, args, and requests that wait or run in the background. docs/bindings.md explains it.
local ffi = require "ffi"

-- Copied from ntapi.h; Tests/docs/check_lua.py compares them. poll is of the C library.
ffi.cdef [[
typedef struct ntapi_json ntapi_json; typedef struct ntapi_json_iterator ntapi_json_iterator;
typedef struct ntapi_headers ntapi_headers; typedef struct ntapi_error ntapi_error;
typedef struct ntapi_args ntapi_args; typedef struct ntapi_class ntapi_class;
typedef struct ntapi_defaults ntapi_defaults; typedef struct ntapi_client ntapi_client;
typedef struct ntapi_request ntapi_request; typedef struct ntapi_response ntapi_response;
typedef struct ntapi_data ntapi_data; typedef struct ntapi_decision ntapi_decision;
typedef struct ntapi_mailbox ntapi_mailbox;
typedef enum ntapi_status { NTAPI_STATUS_OK = 0, NTAPI_STATUS_INVALID_ARGUMENT = 1, NTAPI_STATUS_INVALID_STATE = 2,
    NTAPI_STATUS_TIMED_OUT = 3 } ntapi_status;
typedef enum ntapi_json_type { NTAPI_JSON_TYPE_ABSENT = 0, NTAPI_JSON_TYPE_NULL = 1, NTAPI_JSON_TYPE_BOOL = 2,
    NTAPI_JSON_TYPE_INT = 3, NTAPI_JSON_TYPE_DOUBLE = 4, NTAPI_JSON_TYPE_STRING = 5, NTAPI_JSON_TYPE_ARRAY = 6,
    NTAPI_JSON_TYPE_OBJECT = 7 } ntapi_json_type;
typedef enum ntapi_handler { NTAPI_HANDLER_RESPONSE = 1, NTAPI_HANDLER_UPLOAD_PROGRESS = 2,
    NTAPI_HANDLER_DOWNLOAD_PROGRESS = 4, NTAPI_HANDLER_DATA = 8, NTAPI_HANDLER_DECISION = 16,
    NTAPI_HANDLER_ALL = 31 } ntapi_handler;
typedef enum ntapi_error_domain { NTAPI_ERROR_DOMAIN_NONE = 0, NTAPI_ERROR_DOMAIN_REQUEST = 1,
    NTAPI_ERROR_DOMAIN_NETWORK = 2, NTAPI_ERROR_DOMAIN_HTTP = 3, NTAPI_ERROR_DOMAIN_JSON = 4,
    NTAPI_ERROR_DOMAIN_SERVICE = 5, NTAPI_ERROR_DOMAIN_CANCELLED = 6 } ntapi_error_domain;
typedef enum ntapi_failure { NTAPI_FAILURE_NONE = 0, NTAPI_FAILURE_NAME_LOOKUP = 1, NTAPI_FAILURE_REFUSED = 2,
    NTAPI_FAILURE_UNREACHABLE = 3, NTAPI_FAILURE_PROXY = 4, NTAPI_FAILURE_TLS = 5, NTAPI_FAILURE_RESET = 6,
    NTAPI_FAILURE_NO_ANSWER = 7, NTAPI_FAILURE_CUT_SHORT = 8, NTAPI_FAILURE_NOT_HTTP = 9, NTAPI_FAILURE_DECODING = 10,
    NTAPI_FAILURE_OTHER = 11 } ntapi_failure;
typedef enum ntapi_clock { NTAPI_CLOCK_NONE = 0, NTAPI_CLOCK_IDLE = 1, NTAPI_CLOCK_CONNECT = 2, NTAPI_CLOCK_QUEUE = 3,
    NTAPI_CLOCK_ATTEMPT = 4, NTAPI_CLOCK_TOTAL = 5 } ntapi_clock;
typedef struct ntapi_error_details {
    size_t size; ntapi_error_domain domain; int http_status; ntapi_failure failure; int transport_code;
    ntapi_clock clock; bool is_retryable; double retry_after; const ntapi_json *problem; } ntapi_error_details;
typedef int ntapi_contents;
typedef struct ntapi_event {
    size_t size; ntapi_handler handler; void *user_data; ntapi_response *response; int64_t bytes; int64_t total;
    ntapi_data *data; ntapi_decision *decision; const ntapi_error *error; const char *body; size_t length; int status;
    ntapi_contents contents; } ntapi_event;

const char *ntapi_error_code_name(const ntapi_error *error);
const char *ntapi_error_message(const ntapi_error *error);
const ntapi_error_details *ntapi_error_get_details(const ntapi_error *error);
void ntapi_error_free(ntapi_error *error);
ntapi_json *ntapi_json_parse(const char *text, size_t length, ntapi_error **error);
void ntapi_json_free(ntapi_json *json);
ntapi_json_type ntapi_json_get_type(const ntapi_json *json, const char *path);
const char *ntapi_json_string(const ntapi_json *json, const char *path);
size_t ntapi_json_string_length(const ntapi_json *json, const char *path);
int64_t ntapi_json_int(const ntapi_json *json, const char *path, int64_t fallback);
double ntapi_json_double(const ntapi_json *json, const char *path, double fallback);
bool ntapi_json_bool(const ntapi_json *json, const char *path, bool fallback);
ntapi_json_iterator *ntapi_json_iterate(const ntapi_json *json, const char *path);
const ntapi_json *ntapi_json_next(ntapi_json_iterator *iterator, const char **key);
void ntapi_json_iterator_free(ntapi_json_iterator *iterator);
const char *ntapi_headers_get(const ntapi_headers *headers, const char *name);
const char *ntapi_headers_at(const ntapi_headers *headers, size_t index, const char **name);
ntapi_args *ntapi_args_create(void);
void ntapi_args_free(ntapi_args *args);
ntapi_status ntapi_args_append_json(ntapi_args *args, const char *text, size_t length, ntapi_error **error);
ntapi_defaults *ntapi_client_defaults(ntapi_client *client);
ntapi_status ntapi_defaults_set(ntapi_defaults *defaults, const char *key, const ntapi_json *value);
ntapi_client *ntapi_client_create(ntapi_class *class_handle, const char *base_url);
void ntapi_client_free(ntapi_client *client);
ntapi_status ntapi_client_set_args(ntapi_client *client, const ntapi_args *args);
ntapi_response *ntapi_client_perform(ntapi_client *client, const char *command, const ntapi_args *args);
ntapi_request *ntapi_client_begin_event(ntapi_client *client, const char *command, const ntapi_args *args,
                                        ntapi_mailbox *mailbox, void *user_data);
ntapi_status ntapi_request_cancel(ntapi_request *request);
void ntapi_response_free(ntapi_response *response);
const ntapi_error *ntapi_response_error(const ntapi_response *response);
int ntapi_response_status(const ntapi_response *response);
const ntapi_headers *ntapi_response_headers(const ntapi_response *response);
const char *ntapi_response_data(const ntapi_response *response, size_t *length);
const ntapi_json *ntapi_response_json(const ntapi_response *response);
ntapi_mailbox *ntapi_mailbox_create(void);
void ntapi_mailbox_free(ntapi_mailbox *mailbox);
int ntapi_mailbox_fd(const ntapi_mailbox *mailbox);
size_t ntapi_mailbox_take(ntapi_mailbox *mailbox, ntapi_event *events, size_t size, size_t capacity);

struct pollfd { int fd; short events; short revents; };
int poll(struct pollfd *fds, unsigned long count, int timeout);
]]

-- The file that NTAPI_LIBRARY names, or the installed library. Without the number it would be any version.
local C = ffi.load(os.getenv "NTAPI_LIBRARY" or "libntapi.so.0")
local POLLIN, ROOM = 1, 16

local ntapi = {}

-- Errors: a table of strings and numbers. error(response.error) shows its message.

local Error = { __tostring = function(self) return self.message end }

local function copied_error(error)
    local details = C.ntapi_error_get_details(error)
    return setmetatable({
        code = ffi.string(C.ntapi_error_code_name(error)),
        message = ffi.string(C.ntapi_error_message(error)),
        http_status = details.http_status,
        retryable = details.is_retryable,
    }, Error)
end

-- Calls create with room for a new error, which is raised.
local function checked(create)
    local room = ffi.new "ntapi_error *[1]"
    local result = create(room)
    if room[0] ~= nil then
        local raised = copied_error(room[0])
        C.ntapi_error_free(room[0])
        error(raised, 0)
    end
    return result
end

-- JSON. null is a value of its own, because a Lua table cannot hold nil. array{} is an empty array, {} an empty object.

ntapi.null = setmetatable({}, { __tostring = function() return "null" end })
local Array = {}
function ntapi.array(list) return setmetatable(list, Array) end

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\" }
local function quoted(text)
    return '"' .. text:gsub('[%c"\\]', function(c) return escapes[c] or ("\\u%04x"):format(c:byte()) end) .. '"'
end

local encode
local function encoded_list(list, count)
    local items = {}
    for i = 1, count do items[i] = encode(list[i]) end
    return "[" .. table.concat(items, ",") .. "]"
end

-- The JSON text of a Lua value.
function encode(value)
    local kind = type(value)
    if value == nil or value == ntapi.null then return "null" end
    if kind == "string" then return quoted(value) end
    if kind == "boolean" then return tostring(value) end
    if kind == "number" then
        local short = ("%.14g"):format(value)
        return tonumber(short) == value and short or ("%.17g"):format(value)
    end
    if ffi.istype("int64_t", value) then return (tostring(value):gsub("LL", "")) end
    if kind ~= "table" then error("JSON has no " .. kind, 0) end
    if getmetatable(value) == Array or value[1] ~= nil then return encoded_list(value, value.n or #value) end
    local members = {}
    for key, member in pairs(value) do members[#members + 1] = quoted(tostring(key)) .. ":" .. encode(member) end
    return "{" .. table.concat(members, ",") .. "}"
end

-- The Lua value of a document. An integer that a double cannot hold stays a 64-bit one.
local function decode(json)
    local kind = tonumber(C.ntapi_json_get_type(json, nil))
    if kind == C.NTAPI_JSON_TYPE_NULL then return ntapi.null end
    if kind == C.NTAPI_JSON_TYPE_BOOL then return C.ntapi_json_bool(json, nil, false) end
    if kind == C.NTAPI_JSON_TYPE_DOUBLE then return C.ntapi_json_double(json, nil, 0) end
    if kind == C.NTAPI_JSON_TYPE_STRING then
        return ffi.string(C.ntapi_json_string(json, nil), C.ntapi_json_string_length(json, nil))
    end
    if kind == C.NTAPI_JSON_TYPE_INT then
        local whole = C.ntapi_json_int(json, nil, 0)
        return whole >= -2LL ^ 53 and whole <= 2LL ^ 53 and tonumber(whole) or whole
    end
    local result, key = kind == C.NTAPI_JSON_TYPE_ARRAY and ntapi.array {} or {}, ffi.new "const char *[1]"
    local iterator = ffi.gc(C.ntapi_json_iterate(json, nil), C.ntapi_json_iterator_free)
    local child = C.ntapi_json_next(iterator, key)
    while child ~= nil do
        result[key[0] ~= nil and ffi.string(key[0]) or #result + 1] = decode(child)
        child = C.ntapi_json_next(iterator, key)
    end
    return result
end

-- Args: ntapi.url("q", "Oslo"). The last value may be nil, which suppresses the arg.

for _, kind in ipairs { "url", "url_default", "path", "form", "multipart", "json", "header", "bearer", "basic_auth",
    "method", "timeout", "option" } do
    ntapi[kind] = function(...) return { n = 1 + select("#", ...), kind, ... } end
end

local function new_args(list)
    local text, args = encoded_list(list or {}, #(list or {})), ffi.gc(C.ntapi_args_create(), C.ntapi_args_free)
    checked(function(error) return C.ntapi_args_append_json(args, text, #text, error) end)
    return args
end

-- Responses. All is copied and the handle freed at once: the collector does not know how much memory is behind it.

local Headers = { __index = function(self, name) return rawget(self, name:lower()) end }

local function copied_response(handle)
    ffi.gc(handle, C.ntapi_response_free)
    local headers, lines = setmetatable({}, Headers), C.ntapi_response_headers(handle)
    local line, key = 0, ffi.new "const char *[1]"
    while C.ntapi_headers_at(lines, line, key) ~= nil do
        local name = ffi.string(key[0])
        headers[name:lower()] = ffi.string(C.ntapi_headers_get(lines, name))
        line = line + 1
    end
    local length = ffi.new "size_t[1]"
    local data = C.ntapi_response_data(handle, length)
    local json, error = C.ntapi_response_json(handle), C.ntapi_response_error(handle)
    local response = {
        status = C.ntapi_response_status(handle),
        headers = headers,
        data = ffi.string(data, length[0]),
        json = json ~= nil and decode(json) or nil,
        error = error ~= nil and copied_error(error) or nil,
    }
    C.ntapi_response_free(ffi.gc(handle, nil))
    return response
end

-- Clients.

local Client = {}
Client.__index = Client

-- Makes a client. Its args, if any, come before those of each request.
function ntapi.client(base_url, args)
    local handle = C.ntapi_client_create(nil, base_url)
    if handle == nil then error("the base URL is not UTF-8", 2) end
    ffi.gc(handle, C.ntapi_client_free)
    C.ntapi_client_set_args(handle, new_args(args))
    return setmetatable({ handle = handle }, Client)
end

-- Sets a default of the client, one of the library's names or your own; nil removes it.
function Client:set_default(name, value)
    local text, json = encode(value), nil
    if value ~= nil then
        json = checked(function(error) return C.ntapi_json_parse(text, #text, error) end)
    end
    C.ntapi_defaults_set(C.ntapi_client_defaults(self.handle), name, json)
    C.ntapi_json_free(json)
end

-- Performs a request and waits; returns a table of status, headers, data, json and error.
function Client:perform(command, args)
    return copied_response(C.ntapi_client_perform(self.handle, command, new_args(args)))
end

-- Mailboxes: requests in the background, whose responses are taken here, on the thread of the Lua state.

local Mailbox, Request = {}, {}
Mailbox.__index, Request.__index = Mailbox, Request

-- Makes a mailbox. fd is readable while a response waits; outstanding is the number of requests without a response.
function ntapi.mailbox()
    local handle = ffi.gc(C.ntapi_mailbox_create(), C.ntapi_mailbox_free)
    return setmetatable({
        handle = handle, fd = C.ntapi_mailbox_fd(handle), outstanding = 0, requests = {}, last = 0,
        events = ffi.new("ntapi_event[?]", ROOM),
    }, Mailbox)
end

-- Begins a request; returns a table that gets the response when it is taken.
function Mailbox:begin(client, command, args)
    local key, list = self.last + 1, new_args(args)
    local handle = C.ntapi_client_begin_event(client.handle, command, list, self.handle, ffi.cast("void *", key))
    if handle == nil then error("the command is not UTF-8", 2) end
    local request = setmetatable({ handle = handle }, Request)
    self.last, self.requests[key], self.outstanding = key, request, self.outstanding + 1
    return request
end

-- Cancels a request. Its response is still taken, with the error "request cancelled".
function Request:cancel()
    if not self.response then C.ntapi_request_cancel(self.handle) end
end

-- Takes the responses that are there; returns a list of their requests.
function Mailbox:take()
    local taken = {}
    repeat
        local count = tonumber(C.ntapi_mailbox_take(self.handle, self.events, ffi.sizeof "ntapi_event", ROOM))
        for i = 0, count - 1 do
            local key = tonumber(ffi.cast("intptr_t", self.events[i].user_data))
            local request = self.requests[key]
            self.requests[key], self.outstanding = nil, self.outstanding - 1
            -- The library lends the handle until now.
            request.handle, request.response = nil, copied_response(self.events[i].response)
            taken[#taken + 1] = request
        end
    until count < ROOM
    return taken
end

-- Waits for the next responses, for so many seconds at most, and takes them.
function Mailbox:wait(seconds)
    local watched = ffi.new("struct pollfd", self.fd, POLLIN, 0)
    ffi.C.poll(watched, 1, seconds and math.ceil(seconds * 1000) or -1)
    return self:take()
end

return ntapi
