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
        let size = given.loadUnaligned(as: Int.self)
        guard Self.canHave(size: size) else {
            throw .invalidArgument("the size of \(Self.self) is \(size), not sizeof(\(Self.self))")
        }
        let bytes = UnsafeRawBufferPointer(start: given, count: size)
        let known = bytes.prefix(MemoryLayout<Self>.size)
        guard bytes[known.endIndex...].allSatisfy({ $0 == 0 }) else {
            throw .invalidArgument(
                "\(Self.self) has a value in a member that libntapi \(ntapiVersion) does not know:"
                    + " leave that member 0, or use a newer libntapi")
        }
        self.init()
        withUnsafeMutableBytes(of: &self) { $0.copyMemory(from: .init(rebasing: known)) }
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
extension ntapi_store_functions: SizedStruct {}

extension ntapi_retry_policy: SizedStruct {
    static var oldest: Int { MemoryLayout<Self>.offset(of: \.budget)! }
}

extension ntapi_stub_answer: SizedStruct {
    static var oldest: Int { MemoryLayout<Self>.offset(of: \.trailers)! }
}
