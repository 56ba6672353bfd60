/// The version of the library.
public let ntapiVersion = "0.2.0"
