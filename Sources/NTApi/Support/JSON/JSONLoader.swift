/// Parses the text in a body's bytes, or a part of it, and counts the work.
struct JSONLoader {
    enum Outcome {
        /// A value, and the offset right behind it.
        case value(JSON, end: Int)
        case failure(Failure)
    }

    struct Failure {
        enum Cause { case syntax, depth }

        /// Where reading stopped: a bracket that does not belong is the byte before.
        let offset: Int
        let reason: String
        var cause = Cause.syntax
    }

    let bytes: Bytes
    /// Bytes read so far: the work that was done.
    private(set) var bytesRead = 0

    init(_ bytes: Bytes) {
        self.bytes = bytes
    }

    /// Loads text that must be one value, with nothing but white space around it, up to the end.
    mutating func loadWhole(from start: Int) -> Outcome {
        let outcome = loadFirst(from: start)
        guard case .value(_, let end) = outcome else { return outcome }
        let rest = bytes.buffer[end...]
        guard let stray = rest.firstIndex(where: { !JSONParser.isWhiteSpace($0) }) else { return outcome }
        bytesRead += stray - end
        return .failure(JSONDiagnosis(bytes.buffer).stray(at: stray))
    }

    /// Loads the value that the text begins with at an offset, whatever follows it.
    mutating func loadFirst(from start: Int) -> Outcome {
        let buffer = bytes.buffer
        // The tape has 31 bits for an offset.
        guard buffer.count <= Int(Int32.max) else { return .failure(Failure(offset: start, reason: "more than 2 GiB")) }
        guard let base = buffer.baseAddress, start <= buffer.count else {
            return .failure(Failure(offset: start, reason: "no text"))
        }
        let text = base.assumingMemoryBound(to: UInt8.self)
        do throws(JSONScanner.Problem) {
            let scanned = try JSONScanner.scan(text, count: buffer.count, from: start)
            bytesRead += scanned.end - start
            return .value(JSON(JSONDocument(bytes, text: text, scanned), 0), end: scanned.end)
        } catch {
            let failure = JSONDiagnosis(buffer).failure(error, from: start)
            bytesRead += failure.offset - start
            return .failure(failure)
        }
    }
}
