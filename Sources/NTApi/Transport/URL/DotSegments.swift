/// The segments `.` and `..` of a path, which are steps and not names (RFC 3986, 5.2.4).
///
/// `%2E` is a dot (RFC 3986, 6.2.2.2), and servers read it as one.
enum DotSegments {
    /// A path without its steps: what every server would make of it.
    ///
    /// - Parameter path: empty, or with a slash at the beginning.
    static func resolve(_ path: ArraySlice<UInt8>) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        var segments: [ArraySlice<UInt8>] = []
        let given = path.dropFirst().split(separator: slash, omittingEmptySubsequences: false)
        for segment in given {
            switch steps(segment) {
            case nil: segments.append(segment)
            case .stay?: break
            case .up?: _ = segments.popLast()
            }
        }
        // A step at the end leads to a folder.
        if let last = given.last, steps(last) != nil { segments.append([]) }
        return segments.isEmpty ? [slash] : segments.flatMap { [slash] + $0 }
    }

    /// Whether a path may have steps. Cheap, and false for nearly all paths.
    static func mayBe(in path: ArraySlice<UInt8>) -> Bool {
        var isBeginning = true
        for byte in path {
            if isBeginning, byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%") { return true }
            isBeginning = byte == UInt8(ascii: "/")
        }
        return false
    }

    private enum Step { case stay, up }

    private static func steps(_ segment: ArraySlice<UInt8>) -> Step? {
        var dots = 0
        var rest = segment
        while let first = rest.first {
            if first == UInt8(ascii: ".") {
                rest = rest.dropFirst()
            } else if first == UInt8(ascii: "%"), rest.dropFirst().first == UInt8(ascii: "2"),
                rest.dropFirst(2).first?.lowercasedASCII == UInt8(ascii: "e")
            {
                rest = rest.dropFirst(3)
            } else {
                return nil
            }
            dots += 1
            if dots > 2 { return nil }
        }
        return dots == 0 ? nil : dots == 1 ? .stay : .up
    }
}
