import CNTApi
import NTApi

/// A struct of the header that begins with its size.
///
/// A program that was built with an older header has fewer members than the library knows, and one with a newer header
/// has more. A size of 0 was forgotten. So a struct gets a member that makes it larger, and none in its padding.
protocol SizedStruct {
    init()
    var size: Int { get set }
    /// The size that it had first: no program has a smaller one. A struct that gets a member keeps it, as the offset of
    /// that member.
    static var oldest: Int { get }
}

extension SizedStruct {
    static var oldest: Int { MemoryLayout<Self>.size }

    static func canHave(size: Int) -> Bool { (oldest...largestStruct).contains(size) }

    /// A program's struct. Members that it does not have are zero.
    ///
    /// - Throws: when its size was forgotten or is no size of this struct, and when it asks for something in a member
    ///   that is unknown here. Without the error, the request would be sent without that.
    init(c given: UnsafeRawPointer) throws(APIError) {
        let known = try knownBytes(of: given, Self.self, from: Self.oldest, to: MemoryLayout<Self>.size)
        self.init()
        withUnsafeMutableBytes(of: &self) { $0.copyMemory(from: known) }
    }

    /// Fills a program's struct of that size. Members that are unknown here become zero.
    func store(to place: UnsafeMutableRawPointer, size: Int) {
        var known = self
        known.size = min(size, MemoryLayout<Self>.size)
        place.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        let count = known.size
        withUnsafeBytes(of: &known) {
            UnsafeMutableRawBufferPointer(start: place, count: size).copyMemory(from: .init(rebasing: $0[..<count]))
        }
    }
}

/// The bytes of a program's struct that are known here. Not a part of the generic initializer, which is compiled for each
/// struct.
///
/// - Parameters:
///   - oldest: the size that it had first.
///   - newest: the size that it has here.
private func knownBytes(
    of given: UnsafeRawPointer, _ type: Any.Type, from oldest: Int, to newest: Int
) throws(APIError) -> UnsafeRawBufferPointer {
    let size = given.loadUnaligned(as: Int.self)
    guard (oldest...largestStruct).contains(size) else {
        throw .invalidArgument("the size of \(type) is \(size), not sizeof(\(type))")
    }
    let bytes = UnsafeRawBufferPointer(start: given, count: size)
    guard bytes.dropFirst(newest).allSatisfy({ $0 == 0 }) else {
        throw .invalidArgument(
            "\(type) has a value in a member that libntapi \(ntapiVersion) does not know:"
                + " leave that member 0, or use a newer libntapi")
    }
    return UnsafeRawBufferPointer(rebasing: bytes.prefix(newest))
}

/// In bytes. A larger size is no size: it comes from memory that was never set.
private let largestStruct = 4096

extension ntapi_authenticator_options: SizedStruct {}
extension ntapi_custom_date_format: SizedStruct {}
extension ntapi_event: SizedStruct {}
extension ntapi_field: SizedStruct {}
extension ntapi_hooks: SizedStruct {}
extension ntapi_protection_space: SizedStruct {}
extension ntapi_rate_limit: SizedStruct {}
extension ntapi_rate_limiter_options: SizedStruct {}
extension ntapi_token: SizedStruct {}
extension ntapi_cache_sharing: SizedStruct {}
extension ntapi_token_sharing: SizedStruct {}
extension ntapi_store_functions: SizedStruct {}

extension ntapi_retry_policy: SizedStruct {
    static var oldest: Int { MemoryLayout<Self>.offset(of: \.budget)! }
}

extension ntapi_stub_answer: SizedStruct {
    static var oldest: Int { MemoryLayout<Self>.offset(of: \.trailers)! }
}
