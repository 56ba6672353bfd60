public import CNTApi
import NTApi

@_cdecl("ntapi_cache_share") @implementation
public func ntapi_cache_share(
    _ cache: OpaquePointer!, _ sharing: UnsafePointer<ntapi_cache_sharing>!,
    _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> ntapi_status {
    do throws(APIError) {
        guard let box = Handles.get(cache, CacheBox.self) else { throw .wrongHandle("cache", "a cache") }
        guard let sharing else { throw .invalidArgument("sharing is NULL") }
        let given = try ntapi_cache_sharing(c: sharing)
        let options = try StoreOptions(timeout: given.store_timeout, lease: given.lease)
        let (store, key) = try storeAndKey(given.store, given.key)
        try box.cache.share(by: store, key: key, options)
        return NTAPI_STATUS_OK
    } catch let problem {
        error?.pointee = problem.handle
        return NTAPI_STATUS_INVALID_ARGUMENT
    }
}
