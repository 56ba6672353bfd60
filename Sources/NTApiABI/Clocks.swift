public import CNTApi
import NTApi

@_cdecl("ntapi_manual_clock_create") @implementation
public func ntapi_manual_clock_create(_ calendar: Double) -> OpaquePointer! {
    guard calendar.isFinite else { return nil }
    return Handles.make(ManualClock(calendar: calendar < 0 ? nil : calendar))
}

@_cdecl("ntapi_manual_clock_free") @implementation
public func ntapi_manual_clock_free(_ clock: OpaquePointer!) { Handles.free(clock, ManualClock.self) }

@_cdecl("ntapi_client_set_clock") @implementation
public func ntapi_client_set_clock(_ client: OpaquePointer!, _ clock: OpaquePointer!) -> ntapi_status {
    attach(client, clock, ManualClock.self) { $0.clock = $1 }
}

@_cdecl("ntapi_manual_clock_advance") @implementation
public func ntapi_manual_clock_advance(_ clock: OpaquePointer!, _ seconds: Double) -> ntapi_status {
    guard seconds >= 0, let clock = get(clock) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    clock.advance(by: seconds)
    return NTAPI_STATUS_OK
}

@_cdecl("ntapi_manual_clock_elapsed") @implementation
public func ntapi_manual_clock_elapsed(_ clock: OpaquePointer!) -> Double { get(clock)?.elapsed ?? 0 }

@_cdecl("ntapi_manual_clock_sleepers") @implementation
public func ntapi_manual_clock_sleepers(_ clock: OpaquePointer!) -> Int { get(clock)?.sleepers ?? 0 }

@_cdecl("ntapi_manual_clock_next_wake") @implementation
public func ntapi_manual_clock_next_wake(_ clock: OpaquePointer!) -> Double { get(clock)?.nextWake ?? -1 }

@_cdecl("ntapi_manual_clock_wait_for_sleepers") @implementation
public func ntapi_manual_clock_wait_for_sleepers(
    _ clock: OpaquePointer!, _ count: Int, _ timeout: Double
) -> ntapi_status {
    guard let clock = get(clock) else { return NTAPI_STATUS_INVALID_ARGUMENT }
    do throws(APIError) {
        try clock.waitForSleepers(count, timeout: seconds(timeout))
        return NTAPI_STATUS_OK
    } catch {
        return NTAPI_STATUS_TIMED_OUT
    }
}

@_cdecl("ntapi_memory_store_create") @implementation
public func ntapi_memory_store_create(_ clock: OpaquePointer!) -> OpaquePointer! {
    guard clock != nil else { return Handles.make(StoreBox(MemoryStore())) }
    return get(clock).flatMap { Handles.make(StoreBox(MemoryStore(clock: $0))) }
}

private func get(_ clock: OpaquePointer?) -> ManualClock? { Handles.get(clock, ManualClock.self) }
