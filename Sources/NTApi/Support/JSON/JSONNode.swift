/// Owns one reference to one jansson value, which keeps everything below that value alive too.
///
/// `@unchecked Sendable`, because: a tree is changed only while it is built, before its first `JSONNode` exists; jansson's
/// reference counts are atomic; and its readers (`json_object_get`, the iterators, the getters) change nothing, having
/// neither caches nor visited marks in the values as of 2.14. So any number of threads may read one tree, and any of
/// them may be the last to let go of it.
final class JSONNode: @unchecked Sendable {
    private let ref: JSONRef

    /// At least the levels of arrays and objects from here down: 0 for a scalar, 1 for `[]`. See `JSONDepth`.
    let heightBound: Int

    /// Takes over the caller's reference.
    init(adopting ref: JSONRef, heightBound: Int) {
        self.ref = ref
        self.heightBound = heightBound
    }

    /// Adds a reference of its own.
    init(sharing ref: JSONRef, heightBound: Int) {
        ref.retain()
        self.ref = ref
        self.heightBound = heightBound
    }

    /// Lends the value for the time of a call. Without the name in use behind it, the optimizer might let go of the node, and
    /// with it of the tree, as soon as the pointer is read.
    func read<T>(_ body: (JSONRef) -> T) -> T {
        withExtendedLifetime(self) { body(ref) }
    }

    // Freeing recurses inside jansson; the depth limit of 2,048 levels keeps it well within a thread's stack.
    deinit { ref.release() }
}
