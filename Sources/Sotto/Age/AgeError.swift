/// A reason why an age file cannot be written or read.
public enum AgeError: Error, Sendable, Equatable {
    /// The first line is not that of an age v1 file.
    case version
    /// The header is longer than ``AgeHeader/limit``.
    case headerTooLong
    /// The header is malformed; the string names the malformed part.
    case header(String)
    /// The ASCII armor is malformed (C2SP age, "ASCII armor").
    case armor
    /// None of the identities opens the file.
    case noMatch
    /// The file needs a passphrase, and none was given.
    case passphraseNeeded
    /// The passphrase is wrong.
    case wrongPassphrase
    /// The passphrase's work factor is above ``AgeScrypt/maximumLogN``, or needs more memory than is free.
    case workFactor(Int)
    /// The header's MAC is wrong: the header was changed.
    case headerAuthentication
    /// A chunk of the payload is not authentic: it was changed, moved, or belongs to another file.
    case payload
    /// The payload ends before its last chunk.
    case truncated
    /// The file has post-quantum and classic recipients. The classic ones would undo the post-quantum protection.
    case mixedRecipients
    /// The list of recipients is empty.
    case noRecipients
}
