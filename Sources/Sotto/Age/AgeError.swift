/// Why an age file cannot be written or read.
public enum AgeError: Error, Sendable, Equatable {
    /// The first line is not that of an age v1 file.
    case version
    /// The header has more bytes than are read of one.
    case headerTooLong
    /// The header is malformed; the string says what of it.
    case header(String)
    /// The ASCII armor is not exactly as C2SP age has it.
    case armor
    /// None of the identities opens the file.
    case noMatch
    /// The file wants a passphrase, and none was given.
    case passphraseNeeded
    /// The passphrase is wrong.
    case wrongPassphrase
    /// The passphrase's work factor is above ``AgeScrypt/maximumLogN``.
    case workFactor(Int)
    /// The header's authentication code is wrong: the header was changed.
    case headerAuthentication
    /// A chunk of the payload is not authentic: changed, moved, or of another file.
    case payload
    /// The payload ends before its last chunk.
    case truncated
    /// Post-quantum and classic recipients in one file: the classic ones would undo the protection.
    case mixedRecipients
    /// No recipients.
    case noRecipients
}
