// Notes and photos of a club, kept by a file storage with the API of Dropbox, version 1.
//
//     swift run byteclub login URL [CONTENT_URL [WEB_URL]] | logout | account | notes | photos
//     swift run byteclub read NOTE | write NOTE TEXT | edit NOTE | search WORDS | delete PATH
//     swift run byteclub upload FILE | download PHOTO FILE
//
// URL is what `python3 Tests/servers/storage.py` prints, or the URL of a real service, which may have other URLs for file
// contents and for its web pages. The environment may set BYTECLUB_KEY and BYTECLUB_SECRET, the application's key and
// secret at the service, and BYTECLUB_FOLDER, the shared folder (byteclub). `login` opens a page in the browser, or prints
// its URL. `edit` starts $EDITOR. Ctrl-C cancels an upload or a download; the same command resumes a download.

import NTApi

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The three steps of OAuth.
func logIn(_ url: String, content: String? = nil, web: String? = nil) async throws {
    do {
        let requestToken = try await APIClient.storage(url, Token()).call(RequestToken())
        let page = "\(web ?? url)/1/oauth/authorize?oauth_token=\(encoded(requestToken.token))"
        finish("Please let Byte Club in, in your browser: \(page)")
        openBrowser(page)
        let token = try await APIClient.storage(url, requestToken).call(AccessToken())
        let session = Session(url: url, content: content ?? url, token: token.token, secret: token.secret)
        try session.save()
        let account = try await ByteClub(session).account()
        finish("signed in as \(account.name) <\(account.email)>")
    } catch let error as APIError {
        throw loginExplanation(of: error).map { Failure($0) } ?? error
    }
}

/// False when the words are not a command.
func run(_ words: [String]) async throws -> Bool {
    let rest = Array(words.dropFirst())
    switch words.first {
    case "login" where 1...3 ~= rest.count:
        try await logIn(rest[0], content: rest.dropFirst().first, web: rest.dropFirst(2).first)
    case "logout" where rest.isEmpty:
        Session.forget()
        print("signed out")
    case let name?:
        guard let command = commands[name], command.words == rest.count else { return false }
        try await command.run(ByteClub(Session.load()), rest)
    case nil: return false
    }
    return true
}

do {
    if try await run(Array(CommandLine.arguments.dropFirst())) { exit(0) }
    complain(
        """
        usage: byteclub login URL [CONTENT_URL [WEB_URL]] | logout | account | notes | photos
               | read NOTE | write NOTE TEXT | edit NOTE | search WORDS | delete PATH
               | upload FILE | download PHOTO FILE
        """)
    exit(2)
} catch let error as APIError where error.domain == .cancelled {
    finish("cancelled")
    exit(130)
} catch let error as APIError {
    complain("error: \(explanation(of: error))")
    exit(1)
} catch let failure as Failure {
    complain("error: \(failure.text)")
    exit(failure.status)
} catch {
    complain("error: \(error)")
    exit(1)
}
