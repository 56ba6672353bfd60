import CJansson

/// Runs jansson's parser, and makes up for what it does not do: NUL bytes, integers beyond 64 bits, the host's locale.
struct JSONLoader {
    enum Outcome {
        /// A value, and the offset right behind it.
        case value(JSON, end: Int)
        case failure(Failure)
    }

    struct Failure {
        enum Cause { case syntax, numberOverflow, depth }

        /// Where reading stopped: a bracket that does not belong is the byte before.
        var offset: Int
        let reason: String
        var cause = Cause.syntax
    }

    /// Bytes read so far, and copied to be read again: the work that was done.
    private(set) var bytesRead = 0

    /// Loads text that must be one value, with nothing but white space around it.
    mutating func loadWhole(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        // jansson puts a byte back after a number or a word, and forgets it when it is NUL: it takes "[1\0]" for [1].
        if let offset = bytes.firstIndex(of: 0) { return .failure(Failure(offset: offset, reason: "NUL byte")) }
        return load(bytes, flags: JSON_DECODE_ANY)
    }

    /// Loads the value that text without NUL bytes begins with, whatever follows it.
    mutating func loadFirst(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        load(bytes, flags: JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK)
    }

    private mutating func load(_ bytes: UnsafeRawBufferPointer, flags: Int32) -> Outcome {
        // jansson counts places in `int`.
        guard bytes.count <= Int(Int32.max) else { return .failure(Failure(offset: 0, reason: "more than 2 GiB")) }
        let first = run(bytes, flags)
        guard case .failure(let failure) = first, failure.cause == .numberOverflow else { return first }
        guard let integers = JSONBigIntegers(bytes) else { return first }
        // The second run repeats the first, and goes on where that stopped at the first of the big integers.
        bytesRead += bytes.count
        switch integers.rewritten.withUnsafeBytes({ run($0, flags) }) {
        case .value(let json, let end): return .value(json, end: integers.originalOffset(of: end))
        case .failure(var failure):
            failure.offset = integers.originalOffset(of: failure.offset)
            return .failure(failure)
        }
    }

    private mutating func run(_ bytes: UnsafeRawBufferPointer, _ flags: Int32) -> Outcome {
        guard let start = bytes.baseAddress, !bytes.isEmpty else {
            return .failure(Failure(offset: 0, reason: "no text"))
        }
        JSONHashSeed.plant()
        var error = json_error_t()
        let chars = start.assumingMemoryBound(to: CChar.self)
        let ref = cjansson_load(chars, bytes.count, Int(flags | JSON_ALLOW_NUL), &error, Self.locale.value)
        let position = min(max(0, Int(error.position)), bytes.count)
        bytesRead += position
        guard let ref else {
            let cause: Failure.Cause =
                cjansson_is_numeric_overflow(&error)
                ? .numberOverflow : cjansson_is_stack_overflow(&error) ? .depth : .syntax
            let reason = String(cString: cjansson_error_text(&error))
            return .failure(Failure(offset: position, reason: reason, cause: cause))
        }
        let bound = ref.isContainer ? JSONDepth.heightBound(ofParsedBytes: position) : 0
        return .value(JSON(JSONNode(adopting: ref, heightBound: bound)), end: position)
    }

    /// `@unchecked`, because the locale object is made once, and only read.
    private struct Locale: @unchecked Sendable {
        let value = cjansson_new_locale()
    }

    private static let locale = Locale()
}
