import CJansson

// What the C ABI lends and hands out. Lent pointers point into the jansson tree. They stay valid as long as any JSON
// value that contains them: the value itself, or the document it was taken out of, which shares the same tree.
extension JSON {
    /// The string as the tree holds it, NUL-terminated, with its length in bytes; nil for any other kind.
    ///
    /// The string may contain NUL. The pointer is valid while this value, or a document that contains it, is alive.
    package var cString: (pointer: UnsafePointer<CChar>, length: Int)? {
        node.read { ref in json_string_value(ref).map { ($0, json_string_length(ref)) } }
    }

    /// The key of the member at an index in document order, NUL-terminated; nil when there is no such member.
    ///
    /// Takes time in proportion to the index. The pointer is valid while this value, or a document that contains it, is alive.
    package func cKey(at index: Int) -> UnsafePointer<CChar>? {
        node.read { ref in
            guard index >= 0, index < ref.count else { return nil }
            var iterator = json_object_iter(ref)
            for _ in 0..<index { iterator = json_object_iter_next(ref, iterator) }
            return json_object_iter_key(iterator)
        }
    }

    /// A copy of the value as a `json_t *` that shares nothing with it; the caller ends it with `json_decref`.
    package func janssonDeepCopy() -> OpaquePointer {
        node.read { ref in OpaquePointer(json_deep_copy(ref) ?? JSONRef.null()) }
    }

    /// Copies a `json_t *` of the host program; one that nests deeper than 2,048 levels, or contains itself, becomes null.
    ///
    /// The tree must not change meanwhile. It is not kept.
    package init(janssonDeepCopying tree: UnsafeRawPointer) {
        let source = JSONRef(mutating: tree.assumingMemoryBound(to: json_t.self))
        JSONHashSeed.plant()
        guard let height = JSONDepth.height(of: source, limit: JSONDepth.limit), let copy = json_deep_copy(source)
        else {
            self = .null
            return
        }
        node = JSONNode(adopting: copy, heightBound: height)
    }
}
