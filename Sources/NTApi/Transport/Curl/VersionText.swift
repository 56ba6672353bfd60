internal import CCurl

/// The versions of the library, of the libcurl that it has loaded and of libcurl's own libraries, each as "name/version"
/// and separated by spaces: "ntapi/0.2.0 libcurl/8.14.1 OpenSSL/3.5.4 zlib/1.2.13". It is for log lines and bug reports.
public let ntapiVersionText = "ntapi/\(ntapiVersion) " + String(cString: curl_version())
