/// Easy handles that wait for their next transfer: making one costs more than setting one up. On the network thread only.
struct HandlePool {
    private static let capacity = 128
    private var handles: [EasyHandle] = []
    private let commons = HandleCommons()

    mutating func take() -> EasyHandle? { handles.popLast() ?? EasyHandle(commons) }

    /// Takes back a handle that is in no multi.
    mutating func giveBack(_ handle: EasyHandle) {
        handle.finish()
        if handles.count < Self.capacity, handle.state.isReusable { handles.append(handle) }
    }

    mutating func removeAll() { handles = [] }
}
