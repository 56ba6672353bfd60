import CNTApi
import NTApi

private let library = TextLender()

@_cdecl("ntapi_version") @implementation
public func ntapi_version() -> UnsafePointer<CChar>! { library.text(.version) { ntapiVersion } }

@_cdecl("ntapi_drain") @implementation
public func ntapi_drain(_ timeout: Double) -> Int { APIClient.drainAll(timeout: seconds(timeout)) }

@_cdecl("ntapi_text_free") @implementation
public func ntapi_text_free(_ text: UnsafeMutablePointer<CChar>!) { text?.deallocate() }

/// A time in the header's form: negative is for ever.
func seconds(_ timeout: Double) -> Double? { timeout < 0 ? nil : timeout.isNaN ? 0 : timeout }
