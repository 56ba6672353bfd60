public import CNTApi
import NTApi

/// What an `ntapi_response` stands for; several handles may stand for one.
final class ResponseBox: TextLender, @unchecked Sendable {
    // Safe to share: constant, except for fields that are only accessed under `SharedMutex.texts`.
    /// The response of a request; nil for one that is still on its way.
    let response: APIResponse?
    /// What is known of a response that is on its way.
    private let passing: Passing?
    @exclusivity(unchecked) private var lent = Lent()

    /// Handles that are lent until the response is freed, made on demand.
    private struct Lent {
        var error: HandleOwner<ErrorBox>?
        var trailers: HandleOwner<HeadersBox>?
        var json: HandleOwner<JSONBox>?
        var request: HandleOwner<RequestBox>?
        var tree: JanssonTree?
    }

    private final class Passing: Sendable {
        let response: HTTPResponse
        let request: APIRequest?

        init(_ response: HTTPResponse, _ request: APIRequest?) {
            self.response = response
            self.request = request
        }
    }

    /// Whether a background transfer is kept until the receiver of this event has handled it.
    let isOwed: Bool

    init(_ response: APIResponse, isOwed: Bool = false) {
        self.response = response
        passing = nil
        self.isOwed = isOwed && response.request.isOfBackgroundSession
    }

    init(passing response: HTTPResponse, of request: APIRequest?) {
        self.response = nil
        passing = Passing(response, request)
        isOwed = false
    }

    deinit {
        if isOwed { response?.request.acknowledge() }
    }

    /// A new handle.
    var handle: OpaquePointer? { Handles.make(self) }

    var error: OpaquePointer? {
        guard let error = response.map(\.error) ?? passing?.response.error else { return nil }
        return lend(\.error) { ErrorBox(error) }
    }

    var json: OpaquePointer? {
        keep(\.json) { value.map { HandleOwner(JSONBox($0)) } }?.handle
    }

    /// The body as JSON. While the response is still on its way, each call parses it.
    var value: JSON? {
        guard let passing else { return response?.json }
        return passing.response.body.withUnsafeBytes { try? JSON(parsing: $0) }
    }

    var request: OpaquePointer? {
        guard let request = response?.request ?? passing?.request else { return nil }
        return lend(\.request) { RequestBox(request) }
    }

    private var body: ResponseData { response?.data ?? passing?.response.body ?? ResponseData() }

    var count: Int { body.count }

    /// The bytes belong to the response, and stay in place as long as it exists.
    var data: UnsafePointer<CChar>? {
        let bytes = body.withUnsafeBytes { $0.baseAddress?.assumingMemoryBound(to: CChar.self) }
        return bytes ?? text(.noBytes) { "" }
    }

    var status: CInt { CInt(clamping: response?.status ?? passing?.response.status ?? 0) }

    var headers: OpaquePointer? {
        lendHeaders { response?.headers ?? passing?.response.headers ?? HTTPHeaders() }
    }

    var trailers: OpaquePointer? { lend(\.trailers) { HeadersBox(response?.trailers ?? HTTPHeaders()) } }

    var description: String { response?.description ?? "on its way" }

    /// ntapi_content values.
    var contents: CInt {
        var contents: CInt = 0
        if response?.json != nil { contents |= CInt(NTAPI_CONTENT_JSON.rawValue) }
        if response?.prefixText != nil { contents |= CInt(NTAPI_CONTENT_PREFIX_TEXT.rawValue) }
        return contents
    }

    var tree: JanssonTree? { keep(\.tree) { value.map(JanssonTree.init) } }

    private func lend<Box: AnyObject>(
        _ place: WritableKeyPath<Lent, HandleOwner<Box>?>, _ make: () -> Box
    ) -> OpaquePointer? { keep(place) { HandleOwner(make()) }?.handle }

    /// Makes an object on first use, without the lock, because it may take long. A second thread discards its result.
    private func keep<Kept: AnyObject>(_ place: WritableKeyPath<Lent, Kept?>, _ make: () -> Kept?) -> Kept? {
        if let known = SharedMutex.texts.withLock({ lent[keyPath: place] }) { return known }
        guard let made = make() else { return nil }
        return SharedMutex.texts.withLock {
            if let known = lent[keyPath: place] { return known }
            lent[keyPath: place] = made
            return made
        }
    }
}

@_cdecl("ntapi_response_retain") @implementation
public func ntapi_response_retain(_ response: OpaquePointer!) -> OpaquePointer! { box(response)?.handle }

@_cdecl("ntapi_response_free") @implementation
public func ntapi_response_free(_ response: OpaquePointer!) { Handles.free(response, ResponseBox.self) }

@_cdecl("ntapi_response_error") @implementation
public func ntapi_response_error(_ response: OpaquePointer!) -> OpaquePointer! {
    guard let box = box(response) else { return wrongResponse.handle }
    return box.error
}

