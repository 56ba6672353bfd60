/// The functions and objects of CPython that values are made with, as its C API names them.
package struct PythonFunctions {
    package typealias Object = UnsafeMutableRawPointer

    /// Py_None, Py_True and Py_False.
    package let none: Object
    package let yes: Object
    package let no: Object
    /// Py_IncRef and Py_DecRef.
    package let retain: @convention(c) (Object?) -> Void
    package let release: @convention(c) (Object?) -> Void
    /// PyLong_FromLongLong.
    package let int: @convention(c) (Int64) -> Object?
    /// PyLong_FromString: the digits, where they end, the base.
    package let intOfText:
        @convention(c) (
            UnsafePointer<CChar>?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, CInt
        ) -> Object?
    /// PyFloat_FromDouble.
    package let float: @convention(c) (Double) -> Object?
    /// PyUnicode_DecodeUTF8: the bytes, how many, what to do about bytes that are not UTF-8.
    package let decodedText: @convention(c) (UnsafePointer<CChar>?, Int, UnsafePointer<CChar>?) -> Object?
    /// PyList_New and PyList_SetItem, which takes the item over, also when it fails.
    package let list: @convention(c) (Int) -> Object?
    package let setItem: @convention(c) (Object?, Int, Object?) -> CInt
    /// PyDict_New and PyDict_SetItem, which takes nothing over.
    package let dictionary: @convention(c) () -> Object?
    package let setMember: @convention(c) (Object?, Object?, Object?) -> CInt
    /// PyUnicode_New, and how far behind the object's begin the letters are that it leaves to its caller.
    package let ascii: (make: @convention(c) (Int, UInt32) -> Object?, offset: Int)?
    /// Where keys are remembered from one document to the next: `JSONPythonKeys.size` bytes.
    package let keys: UnsafeMutableRawPointer?

    package init(
        none: Object, yes: Object, no: Object,
        retain: @escaping @convention(c) (Object?) -> Void,
        release: @escaping @convention(c) (Object?) -> Void,
        int: @escaping @convention(c) (Int64) -> Object?,
        intOfText:
            @escaping @convention(c) (
                UnsafePointer<CChar>?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, CInt
            ) -> Object?,
        float: @escaping @convention(c) (Double) -> Object?,
        decodedText: @escaping @convention(c) (UnsafePointer<CChar>?, Int, UnsafePointer<CChar>?) -> Object?,
        list: @escaping @convention(c) (Int) -> Object?,
        setItem: @escaping @convention(c) (Object?, Int, Object?) -> CInt,
        dictionary: @escaping @convention(c) () -> Object?,
        setMember: @escaping @convention(c) (Object?, Object?, Object?) -> CInt,
        ascii: (make: @convention(c) (Int, UInt32) -> Object?, offset: Int)?,
        keys: UnsafeMutableRawPointer?
    ) {
        self.none = none
        self.yes = yes
        self.no = no
        self.retain = retain
        self.release = release
        self.int = int
        self.intOfText = intOfText
        self.float = float
        self.decodedText = decodedText
        self.list = list
        self.setItem = setItem
        self.dictionary = dictionary
        self.setMember = setMember
        self.ascii = ascii
        self.keys = keys
    }
}

extension PythonFunctions {
    /// A new string of UTF-8.
    @inline(__always)
    func text(_ bytes: UnsafeRawBufferPointer) -> Object? {
        // Python has one of each string that is empty or has one letter.
        guard let ascii, let start = bytes.baseAddress, bytes.count > 1, bytes.isASCII else { return decoded(bytes) }
        guard let made = ascii.make(bytes.count, 127) else { return nil }
        let letters = made + ascii.offset
        letters.copyMemory(from: start, byteCount: bytes.count)
        letters.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
        return made
    }

    @inline(never)
    private func decoded(_ bytes: UnsafeRawBufferPointer) -> Object? {
        // Half of a surrogate pair may stand alone in JSON, as it may in Python.
        let passing: StaticString = "surrogatepass"
        let how = UnsafeRawPointer(passing.utf8Start).assumingMemoryBound(to: CChar.self)
        return decodedText(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, how)
    }
}

extension UnsafeRawBufferPointer {
    @inline(__always)
    fileprivate var isASCII: Bool {
        var index = 0
        var seen: UInt64 = 0
        while index &+ 8 <= count {
            seen |= loadUnaligned(fromByteOffset: index, as: UInt64.self)
            index &+= 8
        }
        while index < count {
            seen |= UInt64(self[index])
            index &+= 1
        }
        return seen & 0x8080_8080_8080_8080 == 0
    }
}
