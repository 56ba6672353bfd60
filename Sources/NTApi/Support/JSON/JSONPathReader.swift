/// Reads the steps of a path one after another, from its bytes, without making strings of the keys.
struct JSONPathReader {
    enum Step {
        /// Its bytes are lent for the time of the call.
        case key(UnsafeRawBufferPointer)
        case index(Int)
    }

    private let path: UnsafeRawBufferPointer
    private var position = 0

    /// Takes a path apart.
    ///
    /// - Parameter step: gets each step, and says whether to go on.
    /// - Returns: whether the whole path was read. A path that is malformed may have had some steps.
    static func read(_ path: UnsafeRawBufferPointer, _ step: (Step) -> Bool) -> Bool {
        var reader = JSONPathReader(path: path)
        while reader.position < path.count {
            let isFirst = reader.position == 0
            let isRead =
                if reader.take("[") {
                    reader.bracket(step)
                } else {
                    (isFirst || reader.take(".")) && reader.key(step)
                }
            guard isRead else { return false }
        }
        return true
    }

    private init(path: UnsafeRawBufferPointer) {
        self.path = path
    }

    private mutating func key(_ step: (Step) -> Bool) -> Bool {
        let start = position
        while position < path.count, !JSONPath.isSpecial(path[position]) { position += 1 }
        return position > start && step(.key(UnsafeRawBufferPointer(rebasing: path[start..<position])))
    }

    private mutating func bracket(_ step: (Step) -> Bool) -> Bool {
        if take("\"") { return quoted(step) }
        let start = position
        var index = 0
        while position < path.count, path[position].isASCIIDigit {
            let (tens, tooMany) = index.multipliedReportingOverflow(by: 10)
            let (sum, overflow) = tens.addingReportingOverflow(Int(path[position] - UInt8(ascii: "0")))
            guard !tooMany, !overflow else { return false }
            index = sum
            position += 1
        }
        return position > start && take("]") && step(.index(index))
    }

    private mutating func quoted(_ step: (Step) -> Bool) -> Bool {
        var key: [UInt8] = []
        while position < path.count {
            if take("\"") { return take("]") && key.withUnsafeBytes { step(.key($0)) } }
            if take("\\") {
                guard position < path.count else { return false }
                guard path[position] == UInt8(ascii: "\"") || path[position] == UInt8(ascii: "\\") else { return false }
            }
            key.append(path[position])
            position += 1
        }
        return false
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < path.count, path[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }
}
