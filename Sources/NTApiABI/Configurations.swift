public import CNTApi
import NTApi

/// What an `ntapi_configuration` stands for.
final class ConfigurationBox: TextLender, @unchecked Sendable {
    // Safe to share: constant, except for the guarded fields.
    let kind: SessionConfiguration.Kind
    let settings = Defaults.configuration()
    let defaults: HandleOwner<DefaultsBox>
    // Only accessed under `SharedMutex.args`.
    @exclusivity(unchecked) private var given: HTTPCache?
    @exclusivity(unchecked) private var credentials: CredentialStorage?
    @exclusivity(unchecked) private var added: [Interceptor] = []

    /// The clients' cache; nil gives each client its own.
    var cache: HTTPCache? {
        get { SharedMutex.args.withLock { given } }
        set {
            let replaced = SharedMutex.args.withLock {
                let old = given
                given = newValue
                return old
            }
            withExtendedLifetime(replaced) {}
        }
    }

    /// The clients' credential storage; nil is none.
    var credentialStorage: CredentialStorage? {
        get { SharedMutex.args.withLock { credentials } }
        set {
            let replaced = SharedMutex.args.withLock {
                let old = credentials
                credentials = newValue
                return old
            }
            withExtendedLifetime(replaced) {}
        }
    }

    /// The clients' interceptors, the outermost first.
    var interceptors: [Interceptor] { SharedMutex.args.withLock { added } }

    func add(_ interceptor: Interceptor) { SharedMutex.args.withLock { added.append(interceptor) } }

    func remove(_ interceptor: Interceptor) -> Bool {
        SharedMutex.args.withLock { added.removeLast(interceptor) } != nil
    }

    init(_ kind: SessionConfiguration.Kind) {
        self.kind = kind
        credentials = SessionConfiguration.credentialStorage(of: kind)
        defaults = HandleOwner(DefaultsBox(settings))
    }
}

extension SessionConfiguration.Kind {
    fileprivate init?(_ kind: ntapi_session_kind, _ identifier: String?) {
        switch (kind, identifier) {
        case (NTAPI_SESSION_KIND_DEFAULT, nil): self = .default
        case (NTAPI_SESSION_KIND_EPHEMERAL, nil): self = .ephemeral
        case (NTAPI_SESSION_KIND_BACKGROUND, let identifier?): self = .background(identifier: identifier)
        default: return nil
        }
    }
}

/// Gives a configuration the object of a handle; NULL removes it. After a wrong handle, the requests of its clients fail.
func attach<Object: AnyObject>(
    _ configuration: OpaquePointer?, _ handle: OpaquePointer?, _ type: Object.Type, function: StaticString = #function,
    _ set: (ConfigurationBox, Object?) -> Void
) -> ntapi_status {
    guard let box = Handles.get(configuration, ConfigurationBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    let object = Handles.get(handle, type)
    guard handle == nil || object != nil else {
        box.add(.refusing("\(name(of: function)): the handle is freed, or of another kind"))
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
    set(box, object)
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_configuration_create") @implementation
public func ntapi_configuration_create(
    _ kind: ntapi_session_kind, _ identifier: UnsafePointer<CChar>!
) -> OpaquePointer! {
    let text = String(c: identifier)
    guard identifier == nil || text != nil else { return nil }
    return SessionConfiguration.Kind(kind, text).flatMap { Handles.make(ConfigurationBox($0)) }
}

@_cdecl("ntapi_configuration_free") @implementation
public func ntapi_configuration_free(_ configuration: OpaquePointer!) {
    Handles.free(configuration, ConfigurationBox.self)
}

@_cdecl("ntapi_configuration_defaults") @implementation
public func ntapi_configuration_defaults(_ configuration: OpaquePointer!) -> OpaquePointer! {
    Handles.get(configuration, ConfigurationBox.self)?.defaults.handle
}
