import CJansson

/// Walks the children of one array or object in document order; finds none in a scalar.
///
/// Every loop over a tree (writing, comparing, measuring) keeps a list of cursors instead of calling itself, so that no
/// depth of nesting can use up the stack of the thread that reads, which may be the host program's.
struct JSONCursor {
    let container: JSONRef
    private var index = 0
    private var iterator: UnsafeMutableRawPointer?

    struct Child {
        /// The key's bytes, inside the object; empty for an element of an array.
        let key: UnsafeRawBufferPointer
        let ref: JSONRef
    }

    init(_ container: JSONRef) {
        self.container = container
        iterator = json_object_iter(container)
    }

    mutating func next() -> Child? {
        if let position = iterator {
            iterator = json_object_iter_next(container, position)
            guard let ref = json_object_iter_value(position) else { return nil }
            let key = UnsafeRawBufferPointer(
                start: json_object_iter_key(position), count: json_object_iter_key_len(position))
            return Child(key: key, ref: ref)
        }
        // jansson answers NULL behind the end of an array, and for what is no array.
        guard let ref = json_array_get(container, index) else { return nil }
        index += 1
        return Child(key: UnsafeRawBufferPointer(start: nil, count: 0), ref: ref)
    }
}