/// The error for an invalid response. NULL would mean success.
private let wrongResponse = HandleOwner(ErrorBox(.invalidArgument("response is NULL, freed, or not a response")))

@_cdecl("ntapi_response_data") @implementation
public func ntapi_response_data(
    _ response: OpaquePointer!, _ length: UnsafeMutablePointer<Int>!
) -> UnsafePointer<CChar>! {
    guard let box = box(response) else {
        length?.pointee = 0
        return nil
    }
    length?.pointee = box.count
    return box.data
}

@_cdecl("ntapi_response_json") @implementation
public func ntapi_response_json(_ response: OpaquePointer!) -> OpaquePointer! { box(response)?.json }

@_cdecl("ntapi_response_file") @implementation
public func ntapi_response_file(_ response: OpaquePointer!) -> UnsafePointer<CChar>! {
    box(response).flatMap { box in box.text(.file) { box.response?.file } }
}

@_cdecl("ntapi_response_temporary_file") @implementation
public func ntapi_response_temporary_file(_ response: OpaquePointer!) -> UnsafePointer<CChar>! {
    box(response).flatMap { box in box.text(.temporaryFile) { box.response?.temporaryFile } }
}

@_cdecl("ntapi_response_resume_data") @implementation
public func ntapi_response_resume_data(_ response: OpaquePointer!) -> UnsafePointer<CChar>! {
    box(response).flatMap { box in box.text(.resumeData) { box.response?.resumeData?.json.dumped } }
}

@_cdecl("ntapi_resume_data_discard") @implementation
public func ntapi_resume_data_discard(_ resume_data: UnsafePointer<CChar>!) -> ntapi_status {
    guard let text = String(c: resume_data), let data = try? ResumeData(text) else {
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    data.discard()
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_response_prefix_text") @implementation
public func ntapi_response_prefix_text(_ response: OpaquePointer!) -> UnsafePointer<CChar>! {
    box(response).flatMap { box in box.text(.prefixText) { box.response?.prefixText } }
}

@_cdecl("ntapi_response_status") @implementation
public func ntapi_response_status(_ response: OpaquePointer!) -> CInt {
    box(response)?.status ?? 0
}

@_cdecl("ntapi_response_url") @implementation
public func ntapi_response_url(_ response: OpaquePointer!) -> UnsafePointer<CChar>! {
    box(response).flatMap { box in box.text(.url) { box.response?.url } }
}

@_cdecl("ntapi_response_redacted_url") @implementation
public func ntapi_response_redacted_url(_ response: OpaquePointer!) -> UnsafePointer<CChar>! {
    box(response).flatMap { box in box.text(.redactedURL) { box.response?.redactedURL } }
}

@_cdecl("ntapi_response_headers") @implementation
public func ntapi_response_headers(_ response: OpaquePointer!) -> OpaquePointer! {
    box(response)?.headers
}

@_cdecl("ntapi_response_trailers") @implementation
public func ntapi_response_trailers(_ response: OpaquePointer!) -> OpaquePointer! {
    box(response)?.trailers
}

@_cdecl("ntapi_response_link") @implementation
public func ntapi_response_link(
    _ response: OpaquePointer!, _ relation: UnsafePointer<CChar>!
) -> UnsafePointer<CChar>! {
    guard let box = box(response), let relation = String(c: relation) else { return nil }
    return box.text(.link(relation)) { box.response?.link(relation) }
}

@_cdecl("ntapi_response_next_page") @implementation
public func ntapi_response_next_page(_ response: OpaquePointer!, _ args: OpaquePointer!) -> OpaquePointer! {
    let given = Handles.get(args, ArgsBox.self)
    guard let next = box(response)?.response?.nextPage(of: given?.args ?? []) else { return nil }
    // NULL would look like the end of the list.
    let isWrong = args != nil && given == nil
    return Handles.make(
        ArgsBox(isWrong ? [.mistake("ntapi_response_next_page: the args are freed, or of another kind")] : next))
}

@_cdecl("ntapi_response_elapsed") @implementation
public func ntapi_response_elapsed(_ response: OpaquePointer!) -> Double { box(response)?.response?.elapsed ?? 0 }

@_cdecl("ntapi_response_get_source") @implementation
public func ntapi_response_get_source(_ response: OpaquePointer!) -> ntapi_source {
    switch box(response)?.response?.source {
    case nil: NTAPI_SOURCE_NONE
    case .network: NTAPI_SOURCE_NETWORK
    case .cache: NTAPI_SOURCE_CACHE
    case .validatedCache: NTAPI_SOURCE_VALIDATED_CACHE
    }
}

@_cdecl("ntapi_response_request") @implementation
public func ntapi_response_request(_ response: OpaquePointer!) -> OpaquePointer! { box(response)?.request }

private func box(_ response: OpaquePointer?) -> ResponseBox? { Handles.get(response, ResponseBox.self) }
