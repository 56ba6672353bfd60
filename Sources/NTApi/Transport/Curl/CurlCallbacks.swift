import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// The callbacks of libcurl. They run on the network thread, inside a call of ours. None of them removes a handle or
// runs user code.

private func transfer(_ data: UnsafeMutableRawPointer?) -> CurlTransfer? {
    data.flatMap { Unmanaged<EasyHandle>.fromOpaque($0).takeUnretainedValue().transfer }
}

/// For the callbacks of each line and each piece. Avoids reference counting.
private func withTransfer<Result>(
    _ data: UnsafeMutableRawPointer?, orElse none: Result, _ body: (CurlTransfer) -> Result
) -> Result {
    guard let data else { return none }
    return Unmanaged<EasyHandle>.fromOpaque(data)._withUnsafeGuaranteedRef { handle in
        handle.state.unmanagedTransfer.map { $0._withUnsafeGuaranteedRef(body) } ?? none
    }
}

func headerCallback(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, data: UnsafeMutableRawPointer?
) -> Int {
    // `size` is always 1, as libcurl documents.
    withTransfer(data, orElse: 0) { transfer in
        transfer.receiveHeaderLine(UnsafeRawBufferPointer(start: bytes, count: count)) ? count : stopWriting(count)
    }
}

func writeCallback(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, data: UnsafeMutableRawPointer?
) -> Int {
    withTransfer(data, orElse: 0) { transfer in
        if EasyOptions.readsFreedHeader, transfer.state.assembler.head == nil {
            let line = UnsafeRawBufferPointer(start: bytes, count: count)
            return transfer.previewHeaderLine(line) ? count : stopWriting(count)
        }
        switch transfer.receiveBody(UnsafeRawBufferPointer(start: bytes, count: count)) {
        case .taken: return count
        case .paused: return Int(CURL_WRITEFUNC_PAUSE)
        case .stopped: return stopWriting(count)
        }
    }
}

/// libcurl stops when a write callback returns another number than that of the bytes.
private func stopWriting(_ count: Int) -> Int { count == 0 ? 1 : 0 }

func readCallback(
    buffer: UnsafeMutablePointer<CChar>?, size: Int, count: Int, data: UnsafeMutableRawPointer?
) -> Int {
    guard let transfer = transfer(data), let source = transfer.state.source else { return Int(CURL_READFUNC_ABORT) }
    let chunk = UnsafeMutableRawBufferPointer(start: buffer, count: size * count)
    let result = read(from: source, for: transfer, chunk)
    if result <= chunk.count { transfer.state.bytesTaken += Int64(result) }
    return result
}

func mimeReadCallback(
    buffer: UnsafeMutablePointer<CChar>?, size: Int, count: Int, data: UnsafeMutableRawPointer?
) -> Int {
    guard let data else { return Int(CURL_READFUNC_ABORT) }
    let part = Unmanaged<MimePart>.fromOpaque(data).takeUnretainedValue()
    let buffer = UnsafeMutableRawBufferPointer(start: buffer, count: size * count)
    return read(from: part.source, for: part.transfer, buffer, part: part.name)
}

private func read(
    from source: any UploadSource, for transfer: CurlTransfer, _ buffer: UnsafeMutableRawBufferPointer,
    part: String? = nil
) -> Int {
    guard !transfer.state.holds.contains(.suspended) else { return Int(CURL_READFUNC_PAUSE) }
    switch source.read(into: buffer) {
    case .bytes(let count): return count
    case .end: return 0
    case .wait: return Int(CURL_READFUNC_PAUSE)
    case .failed(let error):
        transfer.state.failure = part.map { .invalidRequest("part '\($0)': \(error.message)") } ?? error
        return Int(CURL_READFUNC_ABORT)
    }
}

func seekCallback(data: UnsafeMutableRawPointer?, offset: curl_off_t, origin: Int32) -> Int32 {
    guard origin == SEEK_SET, let transfer = transfer(data), transfer.state.source?.seek(to: Int64(offset)) == true
    else {
        return CURL_SEEKFUNC_CANTSEEK
    }
    transfer.state.bytesTaken = Int64(offset)
    return CURL_SEEKFUNC_OK
}

func mimeSeekCallback(data: UnsafeMutableRawPointer?, offset: curl_off_t, origin: Int32) -> Int32 {
    guard origin == SEEK_SET, let data else { return CURL_SEEKFUNC_CANTSEEK }
    let part = Unmanaged<MimePart>.fromOpaque(data).takeUnretainedValue()
    return part.source.seek(to: Int64(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_CANTSEEK
}

func progressCallback(
    data: UnsafeMutableRawPointer?, receiveTotal: curl_off_t, received: curl_off_t, sendTotal: curl_off_t,
    sent: curl_off_t
) -> Int32 {
    let goesOn = transfer(data)?.progressed(sent: Int64(sent), of: Int64(sendTotal), received: Int64(received))
    return goesOn == false ? 1 : 0
}

func prereqCallback(
    data: UnsafeMutableRawPointer?, address: UnsafeMutablePointer<CChar>?, localAddress: UnsafeMutablePointer<CChar>?,
    port: Int32, localPort: Int32
) -> Int32 {
    guard let transfer = transfer(data) else { return CURL_PREREQFUNC_ABORT }
    return transfer.connectionIsReady(
        ConnectionEnds(address, port, localAddress, localPort), localAddress: localAddress)
        ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

/// libcurl's log (CURLOPT_VERBOSE). It is the only way to learn that the server refused a stream, and what exactly was
/// sent.
func debugCallback(
    easy: UnsafeMutableRawPointer?, type: curl_infotype, text: UnsafeMutablePointer<CChar>?, count: Int,
    data: UnsafeMutableRawPointer?
) -> Int32 {
    let text = UnsafeRawBufferPointer(start: text, count: count)
    switch type {
    case CURLINFO_TEXT: transfer(data)?.hear(text)
    case CURLINFO_HEADER_OUT: transfer(data)?.sent(head: text)
    case CURLINFO_DATA_OUT: transfer(data)?.sentBody()
    case CURLINFO_DATA_IN: transfer(data)?.received(raw: text)
    default: break
    }
    return 0
}
