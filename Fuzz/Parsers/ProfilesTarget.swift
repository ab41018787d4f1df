import Sotto
import SottoMessengers

extension FuzzTarget {
    /// Accounts in other messengers. An object that is read is written and read back unchanged. A card with them is
    /// accepted only if all their keys belong to the identity of the inputs, which proves them.
    static let profiles = FuzzTarget("profiles") { bytes in
        guard let object = object(bytes), let profiles = Profiles(object) else { return }
        precondition(Profiles(profiles.object) == profiles)
        precondition(profiles.agree(with: profiles))
        guard let card = try? reader.card(profiles: profiles), let record = card.record else {
            preconditionFailure("cannot add the profiles to a card")
        }
        guard let read = try? Card(record: record), read == card else {
            preconditionFailure("the card is not read back")
        }
        guard let proven = try? read.profiles() else { return }
        precondition(proven.agree(with: profiles))
        precondition(profiles.whisper2.map { $0.signingKey == ownWhisper2 } != false)
        precondition(profiles.mercurio.map { $0.id == ownMercurio } != false)
    }

    private static let ownWhisper2 = try? reader.whisper2Keys().signingKey
    private static let ownMercurio = try? reader.mercurioIdentity().id
}
