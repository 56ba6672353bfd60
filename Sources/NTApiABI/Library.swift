import CNTApi
import CNTApiSystem
import NTApi

private let library = TextLender()

@_cdecl("ntapi_version") @implementation
public func ntapi_version() -> UnsafePointer<CChar>! { library.text(.version) { ntapiVersion } }

@_cdecl("ntapi_version_text") @implementation
public func ntapi_version_text() -> UnsafePointer<CChar>! { library.text(.versionText) { ntapiVersionText } }

@_cdecl("ntapi_drain") @implementation
public func ntapi_drain(_ timeout: Double) -> Int { APIClient.drainAll(timeout: seconds(timeout)) }

@_cdecl("ntapi_text_free") @implementation
public func ntapi_text_free(_ text: UnsafeMutablePointer<CChar>!) { text?.deallocate() }

/// A time in the header's form: negative is for ever.
func seconds(_ timeout: Double) -> Double? { timeout < 0 ? nil : timeout.isNaN ? 0 : timeout }

@_cdecl("ntapi_describe") @implementation
public func ntapi_describe(_ handle: UnsafeRawPointer!) -> UnsafeMutablePointer<CChar>! {
    guard let handle else { return newText("NULL") }
    guard let object = Handles.any(OpaquePointer(handle)) else { return newText("not a handle, or freed") }
    let (type, detail) = described(object)
    // A log has one line for it.
    let line = printableLine(detail.split(separator: "\n").joined(separator: "; "))
    return newText(line.isEmpty ? "ntapi_\(type)" : "ntapi_\(type) \(line)")
}

// Not in the header: cmake/fork_gate.c calls it when the library is loaded.
@_cdecl("ntapi_prepare_forks") @implementation
public func ntapi_prepare_forks() { ForkSafeLocks.prepare() }
