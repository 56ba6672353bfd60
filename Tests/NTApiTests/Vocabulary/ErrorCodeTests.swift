import Testing

@testable import NTApi

@Suite struct ErrorCodeTests {
    @Test func equalNamesAreTheSameCode() {
        let code = ErrorCode("a code of the tests")
        #expect(code == ErrorCode("a code of the " + "tests") && code != ErrorCode("another"))
        #expect(code.cString == ErrorCode("a code of the tests").cString)
        #expect(String(cString: code.cString) == code.name && "\(code)" == code.name)
        #expect(Set([code, ErrorCode("a code of the tests")]).count == 1)
        #expect(ErrorCode("timeout") == .timeout)
    }

    @Test func isInternedOnceByAllThreads() async {
        let codes = await withTaskGroup(of: [ErrorCode].self) { group in
            for _ in 0..<8 { group.addTask { (0..<200).map { ErrorCode("raced \($0)") } } }
            return await group.reduce(into: [[ErrorCode]]()) { $0.append($1) }
        }
        #expect(codes.allSatisfy { $0 == codes[0] })
    }

    @Test func anErrorSaysItsCodeOnce() {
        #expect("\(APIError(code: ErrorCode("404")))" == "404")
        #expect("\(APIError(code: ErrorCode("404"), message: "city not found"))" == "404: city not found")
    }
}
