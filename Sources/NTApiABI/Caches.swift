public import CNTApi
import NTApi

/// What an `ntapi_cache` stands for.
final class CacheBox: Sendable {
    let cache: HTTPCache

    init(_ cache: HTTPCache) { self.cache = cache }
}

@_cdecl("ntapi_cache_create") @implementation
public func ntapi_cache_create(
    _ memory_capacity: Int64, _ disk_capacity: Int64, _ folder: UnsafePointer<CChar>!
) -> OpaquePointer! {
    guard memory_capacity >= 0, disk_capacity >= 0 else { return nil }
    let (memory, disk) = (Int(clamping: memory_capacity), Int(clamping: disk_capacity))
    guard folder != nil else { return Handles.make(CacheBox(HTTPCache(memoryCapacity: memory))) }
    guard let folder = String(c: folder),
        let cache = try? HTTPCache(memoryCapacity: memory, diskCapacity: disk, folder: folder)
    else { return nil }
    return Handles.make(CacheBox(cache))
}

@_cdecl("ntapi_cache_free") @implementation
public func ntapi_cache_free(_ cache: OpaquePointer!) { Handles.free(cache, CacheBox.self) }

@_cdecl("ntapi_configuration_set_cache") @implementation
public func ntapi_configuration_set_cache(_ configuration: OpaquePointer!, _ cache: OpaquePointer!) -> ntapi_status {
    attach(configuration, cache, CacheBox.self) { $0.cache = $1?.cache }
}

@_cdecl("ntapi_client_cache") @implementation
public func ntapi_client_cache(_ client: OpaquePointer!) -> OpaquePointer! {
    Handles.get(client, ClientBox.self)?.cache?.handle
}

@_cdecl("ntapi_cache_clear") @implementation
public func ntapi_cache_clear(_ cache: OpaquePointer!) -> ntapi_status { with(cache) { $0.removeAll() } }

@_cdecl("ntapi_cache_remove") @implementation
public func ntapi_cache_remove(_ cache: OpaquePointer!, _ url: UnsafePointer<CChar>!) -> ntapi_status {
    guard let box = Handles.get(cache, CacheBox.self), let url = String(c: url), (try? box.cache.remove(url)) != nil
    else { return NTAPI_STATUS_INVALID_ARGUMENT }
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_cache_capacity") @implementation
public func ntapi_cache_capacity(_ cache: OpaquePointer!, _ storage: ntapi_storage) -> Int64 {
    bytes(cache, storage, memory: \.memoryCapacity, disk: \.diskCapacity)
}

@_cdecl("ntapi_cache_usage") @implementation
public func ntapi_cache_usage(_ cache: OpaquePointer!, _ storage: ntapi_storage) -> Int64 {
    bytes(cache, storage, memory: \.currentMemoryUsage, disk: \.currentDiskUsage)
}

@_cdecl("ntapi_cache_save") @implementation
public func ntapi_cache_save(
    _ cache: OpaquePointer!, _ error: UnsafeMutablePointer<OpaquePointer?>!
) -> ntapi_status {
    guard let box = Handles.get(cache, CacheBox.self) else {
        return refused(error, "cache is NULL, freed, or no cache")
    }
    return status(error) { () throws(APIError) in try box.cache.save() }
}

private func bytes(
    _ cache: OpaquePointer?, _ storage: ntapi_storage, memory: (HTTPCache) -> Int, disk: (HTTPCache) -> Int
) -> Int64 {
    guard let cache = Handles.get(cache, CacheBox.self)?.cache else { return 0 }
    switch storage {
    case NTAPI_STORAGE_MEMORY: return Int64(memory(cache))
    case NTAPI_STORAGE_DISK: return Int64(disk(cache))
    default: return 0
    }
}

private func with(_ cache: OpaquePointer?, _ body: (HTTPCache) -> Void) -> ntapi_status {
    guard let box = Handles.get(cache, CacheBox.self) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    body(box.cache)
    return NTAPI_STATUS_OK
}
