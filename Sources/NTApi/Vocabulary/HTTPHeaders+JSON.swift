extension HTTPHeaders.Field {
    /// For a file: name and value, and the bytes of a value that is not UTF-8, because it may be sent back to the server.
    var json: JSON { JSON([JSON(name), JSON(value)] + (isText ? [] : [JSON(Base64.encode(bytes))])) }

    /// Nil when it is something else.
    init?(_ json: JSON) {
        guard (2...3).contains(json.count), let name = json[0]?.string, let value = json[1]?.string else { return nil }
        guard let received = json[2] else {
            self.init(name: name, value: value)
            return
        }
        guard let bytes = received.string.flatMap(Base64.decode) else { return nil }
        self.init(name: name, received: bytes)
    }
}
