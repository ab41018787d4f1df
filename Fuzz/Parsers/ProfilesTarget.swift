import Sotto

extension FuzzTarget {
    /// Accounts in other messengers, read and written as the same; on a card of ours they are read only where the
    /// keys of all of them are ours, which prove them.
    static let profiles = FuzzTarget("profiles") { bytes in
        guard let object = object(bytes), let profiles = Profiles(object) else { return }
        precondition(Profiles(profiles.object) == profiles)
        precondition(profiles.agree(with: profiles) && profiles.cover(profiles))
        guard let card = try? reader.card(profiles: profiles), let record = card.record else {
            preconditionFailure("profiles do not go onto a card")
        }
        guard let read = try? Card(record: record) else { return }
        precondition(read == card)
        precondition(profiles.whisper2.map { $0.signingKey == ownWhisper2 } != false)
        precondition(profiles.mercurio.map { $0.id == ownMercurio } != false)
    }

    private static let ownWhisper2 = try? reader.whisper2Keys().signingKey
    private static let ownMercurio = try? reader.mercurioIdentity().id
}
