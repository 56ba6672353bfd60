public import CNTApi
import NTApi

// One function of the header for each kind of arg.

@_cdecl("ntapi_args_url") @implementation
public func ntapi_args_url(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status { append(args, name, value) { .url($0, $1) } }

@_cdecl("ntapi_args_url_int") @implementation
public func ntapi_args_url_int(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: Int64
) -> ntapi_status { append(args) { String(c: name).map { .url($0, value) } } }

@_cdecl("ntapi_args_url_double") @implementation
public func ntapi_args_url_double(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: Double
) -> ntapi_status { append(args) { String(c: name).map { .url($0, value) } } }

@_cdecl("ntapi_args_url_bool") @implementation
public func ntapi_args_url_bool(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: Bool
) -> ntapi_status { append(args) { String(c: name).map { .url($0, value) } } }

@_cdecl("ntapi_args_url_default") @implementation
public func ntapi_args_url_default(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ key: UnsafePointer<CChar>!
) -> ntapi_status {
    append(args) {
        guard let name = String(c: name), let key = optional(key) else { return nil }
        return .urlDefault(name, key.value)
    }
}

@_cdecl("ntapi_args_path") @implementation
public func ntapi_args_path(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status { append(args, name, value) { .path($0, $1) } }

@_cdecl("ntapi_args_path_int") @implementation
public func ntapi_args_path_int(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: Int64
) -> ntapi_status { append(args) { String(c: name).map { .path($0, value) } } }

@_cdecl("ntapi_args_path_double") @implementation
public func ntapi_args_path_double(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: Double
) -> ntapi_status { append(args) { String(c: name).map { .path($0, value) } } }

@_cdecl("ntapi_args_path_bool") @implementation
public func ntapi_args_path_bool(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: Bool
) -> ntapi_status { append(args) { String(c: name).map { .path($0, value) } } }

@_cdecl("ntapi_args_form") @implementation
public func ntapi_args_form(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status { append(args, name, value) { .form($0, $1) } }

@_cdecl("ntapi_args_form_int") @implementation
public func ntapi_args_form_int(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: Int64
) -> ntapi_status { append(args) { String(c: name).map { .form($0, value) } } }

@_cdecl("ntapi_args_form_double") @implementation
public func ntapi_args_form_double(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: Double
) -> ntapi_status { append(args) { String(c: name).map { .form($0, value) } } }

@_cdecl("ntapi_args_form_bool") @implementation
public func ntapi_args_form_bool(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: Bool
) -> ntapi_status { append(args) { String(c: name).map { .form($0, value) } } }

@_cdecl("ntapi_args_multipart") @implementation
public func ntapi_args_multipart(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status { append(args, name, value) { .multipart($0, $1) } }

@_cdecl("ntapi_args_multipart_data") @implementation
public func ntapi_args_multipart_data(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ bytes: UnsafeRawPointer!, _ length: Int,
    _ filename: UnsafePointer<CChar>!, _ content_type: UnsafePointer<CChar>!
) -> ntapi_status {
    append(args) { () throws(APIError) in
        guard let name = String(c: name), let filename = optional(filename), let type = optional(content_type) else {
            return nil
        }
        return .multipart(
            name, data: try copied(bytes, length), filename: filename.value ?? "\(name).bin", contentType: type.value)
    }
}

@_cdecl("ntapi_args_multipart_file") @implementation
public func ntapi_args_multipart_file(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ path: UnsafePointer<CChar>!,
    _ filename: UnsafePointer<CChar>!, _ content_type: UnsafePointer<CChar>!
) -> ntapi_status {
    append(args) {
        guard let name = String(c: name), let path = optional(path), let filename = optional(filename),
            let type = optional(content_type)
        else { return nil }
        return .multipart(name, file: path.value, filename: filename.value, contentType: type.value)
    }
}

@_cdecl("ntapi_args_data") @implementation
public func ntapi_args_data(
    _ args: OpaquePointer!, _ bytes: UnsafeRawPointer!, _ length: Int, _ content_type: UnsafePointer<CChar>!
) -> ntapi_status {
    append(args) { () throws(APIError) in
        guard let type = optional(content_type) else { return nil }
        return .data(try copied(bytes, length), contentType: type.value)
    }
}

@_cdecl("ntapi_args_json") @implementation
public func ntapi_args_json(_ args: OpaquePointer!, _ value: OpaquePointer!) -> ntapi_status {
    append(args) {
        guard let value else { return .json(nil) }
        return Handles.get(value, JSONBox.self).map { .json($0.json) }
    }
}

@_cdecl("ntapi_args_member") @implementation
public func ntapi_args_member(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status { append(args, name, value) { .member($0, $1.map { JSON($0) }) } }

@_cdecl("ntapi_args_member_int") @implementation
public func ntapi_args_member_int(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: Int64
) -> ntapi_status { append(args) { String(c: name).map { .member($0, JSON(value)) } } }

@_cdecl("ntapi_args_member_double") @implementation
public func ntapi_args_member_double(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: Double
) -> ntapi_status { append(args) { String(c: name).map { .member($0, JSON(value)) } } }

@_cdecl("ntapi_args_member_bool") @implementation
public func ntapi_args_member_bool(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: Bool
) -> ntapi_status { append(args) { String(c: name).map { .member($0, JSON(value)) } } }

@_cdecl("ntapi_args_member_json") @implementation
public func ntapi_args_member_json(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: OpaquePointer!
) -> ntapi_status {
    append(args) {
        guard let name = String(c: name) else { return nil }
        guard let value else { return .member(name, nil) }
        return Handles.get(value, JSONBox.self).map { .member(name, $0.json) }
    }
}

@_cdecl("ntapi_args_file") @implementation
public func ntapi_args_file(
    _ args: OpaquePointer!, _ path: UnsafePointer<CChar>!, _ content_type: UnsafePointer<CChar>!
) -> ntapi_status {
    append(args) {
        guard let path = optional(path), let type = optional(content_type) else { return nil }
        return .file(path.value, contentType: type.value)
    }
}

/// The pull callback of a C program has asked for the request to fail.
private struct StreamFailed: Error, CustomStringConvertible {
    var description: String { "the read callback returned a negative number" }
}

@_cdecl("ntapi_args_download") @implementation
public func ntapi_args_download(_ args: OpaquePointer!, _ path: UnsafePointer<CChar>!) -> ntapi_status {
    append(args) { path == nil ? .download() : String(c: path).map { .download(to: $0) } }
}

@_cdecl("ntapi_args_resume") @implementation
public func ntapi_args_resume(_ args: OpaquePointer!, _ resume_data: UnsafePointer<CChar>!) -> ntapi_status {
    append(args) { optional(resume_data).map { .resume(text: $0.value) } }
}

@_cdecl("ntapi_args_stream") @implementation
public func ntapi_args_stream(
    _ args: OpaquePointer!, _ read: ntapi_read_fn!, _ rewind: ntapi_rewind_fn!, _ length: Int64,
    _ content_type: UnsafePointer<CChar>!, _ user_data: UnsafeMutableRawPointer!, _ destroy: ntapi_destroy_fn!
) -> ntapi_status {
    let userData = UserData(user_data, destroy)
    return append(args) {
        guard let type = optional(content_type) else { return nil }
        guard let read else { return .stream(nil) }
        var rewinder: (@Sendable () -> Bool)?
        if let rewind { rewinder = { rewind(userData.pointer) } }
        let stream = BodyStream(length: length < 0 ? nil : length, rewind: rewinder) { buffer in
            let count = read(userData.pointer, buffer.baseAddress, buffer.count)
            guard count >= 0 else { throw StreamFailed() }
            return count
        }
        return .stream(stream, contentType: type.value)
    }
}

@_cdecl("ntapi_args_base_url") @implementation
public func ntapi_args_base_url(_ args: OpaquePointer!, _ url: UnsafePointer<CChar>!) -> ntapi_status {
    append(args, url) { .baseURL($0) }
}

@_cdecl("ntapi_args_header") @implementation
public func ntapi_args_header(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status { append(args, name, value) { .header($0, $1) } }

@_cdecl("ntapi_args_add_header") @implementation
public func ntapi_args_add_header(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status { append(args, name, value) { .addHeader($0, $1) } }

@_cdecl("ntapi_args_basic_auth") @implementation
public func ntapi_args_basic_auth(
    _ args: OpaquePointer!, _ user: UnsafePointer<CChar>!, _ password: UnsafePointer<CChar>!
) -> ntapi_status {
    append(args) {
        guard let user = optional(user), let password = optional(password) else { return nil }
        return .basicAuth(user.value, password.value)
    }
}

@_cdecl("ntapi_args_digest_auth") @implementation
public func ntapi_args_digest_auth(
    _ args: OpaquePointer!, _ user: UnsafePointer<CChar>!, _ password: UnsafePointer<CChar>!
) -> ntapi_status {
    append(args) {
        guard let user = optional(user), let password = optional(password) else { return nil }
        return .digestAuth(user.value, password.value)
    }
}

@_cdecl("ntapi_args_bearer") @implementation
public func ntapi_args_bearer(_ args: OpaquePointer!, _ token: UnsafePointer<CChar>!) -> ntapi_status {
    append(args, token) { .bearer($0) }
}

@_cdecl("ntapi_args_timeout") @implementation
public func ntapi_args_timeout(_ args: OpaquePointer!, _ clock: ntapi_clock, _ seconds: Double) -> ntapi_status {
    append(args) { () throws(APIError) in
        switch clock {
        case NTAPI_CLOCK_IDLE: .timeout(seconds, .idle)
        case NTAPI_CLOCK_CONNECT: .timeout(seconds, .connect)
        case NTAPI_CLOCK_QUEUE: .timeout(seconds, .queue)
        case NTAPI_CLOCK_ATTEMPT: .timeout(seconds, .attempt)
        case NTAPI_CLOCK_TOTAL: .timeout(seconds, .total)
        default: throw .invalidArgument("\(clock.rawValue) is no ntapi_clock")
        }
    }
}

@_cdecl("ntapi_args_method") @implementation
public func ntapi_args_method(_ args: OpaquePointer!, _ method: UnsafePointer<CChar>!) -> ntapi_status {
    append(args, method) { .method($0) }
}

@_cdecl("ntapi_args_cache_policy") @implementation
public func ntapi_args_cache_policy(_ args: OpaquePointer!, _ policy: ntapi_cache_policy) -> ntapi_status {
    append(args) { () throws(APIError) in
        guard let known = CachePolicy(c: policy) else {
            throw .invalidArgument("\(policy.rawValue) is no ntapi_cache_policy")
        }
        return .cachePolicy(known)
    }
}

@_cdecl("ntapi_args_option") @implementation
public func ntapi_args_option(
    _ args: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ value: UnsafePointer<CChar>!
) -> ntapi_status { append(args, name, value) { .option(APIOption($0), $1) } }

// MARK: C's values

extension APIError {
    static func wrongHandle(_ parameter: String, _ kind: String) -> APIError {
        .invalidArgument("\(parameter) is freed, or not \(kind)")
    }
}

/// An optional text; nil when it is present and not UTF-8.
private func optional(_ text: UnsafePointer<CChar>?) -> (value: String?, Void)? {
    guard let text else { return (nil, ()) }
    return String(c: text).map { ($0, ()) }
}

/// A copy of C's bytes; nil for NULL. Throws for a length that no memory has, such as the -1 of a failed `read`.
private func copied(_ bytes: UnsafeRawPointer?, _ length: Int) throws(APIError) -> [UInt8]? {
    guard length >= 0 else { throw .invalidArgument("the length is \(UInt(bitPattern: length))") }
    return bytes.map { Array(UnsafeRawBufferPointer(start: $0, count: length)) }
}

@_cdecl("ntapi_args_idempotency_key") @implementation
public func ntapi_args_idempotency_key(_ args: OpaquePointer!, _ key: UnsafePointer<CChar>!) -> ntapi_status {
    guard key != nil else { return append(args) { .idempotencyKey() } }
    return append(args, key) { .idempotencyKey($0) }
}
