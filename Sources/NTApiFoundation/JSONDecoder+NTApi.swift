public import Foundation
public import NTApi

extension APIResponse {
    /// Decodes a type of the program with a Foundation decoder and its strategies.
    ///
    /// For types that were written for such a decoder. ``NTApi/APIResponse/decode(_:at:options:)`` needs no decoder,
    /// and is faster.
    ///
    /// - Parameters:
    ///   - path: where the value is in the JSON; the whole JSON by default.
    ///   - decoder: with the strategies that the service needs.
    /// - Throws: the response's error, if it has one; `unexpected JSON` when the JSON does not fit the type.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, at path: String = "", using decoder: JSONDecoder
    ) throws(APIError) -> Value {
        // An optional is nil where there is nothing, as with the other `decode`.
        let mayBeAbsent = type is any ExpressibleByNilLiteral.Type
        let json = mayBeAbsent ? try decode(JSON?.self, at: path) ?? .null : try decode(JSON.self, at: path)
        do {
            return try decoder.decode(type, from: Data(json.text.utf8))
        } catch {
            throw APIError(
                domain: .json, code: .unexpectedJSON,
                message: "the JSON of \(redactedURL)\(path.isEmpty ? "" : ", \(path)"): \(Self.text(of: error))",
                httpStatus: status)
        }
    }

    private static func text(of error: any Error) -> String {
        switch error as? DecodingError {
        case .typeMismatch(_, let context)?, .valueNotFound(_, let context)?, .keyNotFound(_, let context)?,
            .dataCorrupted(let context)?:
            let keys = context.codingPath.map { key in key.intValue.map { "[\($0)]" } ?? key.stringValue }
            return (keys.isEmpty ? "" : keys.joined(separator: ".") + ": ") + context.debugDescription
        default: return "\(error)"
        }
    }
}

extension APIArg {
    /// A value of a type of the program as the body, written by a Foundation encoder; application/json.
    ///
    /// A value that cannot be written is an error of the request.
    ///
    /// - Parameter encoder: with the strategies that the service needs.
    public static func json(encoding value: (some Encodable)?, using encoder: JSONEncoder) -> APIArg {
        guard let value else { return json(nil) }
        do {
            return json(try JSON(parsing: [UInt8](try encoder.encode(value))))
        } catch {
            return json(encoding: Unwritable(error: error))
        }
    }

    /// A value whose arg says why it cannot be written.
    private struct Unwritable: Encodable {
        let error: any Error

        func encode(to encoder: any Encoder) throws { throw error }
    }
}
