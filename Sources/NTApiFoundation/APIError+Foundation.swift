public import Foundation
public import NTApi

extension APIError: LocalizedError {
    /// The message, which `localizedDescription` returns.
    public var errorDescription: String? { message }
}
