import CNTApi

/// A struct of the header that begins with its size.
///
/// A program that was built with an older header has fewer members than the library knows, and one with a newer header
/// has more. A size of 0 was forgotten.
protocol SizedStruct {
    init()
    var size: Int { get set }
    /// The size that it had first: no program has a smaller one. A struct that gets a member keeps it, as the offset of
    /// that member.
    static var oldest: Int { get }
}

extension SizedStruct {
    static var oldest: Int { MemoryLayout<Self>.size }

    static func canHave(size: Int) -> Bool { (oldest..<1 << 16).contains(size) }

    /// A program's struct. Members that it does not have are zero; those that are unknown here are left out.
    ///
    /// - Returns: nil when its size was forgotten, or is no size of this struct.
    init?(c given: UnsafeRawPointer) {
        let size = given.loadUnaligned(as: Int.self)
        guard Self.canHave(size: size) else { return nil }
        self.init()
        withUnsafeMutableBytes(of: &self) {
            $0.copyMemory(from: UnsafeRawBufferPointer(start: given, count: min(size, $0.count)))
        }
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
