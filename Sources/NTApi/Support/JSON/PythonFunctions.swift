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
    /// PyUnicode_DecodeUTF8: the bytes, how many, what to do about those that are no UTF-8.
    package let text: @convention(c) (UnsafePointer<CChar>?, Int, UnsafePointer<CChar>?) -> Object?
    /// PyList_New and PyList_SetItem, which takes the item over, also when it fails.
    package let list: @convention(c) (Int) -> Object?
    package let setItem: @convention(c) (Object?, Int, Object?) -> CInt
    /// PyDict_New and PyDict_SetItem, which takes nothing over.
    package let dictionary: @convention(c) () -> Object?
    package let setMember: @convention(c) (Object?, Object?, Object?) -> CInt

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
        text: @escaping @convention(c) (UnsafePointer<CChar>?, Int, UnsafePointer<CChar>?) -> Object?,
        list: @escaping @convention(c) (Int) -> Object?,
        setItem: @escaping @convention(c) (Object?, Int, Object?) -> CInt,
        dictionary: @escaping @convention(c) () -> Object?,
        setMember: @escaping @convention(c) (Object?, Object?, Object?) -> CInt
    ) {
        self.none = none
        self.yes = yes
        self.no = no
        self.retain = retain
        self.release = release
        self.int = int
        self.intOfText = intOfText
        self.float = float
        self.text = text
        self.list = list
        self.setItem = setItem
        self.dictionary = dictionary
        self.setMember = setMember
    }
}
